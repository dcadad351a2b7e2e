"""The records of changes, which the transactions of the changes add to the history in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from recipient_fields.domain import AppliedChanges, Author, OrganizationId

from ..relational.columns import RECORD_COLUMNS
from ..relational.history import store_values
from ..shared_values import shared_record
from .dialect import SqliteConnection
from .organizations import advance_catalog, count_records

_INSERT = f"""
    INSERT INTO recipient_field_changes ({", ".join(RECORD_COLUMNS)})
    VALUES ({", ".join(f":{column}" for column in RECORD_COLUMNS)})
"""


def record_changes(
    connection: sqlite3.Connection,
    organization_id: OrganizationId,
    applied: AppliedChanges,
    *,
    author: Author,
    at: datetime,
) -> None:
    """Record the changes of one transaction, and update the revision and the size of the catalog.

    Every change of a field must be recorded by this function. The sequence numbers are in the order
    of the commits, because SQLite runs only one write transaction at a time.
    """
    changes = tuple(applied.recorded())
    if not changes:
        return
    last_sequence, occurred_at = advance_catalog(
        connection,
        organization_id,
        records=len(changes),
        added_size=applied.added_size(),
        at=at,
    )
    first_sequence = last_sequence - len(changes) + 1
    records = [
        shared_record(change.with_sequence(sequence, occurred_at=occurred_at, author=author))
        for sequence, change in enumerate(changes, start=first_sequence)
    ]
    values = {digest: value for each in records for digest, value in each.values.items()}
    shared = SqliteConnection(connection)
    store_values(shared, organization_id, values, last_sequence=last_sequence)
    connection.executemany(_INSERT, [each.row for each in records])
    count_records(connection, organization_id, records)
