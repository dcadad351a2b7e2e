"""Changes of fields on Citus, which require several statements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from psycopg import Connection

from recipient_fields.domain import FieldId, OrganizationNotFound, RecordedOperation, id_size

from ..change_statements import ChangeStatement, delete_fields, update_fields
from ..server import Batch, Server, StoredBatch
from .change_statements import (
    advance_for_additions,
    advance_for_creation,
    change_fields,
    count_id_digits,
    insert_field,
    insert_fields,
    insert_record,
    insert_records,
    select_new_ids,
)
from .key_owners import CitusConnection

_CHANGES: Mapping[RecordedOperation, ChangeStatement] = {
    RecordedOperation.DELETED: delete_fields,
    RecordedOperation.UPDATED: update_fields,
}


class Citus(Server):
    """A coordinator of Citus, whose workers have the rows of the organizations."""

    splits_changes = True

    def connection(self, connection: Connection[Any], /) -> CitusConnection:
        return CitusConnection(connection)

    def try_creation(
        self, connection: Connection[Any], values: Mapping[str, object], /
    ) -> FieldId | None:
        # Both statements are sent before a result is read: one round trip in a pipeline.
        advance = connection.execute(advance_for_creation(), values)
        [(field_id,)] = connection.execute(select_new_ids(), {"count": 1}).fetchall()
        row = advance.fetchone()
        if row is None or row[0] is None:
            return None
        sequence, occurred_at = row
        values = {**values, "id": field_id}
        connection.execute(insert_field(), values)
        connection.execute(count_id_digits(), values)
        _record(connection, values, [values], [field_id], first=sequence, occurred_at=occurred_at)
        return FieldId(field_id)

    def store(
        self, connection: Connection[Any], batch: Batch, values: Mapping[str, object], /
    ) -> StoredBatch:
        rows: list[dict[str, Any]] = json.loads(batch.rows)
        if batch.operation is RecordedOperation.CREATED:
            new_ids = connection.execute(select_new_ids(), {"count": batch.count}).fetchall()
            for row, (field_id,) in zip(rows, new_ids, strict=True):
                row["id"] = field_id
            added_size = batch.added_size + sum(id_size(row["id"]) for row in rows)
            values = {**values, "rows": json.dumps(rows), "added_size": added_size}
        change = _CHANGES.get(batch.operation)
        advance = advance_for_additions() if change is None else change_fields(change)
        stored = connection.execute(advance, values).fetchone()
        if stored is None:
            raise OrganizationNotFound
        occurred_at, previous = stored
        if change is None:
            connection.execute(insert_fields(), values)
        ids = [row["id"] for row in rows]
        for row in rows:
            row["bytes"] += values["author_bytes"]
        _record(connection, values, rows, ids, first=previous + 1, occurred_at=occurred_at)
        return StoredBatch(occurred_at, ids)


def _record(
    connection: Connection[Any],
    values: Mapping[str, object],
    rows: Iterable[Mapping[str, object]],
    ids: Iterable[int],
    *,
    first: int,
    occurred_at: int,
) -> None:
    """Insert the records of these rows, which have these ids. `first`: the first sequence."""
    records: list[dict[str, object]] = [
        {
            "before": None,
            "after": None,
            **row,
            "organization_id": values["organization_id"],
            "author": values["author"],
            "operation": values["operation"],
            "sequence": sequence,
            "occurred_at": occurred_at,
            "field_id": field_id,
        }
        for sequence, (row, field_id) in enumerate(zip(rows, ids, strict=True), first)
    ]
    if len(records) == 1:
        connection.execute(insert_record(), records[0])
    else:
        connection.execute(insert_records(), {"records": json.dumps(records)})
