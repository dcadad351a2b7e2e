"""Changes of fields as rows: those of fields and records, shared values, and the counters.

The counters are in the row of the organization. A process of an earlier version changes the
revision without some of them, and they are not known then. It also stores records without their
size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from time import time_ns

from attrs import define, fields_dict, frozen

from recipient_fields.domain import (
    Author,
    CatalogChanges,
    Change,
    FieldDefinition,
    HistorySize,
    OrganizationNotFound,
    RecipientField,
    Source,
    epoch_milliseconds,
    fold_case,
    id_size,
    name_letters,
)

from ..row_mapping import author_document, plain_values
from ..shared_values import share_values
from .database import Row, Values
from .statements import SQL, NamedStatement, Statement

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@frozen
class ChangeRecord:
    """The row of a record, except what the locked catalog assigns, and its shared values."""

    row: Values
    bytes: int
    """The size of its documents."""
    values: Mapping[str, str]
    """By digest."""

    @classmethod
    def of(cls, change: Change[FieldDefinition], author_bytes: int) -> ChangeRecord:
        """Return the record of a change."""
        field = change.field
        states = {"before": change.before, "after": change.after}
        documents = {name: share_values(each) for name, each in states.items() if each is not None}
        row = {
            "operation": change.operation.value,
            "key": field.key,
            "source": field.origin.source.value,
            **{name: documents[name].text if name in documents else None for name in states},
        }
        size = author_bytes + sum(len(each.text.encode()) for each in documents.values())
        values = {d: value for each in documents.values() for d, value in each.values.items()}
        return cls({**row, "bytes": size}, size, values)


@frozen
class PlannedChanges:
    """Changes to a catalog with their records, computed before it is locked if possible."""

    changes: CatalogChanges[FieldDefinition]
    author: str
    """The document of the author."""
    records: tuple[ChangeRecord, ...]
    """In the order of the changes."""

    @classmethod
    def of(cls, changes: CatalogChanges[FieldDefinition], author: Author) -> PlannedChanges:
        """Return the changes with their records."""
        document = author_document(author)
        size = len(document.encode())
        return cls(
            changes, document, tuple(ChangeRecord.of(each, size) for each in changes.changes)
        )

    @property
    def values(self) -> Mapping[str, str]:
        """The shared values of all records, by digest."""
        return {d: value for each in self.records for d, value in each.values.items()}

    @property
    def bytes(self) -> int:
        """The size of all records."""
        return sum(each.bytes for each in self.records)

    def rows(
        self, stored: CatalogChanges[RecipientField], *, first_sequence: int
    ) -> Sequence[Values]:
        """Return the rows of the records. The new fields of the stored changes have ids."""
        changes = zip(self.records, stored.changes, strict=True)
        return [
            {**record.row, "field_id": change.field_id, "sequence": sequence}
            for sequence, (record, change) in enumerate(changes, first_sequence)
        ]

    def updates(self) -> Iterator[tuple[UpdateFields, list[Values]]]:
        """Yield the statements that update fields, each with its rows."""
        rows = sorted(map(changed_columns, self.changes.updated), key=tuple)
        for columns, group in groupby(rows, key=tuple):
            yield UpdateFields(SQL.update_fields, columns), [*group]

    def added(self, source: Source) -> int:
        """Return the number of fields of this source that the changes add. It can be negative."""
        changed = [each for each in self.changes.changes if each.field.origin.source is source]
        return sum((each.after is not None) - (each.before is not None) for each in changed)


@frozen
class UpdateFields(Statement):
    """A statement that contains `update_fields`, for the id and the columns that have changed."""

    _statement: NamedStatement
    _columns: tuple[str, ...]

    @property
    def template(self) -> str:
        """The statement with these columns."""
        _, *changed = self._columns
        return self._statement.template.replace("columns", ", ".join(changed))


def changed_columns(update: Change[RecipientField]) -> Values:
    """Return the id of the field, and the new values of the columns that the update has changed."""
    before, after = update.states
    old, new = plain_values(before), plain_values(after)
    changed = {each: new[each] for each in new if new[each] != old[each]}
    if "name" in changed:
        changed["folded_name"] = fold_case(after.name)
    if after.allowed_values is not before.allowed_values:
        changed["allowed_values"] = _allowed_values(after)
    return {
        "id": after.id,
        **changed,
        "updated_at": epoch_milliseconds(after.updated_at),
        "version": after.version,
    }


def _allowed_values(field: FieldDefinition) -> str | None:
    allowed = field.allowed_values
    return None if allowed is None else _encode(allowed.values)


def field_row(field: FieldDefinition) -> dict[str, object]:
    """Return the values of a field's row by column, except the organization.

    Times are in milliseconds. A definition has the values of the new field, which has no id yet.
    The folded columns are those of databases that can't fold as `fold_case` does. By the letters of
    its ESP name, the row of a synced field is found.
    """
    created_at = epoch_milliseconds(field.created_at)
    esp_name = field.origin.esp_field_name
    row = {
        **plain_values(field),
        "folded_name": fold_case(field.name),
        "folded_esp_field_name": None if esp_name is None else fold_case(esp_name),
        "esp_name_letters": None if esp_name is None else name_letters(esp_name),
        "allowed_values": _allowed_values(field),
        "created_at": created_at,
        "updated_at": created_at,
        "version": 1,
    }
    if isinstance(field, RecipientField):
        updated_at = epoch_milliseconds(field.updated_at)
        row |= {"id": field.id, "updated_at": updated_at, "version": field.version}
    return row


@define
class Counters:
    """The counters, in the order of `counter_columns`."""

    revision: int
    last_sequence: int
    last_change_at: int | None
    """In milliseconds since 1970."""
    api_field_count: int | None
    """The number of API-managed fields, or None if it is not known."""
    fields_size: int | None
    """The sum of the sizes of the fields, or None if it is not known."""
    record_bytes: int
    """The size of the records up to `sized_sequence`."""
    shared_value_bytes: int
    inherited_bytes: int
    """The size of the history when it was first counted."""
    sized_sequence: int

    @classmethod
    def of(cls, row: Row | None) -> Counters:
        """Return the counters in a row. Raises: OrganizationNotFound if there is no row."""
        if row is None:
            raise OrganizationNotFound
        return cls(*row)

    @property
    def records_are_sized(self) -> bool:
        """Whether `record_bytes` is the size of all records."""
        return self.sized_sequence == self.last_sequence

    @property
    def history_size(self) -> HistorySize:
        """The size of the history."""
        return HistorySize(self.record_bytes + self.shared_value_bytes, self.inherited_bytes)

    def advance(self) -> None:
        """Increase the revision, at least to the current time in milliseconds.

        A failover or a restored backup can lose revisions that clients have seen, and these must
        not be reused.
        """
        self.revision = max(self.revision + 1, time_ns() // 1_000_000)

    def apply(
        self, planned: PlannedChanges, stored: CatalogChanges[RecipientField], at: datetime
    ) -> int:
        """Count changes that are made at this time, and return the time of their records.

        It is in milliseconds since 1970.
        """
        self.advance()
        if self.api_field_count is not None:
            self.api_field_count += planned.added(Source.API)
        if self.fields_size is not None:
            new_ids = sum(id_size(each.id) for each in stored.created)
            self.fields_size += planned.changes.added_size() + new_ids
        if self.records_are_sized:
            self.record_bytes += planned.bytes
            self.sized_sequence += len(planned.records)
        self.last_sequence += len(planned.records)
        occurred_at = epoch_milliseconds(planned.changes.recorded_at(at))
        if self.last_change_at is not None:
            occurred_at = max(occurred_at, self.last_change_at + 1)
        self.last_change_at = occurred_at
        return occurred_at

    def count_records(self, size: int, last_sequence: int) -> None:
        """Add the size of older records, up to this one, to that of the history."""
        if self.sized_sequence == 0:
            self.inherited_bytes = size + self.shared_value_bytes
        self.record_bytes += size
        self.sized_sequence = last_sequence

    def values(self) -> Values:
        """Return the values of `store_counters`, except the organization."""
        return dict(zip(_NAMES, _read_counters(self), strict=True))


_NAMES = tuple(fields_dict(Counters))
_read_counters = attrgetter(*_NAMES)
