"""Record changes of fields in DuckDB, in the transactions of the changes."""

from __future__ import annotations

from datetime import datetime

from recipient_fields.adapters.row_mapping import read_record, record_values
from recipient_fields.domain import (
    Author,
    CatalogChanges,
    FieldId,
    HistoryRecord,
    OrganizationId,
    RecipientField,
)

from .database import Connection, insert
from .organizations import advance_catalog

# The columns have the order that `read_record` expects.
_SELECT = """
    SELECT organization_id, sequence, operation, field_id, author, before, after, occurred_at
    FROM recipient_field_changes WHERE organization_id = ?
"""


def record_changes(
    connection: Connection,
    organization_id: OrganizationId,
    stored: CatalogChanges[RecipientField],
    *,
    author: Author,
    at: datetime,
) -> None:
    """Record the changes of one transaction, and update the catalog's revision and size."""
    changes = stored.changes
    if not changes:
        return
    last_sequence, occurred_at = advance_catalog(
        connection,
        organization_id,
        records=len(changes),
        added_size=stored.added_size(),
        at=at,
    )
    first_sequence = last_sequence - len(changes) + 1
    for sequence, change in enumerate(changes, start=first_sequence):
        record = change.with_sequence(sequence, occurred_at=occurred_at, author=author)
        insert(connection, "recipient_field_changes", record_values(record))


def all_records(
    connection: Connection, organization_id: OrganizationId
) -> tuple[HistoryRecord, ...]:
    """Return all records of the organization by ascending sequence."""
    rows = connection.execute(f"{_SELECT} ORDER BY sequence", [organization_id]).fetchall()
    return tuple(map(read_record, rows))


def removed_records(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of removed records, or 0 if the organization does not exist."""
    removed = """
        SELECT last_sequence - count(sequence)
        FROM organizations LEFT JOIN recipient_field_changes ON organization_id = organizations.id
        WHERE organizations.id = ? GROUP BY last_sequence
    """
    (count,) = connection.execute(removed, [organization_id]).fetchone() or (0,)
    return int(count)


def find_deleted_field(
    connection: Connection, organization_id: OrganizationId, field_id: FieldId
) -> RecipientField | None:
    """Return the field as it was before its last deletion, or None if there is no such record."""
    deletions = f"{_SELECT} AND field_id = ? AND operation = 'deleted' ORDER BY sequence DESC"
    row = connection.execute(deletions, [organization_id, field_id]).fetchone()
    return None if row is None else read_record(row).before
