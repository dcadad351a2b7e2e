"""Organizations in PostgreSQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import OrganizationCheck
from recipient_fields.domain import (
    Organization,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    epoch_milliseconds,
    parse_organization_name,
    whole_milliseconds,
)

from ..row_mapping import RowMapping
from .columns import from_utc, storable_id
from .transactions import Transactions

COLUMNS = "id, name, created_at AT TIME ZONE 'UTC'"
_SELECT_ALL = f"SELECT {COLUMNS} FROM organizations ORDER BY id"
_SELECT_REVISION = "SELECT revision FROM organizations WHERE id = %(id)s"
_INSERT = f"""
    INSERT INTO organizations (name, revision, created_at, api_field_count, counted_revision)
    VALUES (%(name)s, %(revision)s, %(created_at)s, 0, %(revision)s) RETURNING {COLUMNS}
"""
_SELECT_BY_ID = f"SELECT {COLUMNS} FROM organizations WHERE id = %(organization_id)s"
_RENAME = f"""
    UPDATE organizations SET name = %(name)s WHERE id = %(organization_id)s RETURNING {COLUMNS}
"""
_DELETE_HISTORY = "DELETE FROM recipient_field_changes WHERE organization_id = %(organization_id)s"
_DELETE_FIELDS = "DELETE FROM recipient_fields WHERE organization_id = %(organization_id)s"
_DELETE_API_KEYS = "DELETE FROM api_keys WHERE organization_id = %(organization_id)s"
_DELETE_INTEGRATIONS = "DELETE FROM integrations WHERE organization_id = %(organization_id)s"
_LOCK_ACCOUNTS = """
    SELECT id FROM administrators WHERE id IN (
        SELECT administrator_id FROM administrator_memberships
        WHERE organization_id = %(organization_id)s
    ) ORDER BY id FOR UPDATE
"""
_DELETE_MEMBERSHIPS = """
    DELETE FROM administrator_memberships WHERE organization_id = %(organization_id)s
"""
DELETE_ACCOUNTS = """
    DELETE FROM administrators WHERE id = ANY(%s) AND NOT EXISTS (
        SELECT FROM administrator_memberships WHERE administrator_id = administrators.id
    )
"""
"""Deletes the accounts with these ids that have no membership."""
_DELETE = "DELETE FROM organizations WHERE id = %(organization_id)s"

_DELETION_TIMEOUT = 30.0
"""Seconds, because a history can have a million records."""


@frozen
class PostgresOrganizationRepository:
    """The organizations in one PostgreSQL database."""

    _database: Transactions

    def all(self) -> tuple[Organization, ...]:
        rows = self._database.read(lambda c: c.execute(_SELECT_ALL).fetchall())
        return tuple(read_organization(row) for row in rows)

    def get(self, organization_id: OrganizationId, /) -> Organization:
        values = {"organization_id": storable_id(organization_id)}
        return _found(self._database.read(lambda c: c.execute(_SELECT_BY_ID, values).fetchone()))

    def add(self, name: str, created_at: datetime, /) -> Organization:
        values = {
            "name": parse_organization_name(name),
            "revision": epoch_milliseconds(created_at),  # which is Organization.first_revision
            "created_at": whole_milliseconds(created_at),
        }
        [row] = self._database.write(lambda c: c.execute(_INSERT, values).fetchall())
        return read_organization(row)

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        values = {
            "organization_id": storable_id(organization_id),
            "name": parse_organization_name(name),
        }
        return _found(self._database.write(lambda c: c.execute(_RENAME, values).fetchone()))

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        values = {"organization_id": storable_id(organization_id)}

        def delete(connection: Connection[Any]) -> OrganizationContents:
            _found(connection.execute(_SELECT_BY_ID, values).fetchone())
            accounts = [row[0] for row in connection.execute(_LOCK_ACCOUNTS, values).fetchall()]
            deleted = OrganizationContents(
                fields=connection.execute(_DELETE_FIELDS, values).rowcount,
                api_keys=connection.execute(_DELETE_API_KEYS, values).rowcount,
                integrations=connection.execute(_DELETE_INTEGRATIONS, values).rowcount,
                administrators=connection.execute(_DELETE_MEMBERSHIPS, values).rowcount,
            )
            check(deleted)
            connection.execute(DELETE_ACCOUNTS, (accounts,))
            connection.execute(_DELETE_HISTORY, values)
            connection.execute(_DELETE, values)
            return deleted

        return self._database.write(
            delete, first=_lock(organization_id, "UPDATE"), seconds=_DELETION_TIMEOUT
        )


def lock_catalog(organization_id: OrganizationId) -> str:
    """Return the statement that locks the organization's catalog until its transaction ends.

    Every transaction that changes fields begins with it, so what it has read still holds when it
    writes, and two changes can't deadlock. `ADD_AND_LOCK` locks the same row itself.
    """
    return _lock(organization_id, "NO KEY UPDATE")


def keep_organization(organization_id: OrganizationId) -> str:
    """Return the statement that keeps the organization from deletion until its transaction ends.

    A transaction that locks rows of an organization and then adds one begins with this: a deletion
    locks the organization before its rows, so the two can't deadlock.
    """
    return _lock(organization_id, "KEY SHARE")


def keep_if_distributed(organization_id: OrganizationId, *, distributed: bool) -> str | None:
    """Return the same statement for Citus, where an INSERT can't select and lock its organization.

    After it, the transaction checks that the organization exists. None for plain PostgreSQL.
    """
    return keep_organization(organization_id) if distributed else None


def select_revision(connection: Connection[Any], organization_id: OrganizationId) -> int | None:
    """Return the revision of the organization's catalog, or None if there is no organization."""
    row = connection.execute(_SELECT_REVISION, {"id": storable_id(organization_id)}).fetchone()
    return None if row is None else row[0]


def _lock(organization_id: OrganizationId, strength: str) -> str:
    return f"SELECT FROM organizations WHERE id = {storable_id(organization_id):d} FOR {strength}"


def _found(row: tuple[Any, ...] | None) -> Organization:
    if row is None:
        raise OrganizationNotFound
    return read_organization(row)


def read_organization(row: tuple[Any, ...]) -> Organization:
    """Return the organization in a row of COLUMNS."""
    organization_id, name, created_at = row
    with RowMapping("organizations", organization_id):
        return Organization(
            id=OrganizationId(organization_id), name=name, created_at=from_utc(created_at)
        )
