"""The records of changes, which the transactions of the changes add to the history in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from recipient_fields.domain import (
    Author,
    FieldId,
    OrganizationId,
    RecipientField,
    RecordedChange,
)

from ..relational.columns import storable_id
from ..row_mapping import read_record, record_values
from .organizations import advance_catalog

COLUMNS = "organization_id, sequence, operation, field_id, author, before, after, occurred_at"
_INSERT = """
    INSERT INTO recipient_field_changes (
        organization_id, sequence, operation, field_id, key, source, author, before, after,
        occurred_at
    ) VALUES (
        :organization_id, :sequence, :operation, :field_id, :key, :source, :author, :before, :after,
        :occurred_at
    )
"""
_SELECT_LAST_DELETION = f"""
    SELECT {COLUMNS} FROM recipient_field_changes
    WHERE organization_id = ? AND field_id = ? AND operation = 'deleted'
    ORDER BY sequence DESC LIMIT 1
"""


def record_changes(
    connection: sqlite3.Connection,
    organization_id: OrganizationId,
    changes: Sequence[RecordedChange],
    *,
    author: Author,
    at: datetime,
) -> None:
    """Record the changes of one transaction, and increase the revision of the catalog.

    Every change of a field must be recorded by this function. The sequence numbers are in the order
    of the commits, because SQLite runs only one write transaction at a time.
    """
    if not changes:
        return
    last_sequence, occurred_at = advance_catalog(
        connection, organization_id, records=len(changes), at=at
    )
    first_sequence = last_sequence - len(changes) + 1
    records = (
        change.with_sequence(sequence, occurred_at=occurred_at, author=author)
        for sequence, change in enumerate(changes, start=first_sequence)
    )
    connection.executemany(_INSERT, map(record_values, records))


def find_deleted_field(
    connection: sqlite3.Connection, organization_id: OrganizationId, field_id: FieldId
) -> RecipientField | None:
    """Return the field as it was before its last deletion, or None if there is no such record."""
    ids = (storable_id(organization_id), storable_id(field_id))
    row = connection.execute(_SELECT_LAST_DELETION, ids).fetchone()
    return None if row is None else read_record(row).before
