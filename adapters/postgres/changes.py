"""Changes of fields, and the values with which statements store them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from json import JSONEncoder
from typing import Any, TypeAlias, TypeVar

from attrs import frozen
from psycopg import Connection

from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    AppliedChanges,
    Author,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldUpdate,
    OrganizationId,
    RecipientField,
    RecordedOperation,
    Source,
    epoch_milliseconds,
    fold_case,
    id_size,
    list_size,
)

from ..relational.columns import storable_id
from ..relational.history import last_sequence_of, store_values
from ..row_mapping import author_document, plain_values
from ..shared_values import SharedDocument, document_bytes, share_values
from .columns import optional_json
from .server import Batch, Server

C = TypeVar("C")

_ADDED: Mapping[RecordedOperation, int] = {
    RecordedOperation.DELETED: -1,
    RecordedOperation.UPDATED: 0,
    RecordedOperation.RESTORED: 1,
    RecordedOperation.CREATED: 1,
}
"""The number of fields that a change adds to the catalog."""

_ROWS_AT_ONCE = 1_000
"""Few enough that a statement ends long before a `statement_timeout`."""

_Row: TypeAlias = Mapping[str, Any]

_json = JSONEncoder(check_circular=False).encode


@frozen
class PlannedRows:
    """Changes to a catalog, serialized before the catalog is locked."""

    _changes: CatalogChanges
    _batches: tuple[Batch, ...]

    @classmethod
    def of(cls, changes: CatalogChanges) -> PlannedRows:
        """Serialize the changes."""
        rows = {
            RecordedOperation.DELETED: map(_deletion, changes.deleted),
            RecordedOperation.UPDATED: map(_update, changes.updated),
            RecordedOperation.RESTORED: map(_restoration, changes.restored),
            RecordedOperation.CREATED: map(_creation, changes.created),
        }
        return cls(changes, tuple(_batches(rows)))

    def store(
        self,
        server: Server,
        connection: Connection[Any],
        organization_id: OrganizationId,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        """Store and record the changes at this time in the locked catalog.

        Raises: OrganizationNotFound if there are changes, and the organization does not exist.
        """
        shared = server.connection(connection)
        document = author_document(author)
        author_bytes = len(document.encode())
        values = {
            "organization_id": storable_id(organization_id),
            "author": document,
            "author_bytes": author_bytes,
            "at": epoch_milliseconds(self._changes.recorded_at(at)),
        }
        occurred_at = None
        ids: dict[RecordedOperation, list[int]] = {each: [] for each in _ADDED}
        for batch in self._batches:
            if batch.values:
                last_sequence = last_sequence_of(shared, organization_id) + batch.count
                store_values(shared, organization_id, batch.values, last_sequence=last_sequence)
            stored = server.store(
                connection,
                batch,
                {
                    **values,
                    "occurred_at": occurred_at,
                    "operation": batch.operation.value,
                    "count": batch.count,
                    "added_api_fields": batch.added_api_fields,
                    "added_size": batch.added_size,
                    "rows": batch.rows,
                    "bytes": batch.bytes + batch.count * author_bytes,
                },
            )
            occurred_at = stored.occurred_at
            ids[batch.operation] += stored.ids
        created = zip(self._changes.created, ids[RecordedOperation.CREATED], strict=True)
        return AppliedChanges(
            self._changes,
            tuple(each.with_id(FieldId(field_id), organization_id) for each, field_id in created),
        )


def bind_creation(
    organization_id: OrganizationId,
    definition: FieldDefinition,
    document: str,
    *,
    limit: int | None,
    size_limit: int | None = None,
    author: Author,
) -> Mapping[str, object]:
    """Return the values for `insert_field` and `Server.try_creation`.

    `document` is that of the field, without shared values. `max_fields_size` is the size of the
    other fields with which the field has room, with any id.
    """
    values = stored_values(definition)
    documents = {"author": author_document(author), "after": document}
    added_size = definition.size_without_id
    largest = list_size(added_size + id_size(MAX_SAFE_INTEGER))
    return {
        **values,
        **documents,
        "organization_id": storable_id(organization_id),
        "operation": RecordedOperation.CREATED.value,
        "limit": limit,
        "max_fields_size": None if size_limit is None else size_limit - largest,
        "added_api_fields": _count_api_fields([values]),
        "added_size": added_size,
        "at": values["updated_at"],
        "count": 1,
        "bytes": document_bytes(documents),
    }


def stored_values(field: FieldDefinition) -> _Row:
    """Return the values of the field by column, times in milliseconds since 1970.

    A definition has the values of the new field, which has no id yet.
    """
    created_at = epoch_milliseconds(field.created_at)
    values = {
        **plain_values(field),
        # PostgreSQL's own case folding depends on its version and locale.
        "folded_name": fold_case(field.name),
        "folded_esp_field_name": fold_case(field.origin.esp_field_name or "") or None,
        "allowed_values": optional_json(field.allowed_values),
        "created_at": created_at,
    }
    if not isinstance(field, RecipientField):
        return {**values, "updated_at": created_at, "version": 1}
    return {
        **values,
        "organization_id": field.organization_id,
        "id": field.id,
        "updated_at": epoch_milliseconds(field.updated_at),
        "version": field.version,
    }


@frozen
class _PlannedRow:
    """A row in a batch, what it adds to the size of the list, and the shared values by digest."""

    row: _Row
    added_size: int
    values: Mapping[str, str]


def _batches(rows: Mapping[RecordedOperation, Iterable[_PlannedRow]]) -> Iterator[Batch]:
    for operation, all_rows in rows.items():
        remaining = iter(all_rows)
        while planned := list(islice(remaining, _ROWS_AT_ONCE)):
            batch = [each.row for each in planned]
            yield Batch(
                operation,
                len(batch),
                _ADDED[operation] * _count_api_fields(batch),
                sum(each.added_size for each in planned),
                _json(batch),
                sum(row["bytes"] for row in batch),
                {digest: value for each in planned for digest, value in each.values.items()},
            )


def _count_api_fields(rows: Iterable[_Row]) -> int:
    return sum(row["source"] == Source.API.value for row in rows)


def _deletion(field: RecipientField) -> _PlannedRow:
    row = {"id": field.id, "key": field.key, "source": field.origin.source.value}
    return _planned(row, -field.size, before=share_values(field))


def _update(update: FieldUpdate) -> _PlannedRow:
    before, after = share_values(update.before), share_values(update.after)
    row = stored_values(update.after)
    return _planned(row, update.added_size, before=before, after=after)


def _creation(definition: FieldDefinition) -> _PlannedRow:
    row, after = stored_values(definition), share_values(definition)
    return _planned(row, definition.size_without_id, after=after)


def _restoration(field: RecipientField) -> _PlannedRow:
    return _planned(stored_values(field), field.size, after=share_values(field))


def _planned(row: _Row, added_size: int, **documents: SharedDocument) -> _PlannedRow:
    """Return the row with these documents, and their size."""
    texts = {name: document.text for name, document in documents.items()}
    size = sum(len(text.encode()) for text in texts.values())
    values = {digest: v for each in documents.values() for digest, v in each.values.items()}
    return _PlannedRow({**row, **texts, "bytes": size}, added_size, values)
