"""The catalogs of organizations in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from time import time_ns

from recipient_fields.domain import (
    OrganizationId,
    epoch_milliseconds,
    from_epoch_milliseconds,
)

from ..relational.columns import storable_id
from ..relational.database import Connection
from ..relational.dialect import Dialect
from ..shared_values import SharedRecord

_NEXT_REVISION = """
    revision = max(revision + 1, :now), measured_revision =
        iif(measured_revision = revision, max(revision + 1, :now), measured_revision)
"""
"""The revision increases at least to the current time in milliseconds: a restored backup does not
contain revisions that clients have seen, and these must not be reused."""

_ADVANCE = f"""
    UPDATE organizations SET
        {_NEXT_REVISION},
        fields_size = fields_size + iif(measured_revision = revision, :added_size, 0),
        last_sequence = last_sequence + :records,
        last_change_at = max(:at, coalesce(last_change_at + 1, :at))
    WHERE id = :id RETURNING last_sequence, last_change_at
"""


# Unless a process of an older version has stored records, which are not counted yet.
_COUNT = """
    UPDATE organizations SET record_bytes = record_bytes + :bytes, sized_sequence = last_sequence
    WHERE id = :id AND sized_sequence = last_sequence - :records
"""


def count_records(
    connection: sqlite3.Connection, organization_id: OrganizationId, records: Sequence[SharedRecord]
) -> None:
    """Add the size of the last records to that of the history."""
    size = sum(each.bytes for each in records)
    values = {"id": organization_id, "records": len(records), "bytes": size}
    connection.execute(_COUNT, values)


def advance_catalog(
    connection: sqlite3.Connection,
    organization_id: OrganizationId,
    *,
    records: int,
    added_size: int,
    at: datetime,
) -> tuple[int, datetime]:
    """Increase the revision of the organization's catalog, and reserve the next sequence numbers.

    `records` is the number of changes at this time, and `added_size` the number of bytes that they
    add. Return the sequence number of the last record, and the time at which all of them occurred.
    """
    values = {
        "id": organization_id,
        "now": _now(),
        "records": records,
        "added_size": added_size,
        "at": epoch_milliseconds(at),
    }
    last_sequence, occurred_at = connection.execute(_ADVANCE, values).fetchone()
    return last_sequence, from_epoch_milliseconds(occurred_at)


def advance_revision(connection: Connection, organization_id: OrganizationId) -> None:
    """Increase the revision of the organization's catalog, whose fields do not change."""
    values = {"organization_id": storable_id(organization_id), "now": _now()}
    connection.execute(increase_revision, values)


def increase_revision(_: Dialect) -> str:
    """Increase the revision of a catalog."""
    return f"UPDATE organizations SET {_NEXT_REVISION} WHERE id = :organization_id"


def _now() -> int:
    return time_ns() // 1_000_000
