"""The organizations in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from time import time_ns

from attrs import frozen

from recipient_fields.application import OrganizationCheck, OrganizationRepository
from recipient_fields.domain import (
    Organization,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    epoch_milliseconds,
    from_epoch_milliseconds,
    parse_organization_name,
)

from ..row_mapping import RowMapping
from .columns import storable_id
from .database import Database

COLUMNS = "id, name, created_at"
_SELECT_ALL = f"SELECT {COLUMNS} FROM organizations ORDER BY id"
_SELECT_BY_ID = f"SELECT {COLUMNS} FROM organizations WHERE id = ?"
_INSERT = f"""
    INSERT INTO organizations (name, revision, created_at) VALUES (?, ?, ?) RETURNING {COLUMNS}
"""
_RENAME = f"UPDATE organizations SET name = ? WHERE id = ? RETURNING {COLUMNS}"
_ADVANCE = """
    UPDATE organizations SET
        revision = max(revision + 1, :now),
        last_sequence = last_sequence + :records,
        last_change_at = max(:at, coalesce(last_change_at + 1, :at))
    WHERE id = :id RETURNING last_sequence, last_change_at
"""
_DELETE_HISTORY = "DELETE FROM recipient_field_changes WHERE organization_id = ?"
_DELETE_FIELDS = "DELETE FROM recipient_fields WHERE organization_id = ?"
_DELETE_API_KEYS = "DELETE FROM api_keys WHERE organization_id = ?"
_DELETE_INTEGRATIONS = "DELETE FROM integrations WHERE organization_id = ?"
_DELETE_MEMBERSHIPS = "DELETE FROM administrator_memberships WHERE organization_id = ?"
_DELETE_ACCOUNTS = """
    DELETE FROM administrators
    WHERE id NOT IN (SELECT administrator_id FROM administrator_memberships)
"""
_DELETE = "DELETE FROM organizations WHERE id = ?"


@frozen
class SqliteOrganizationRepository(OrganizationRepository):
    """The organizations in a SQLite file."""

    _database: Database

    def all(self) -> tuple[Organization, ...]:
        with self._database.reading() as connection:
            return tuple(read_organization(row) for row in connection.execute(_SELECT_ALL))

    def get(self, organization_id: OrganizationId, /) -> Organization:
        with self._database.reading() as connection:
            return _found(connection.execute(_SELECT_BY_ID, (storable_id(organization_id),)))

    def add(self, name: str, created_at: datetime, /) -> Organization:
        with self._database.writing() as connection:
            at = epoch_milliseconds(created_at)  # which is also Organization.first_revision
            return _found(connection.execute(_INSERT, (parse_organization_name(name), at, at)))

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        values = (parse_organization_name(name), storable_id(organization_id))
        with self._database.writing() as connection:
            return _found(connection.execute(_RENAME, values))

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        with self._database.writing() as connection:
            require_organization(connection, organization_id)
            deleted = OrganizationContents(
                fields=connection.execute(_DELETE_FIELDS, (organization_id,)).rowcount,
                api_keys=connection.execute(_DELETE_API_KEYS, (organization_id,)).rowcount,
                integrations=connection.execute(_DELETE_INTEGRATIONS, (organization_id,)).rowcount,
                administrators=connection.execute(_DELETE_MEMBERSHIPS, (organization_id,)).rowcount,
            )
            check(deleted)
            connection.execute(_DELETE_ACCOUNTS)
            connection.execute(_DELETE_HISTORY, (organization_id,))
            connection.execute(_DELETE, (organization_id,))
            return deleted


def catalog_revision(connection: sqlite3.Connection, organization_id: OrganizationId) -> int:
    """Return the revision of the organization's catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    row = connection.execute(
        "SELECT revision FROM organizations WHERE id = ?", (storable_id(organization_id),)
    ).fetchone()
    if row is None:
        raise OrganizationNotFound
    revision: int = row[0]
    return revision


def require_organization(connection: sqlite3.Connection, organization_id: OrganizationId) -> None:
    """Raise OrganizationNotFound if the organization does not exist."""
    catalog_revision(connection, organization_id)


def advance_catalog(
    connection: sqlite3.Connection, organization_id: OrganizationId, *, records: int, at: datetime
) -> tuple[int, datetime]:
    """Increase the revision of the organization's catalog, and reserve the next sequence numbers.

    `records` is the number of changes at this time. Return the sequence number of the last record,
    and the time at which all of them occurred.

    The revision increases at least to the current time in milliseconds: a restored backup does not
    contain revisions that clients have seen, and these must not be reused.
    """
    values = {
        "id": organization_id,
        "now": time_ns() // 1_000_000,
        "records": records,
        "at": epoch_milliseconds(at),
    }
    last_sequence, occurred_at = connection.execute(_ADVANCE, values).fetchone()
    return last_sequence, from_epoch_milliseconds(occurred_at)


def _found(cursor: sqlite3.Cursor) -> Organization:
    row = cursor.fetchone()
    if row is None:
        raise OrganizationNotFound
    return read_organization(row)


def read_organization(row: tuple[int, str, int]) -> Organization:
    """Return the organization of a row of COLUMNS."""
    organization_id, name, created_at = row
    with RowMapping("organizations", organization_id):
        return Organization(
            id=OrganizationId(organization_id),
            name=name,
            created_at=from_epoch_milliseconds(created_at),
        )
