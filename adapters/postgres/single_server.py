"""Changes of fields on one PostgreSQL server, where each batch is one statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import Connection

from recipient_fields.domain import FieldId, OrganizationNotFound, RecordedOperation

from .change_statements import (
    ChangeStatement,
    delete_fields,
    insert_field,
    insert_fields,
    restore_fields,
    store_changes,
    update_fields,
)
from .dialect import PostgresConnection
from .server import Batch, Server, StoredBatch

_CHANGES: Mapping[RecordedOperation, ChangeStatement] = {
    RecordedOperation.DELETED: delete_fields,
    RecordedOperation.UPDATED: update_fields,
    RecordedOperation.RESTORED: restore_fields,
    RecordedOperation.CREATED: insert_fields,
}


class SingleServer(Server):
    """A PostgreSQL server that has all rows."""

    splits_changes = False

    def connection(self, connection: Connection[Any], /) -> PostgresConnection:
        return PostgresConnection(connection)

    def try_creation(
        self, connection: Connection[Any], values: Mapping[str, object], /
    ) -> FieldId | None:
        row = connection.execute(insert_field(), values).fetchone()
        return None if row is None else FieldId(row[0])

    def store(
        self, connection: Connection[Any], batch: Batch, values: Mapping[str, object], /
    ) -> StoredBatch:
        statement = store_changes(_CHANGES[batch.operation])
        row = connection.execute(statement, values).fetchone()
        if row is None:
            raise OrganizationNotFound
        return StoredBatch(*row)
