"""Changes of fields as rows: the rows of fields, the records of the changes, and shared values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

from attrs import frozen

from recipient_fields.domain import (
    AppliedChanges,
    Author,
    CatalogChanges,
    FieldDefinition,
    FieldUpdate,
    RecipientField,
    RecordedOperation,
    Source,
)

from ..row_mapping import CHANGING_COLUMNS, author_document
from ..shared_values import share_values
from .database import Values
from .rows import field_row
from .statements import SQL, NamedStatement, Statement


@frozen
class ChangeRecord:
    """The row of a record, except what the locked catalog assigns, and its shared values."""

    row: Values
    bytes: int
    """The size of the documents of the field."""
    values: Mapping[str, str]
    """By digest."""

    @classmethod
    def of(
        cls,
        operation: RecordedOperation,
        before: RecipientField | None,
        after: FieldDefinition | None,
    ) -> ChangeRecord:
        """Return the record of a change. One of the states is not None. A new field has no id."""
        states = {"before": before, "after": after}
        documents = {name: share_values(each) for name, each in states.items() if each is not None}
        field = next(each for each in (after, before) if each is not None)
        row = {
            "operation": operation.value,
            "field_id": field.id if isinstance(field, RecipientField) else None,
            "key": field.key,
            "source": field.origin.source.value,
            **{name: documents[name].text if name in documents else None for name in states},
        }
        size = sum(len(each.text.encode()) for each in documents.values())
        values = {d: value for each in documents.values() for d, value in each.values.items()}
        return cls(row, size, values)


@frozen
class PlannedChanges:
    """Changes to a catalog with their records, computed before it is locked if possible."""

    changes: CatalogChanges
    author: str
    """The document of the author."""
    records: tuple[ChangeRecord, ...]
    """In the order of the changes. Those of the created fields are the last ones."""

    @classmethod
    def of(cls, changes: CatalogChanges, author: Author) -> PlannedChanges:
        """Return the changes with their records."""
        return cls(changes, author_document(author), tuple(_records(changes)))

    @property
    def values(self) -> Mapping[str, str]:
        """The shared values of all records, by digest."""
        return {d: value for each in self.records for d, value in each.values.items()}

    @property
    def bytes(self) -> int:
        """The size of all records, with the author in each."""
        return sum(self.sizes)

    @property
    def sizes(self) -> list[int]:
        """The size of each record."""
        author_bytes = len(self.author.encode())
        return [each.bytes + author_bytes for each in self.records]

    def rows(self, applied: AppliedChanges, *, first_sequence: int) -> Sequence[Values]:
        """Return the rows of the records. The created fields of the applied changes have ids."""
        others = len(self.records) - len(applied.created)
        ids = [each.row["field_id"] for each in self.records[:others]]
        ids += [each.id for each in applied.created]
        return [
            {**each.row, "field_id": field_id, "sequence": sequence, "bytes": size}
            for sequence, (each, field_id, size) in enumerate(
                zip(self.records, ids, self.sizes, strict=True), first_sequence
            )
        ]

    def updates(self) -> Iterator[tuple[UpdateFields, list[Values]]]:
        """Yield the statements that update fields, each with its rows."""
        rows = sorted(map(changed_columns, self.changes.updated), key=tuple)
        for columns, group in groupby(rows, key=tuple):
            yield UpdateFields(SQL.update_fields, columns), [*group]

    def added(self, source: Source) -> int:
        """Return the number of fields of this source that the changes add. It can be negative."""
        added = chain(self.changes.restored, self.changes.created)
        return _count(added, source) - _count(self.changes.deleted, source)


def _count(fields: Iterable[FieldDefinition], source: Source) -> int:
    return sum(each.origin.source is source for each in fields)


def _records(changes: CatalogChanges) -> Iterator[ChangeRecord]:
    for field in changes.deleted:
        yield ChangeRecord.of(RecordedOperation.DELETED, field, None)
    for update in changes.updated:
        yield ChangeRecord.of(RecordedOperation.UPDATED, update.before, update.after)
    for field in changes.restored:
        yield ChangeRecord.of(RecordedOperation.RESTORED, None, field)
    for definition in changes.created:
        yield ChangeRecord.of(RecordedOperation.CREATED, None, definition)


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


def changed_columns(update: FieldUpdate) -> Values:
    """Return the id of the field, and the new values of the columns that the change has changed."""
    before, after = field_row(update.before), field_row(update.after)
    changed = {each: after[each] for each in _CHANGING if after[each] != before[each]}
    return {"id": update.after.id, **changed}


_CHANGING = (*CHANGING_COLUMNS, "folded_name")
