"""Changes of fields, and the values with which statements store them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from ..row_mapping import (
    author_document,
    field_document,
    plain_values,
)
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

_Row: TypeAlias = Mapping[str, object]

_json = JSONEncoder(check_circular=False).encode


@frozen
class PlannedRows:
    """Changes to a catalog, serialized before the catalog is locked."""

    _changes: CatalogChanges
    _batches: tuple[Batch, ...]

    @classmethod
    def of(cls, changes: CatalogChanges) -> PlannedRows:
        """Serialize the changes."""
        return cls(
            changes,
            (
                *_batches(RecordedOperation.DELETED, changes.deleted, _deletion, _deleted_size),
                *_batches(RecordedOperation.UPDATED, changes.updated, _update, _updated_size),
                *_batches(RecordedOperation.RESTORED, changes.restored, _addition, _restored_size),
                *_batches(RecordedOperation.CREATED, changes.created, _addition, _created_size),
            ),
        )

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
        values = {
            "organization_id": storable_id(organization_id),
            "author": author_document(author),
            "at": epoch_milliseconds(self._changes.recorded_at(at)),
        }
        occurred_at = None
        ids: dict[RecordedOperation, list[int]] = {each: [] for each in _ADDED}
        for batch in self._batches:
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
    *,
    limit: int | None,
    size_limit: int | None = None,
    author: Author,
) -> Mapping[str, object]:
    """Return the values for `insert_field` and `Server.try_creation`.

    `max_fields_size` is the size of the other fields with which the field has room, with any id.
    """
    values = stored_values(definition)
    added_size = definition.size_without_id
    largest = list_size(added_size + id_size(MAX_SAFE_INTEGER))
    return {
        **values,
        "organization_id": storable_id(organization_id),
        "operation": RecordedOperation.CREATED.value,
        "limit": limit,
        "max_fields_size": None if size_limit is None else size_limit - largest,
        "author": author_document(author),
        "after": field_document(definition),
        "added_api_fields": _count_api_fields([values]),
        "added_size": added_size,
        "at": values["updated_at"],
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


def _batches(
    operation: RecordedOperation,
    changes: Iterable[C],
    row: Callable[[C], _Row],
    added_size: Callable[[C], int],
) -> Iterator[Batch]:
    remaining = iter(changes)
    while batch := list(islice(remaining, _ROWS_AT_ONCE)):
        rows = list(map(row, batch))
        yield Batch(
            operation,
            len(rows),
            _ADDED[operation] * _count_api_fields(rows),
            sum(map(added_size, batch)),
            _json(rows),
        )


def _count_api_fields(rows: Iterable[_Row]) -> int:
    return sum(row["source"] == Source.API.value for row in rows)


def _deletion(field: RecipientField) -> _Row:
    return {
        "id": field.id,
        "key": field.key,
        "source": field.origin.source.value,
        "before": field_document(field),
    }


def _update(update: FieldUpdate) -> _Row:
    return {
        **stored_values(update.after),
        "before": field_document(update.before),
        "after": field_document(update.after),
    }


def _addition(definition: FieldDefinition) -> _Row:
    return {**stored_values(definition), "after": field_document(definition)}


def _deleted_size(field: RecipientField) -> int:
    return -field.size


def _updated_size(update: FieldUpdate) -> int:
    return update.added_size


def _restored_size(field: RecipientField) -> int:
    return field.size


def _created_size(definition: FieldDefinition) -> int:
    return definition.size_without_id
