"""The administrators in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.application import AdministratorRepository, AdministratorsCheck
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    EmailAddress,
    FoundLink,
    Link,
    LinkNotValid,
    LinkPurpose,
    OrganizationId,
    Role,
    epoch_milliseconds,
    from_epoch_milliseconds,
)

from ..row_mapping import RowMapping, stored_administrator
from .columns import storable_id
from .database import Database
from .organizations import require_organization

COLUMNS = """administrators.id, email, password_hash, (
        SELECT group_concat(organization_id || ':' || role)
        FROM administrator_memberships WHERE administrator_id = administrators.id
    ), administrators.created_at"""
_SELECT = f"SELECT {COLUMNS} FROM administrators"
_IN_ORGANIZATION = """
    administrators.id IN (
        SELECT administrator_id FROM administrator_memberships WHERE organization_id = ?
    )
"""
_SELECT_ALL = f"{_SELECT} WHERE {_IN_ORGANIZATION} ORDER BY folded_email"
_SELECT_MEMBER = f"{_SELECT} WHERE administrators.id = ? AND {_IN_ORGANIZATION}"
_SELECT_BY_ID = f"{_SELECT} WHERE administrators.id = ?"
_SELECT_BY_EMAIL = f"{_SELECT} WHERE folded_email = ?"
_SELECT_BY_LINK = f"""
    SELECT purpose, expires_at, {COLUMNS}
    FROM administrator_links JOIN administrators ON administrators.id = administrator_id
    WHERE digest = ? AND expires_at > ?
"""
_INSERT = """
    INSERT INTO administrators (email, folded_email, created_at) VALUES (?, ?, ?)
    ON CONFLICT (folded_email) DO NOTHING
"""
_INSERT_MEMBERSHIP = """
    INSERT INTO administrator_memberships (organization_id, administrator_id, role)
    SELECT ?, id, ? FROM administrators WHERE folded_email = ?
    ON CONFLICT (organization_id, administrator_id) DO UPDATE SET role = excluded.role
"""
_UPDATE_ROLE = """
    UPDATE administrator_memberships SET role = ? WHERE organization_id = ? AND administrator_id = ?
"""
_DELETE_MEMBERSHIP = """
    DELETE FROM administrator_memberships WHERE organization_id = ? AND administrator_id = ?
"""
_DELETE_ACCOUNT = """
    DELETE FROM administrators WHERE id = ?1
    AND NOT EXISTS (SELECT 1 FROM administrator_memberships WHERE administrator_id = ?1)
"""
_DELETE_SESSIONS = "DELETE FROM administrator_sessions WHERE administrator_id = ?"
_REPLACE_HASH = "UPDATE administrators SET password_hash = ? WHERE id = ? AND password_hash = ?"
_SET_HASH = "UPDATE administrators SET password_hash = ? WHERE id = ?"
_REPLACE_LINK = """
    INSERT INTO administrator_links (administrator_id, purpose, digest, expires_at)
    VALUES (?, ?, ?, ?)
    ON CONFLICT (administrator_id, purpose)
    DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at
"""
_DELETE_LINKS = "DELETE FROM administrator_links WHERE administrator_id = ?"
_DELETE_LINK = "DELETE FROM administrator_links WHERE digest = ?"


@frozen
class SqliteAdministratorRepository(AdministratorRepository):
    """The administrators in a SQLite file."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        with self._database.reading() as connection:
            require_organization(connection, organization_id)
            return _all(connection, organization_id)

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        with self._database.reading() as connection:
            return _get(connection, organization_id, administrator_id)

    def find(self, email: EmailAddress, /) -> Administrator | None:
        with self._database.reading() as connection:
            row = connection.execute(_SELECT_BY_EMAIL, (email.folded,)).fetchone()
            return None if row is None else read_administrator(row)

    def grant(
        self,
        organization_id: OrganizationId,
        email: EmailAddress,
        role: Role,
        at: datetime,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        with self._database.writing() as connection:
            require_organization(connection, organization_id)
            before = _all(connection, organization_id)
            connection.execute(_INSERT, (email.text, email.folded, epoch_milliseconds(at)))
            connection.execute(_INSERT_MEMBERSHIP, (organization_id, role.value, email.folded))
            after = _all(connection, organization_id)
            check(before, after)
            administrator = next(each for each in after if each.email == email)
            if not any(each.id == administrator.id for each in before):
                connection.execute(_DELETE_LINKS, (administrator.id,))
            return administrator

    def change_role(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        role: Role,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        with self._database.writing() as connection:
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            connection.execute(_UPDATE_ROLE, (role.value, organization_id, administrator_id))
            check(before, _all(connection, organization_id))
            return administrator.with_role(organization_id, role)

    def revoke(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        with self._database.writing() as connection:
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            connection.execute(_DELETE_MEMBERSHIP, (organization_id, administrator_id))
            check(before, _all(connection, organization_id))
            connection.execute(_DELETE_SESSIONS, (administrator_id,))
            connection.execute(_DELETE_ACCOUNT, (administrator_id,))
            return administrator

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        with self._database.writing() as connection:
            connection.execute(_REPLACE_HASH, (new, storable_id(administrator_id), old))

    def add_link(self, link: Link, /) -> Administrator:
        with self._database.writing() as connection:
            values = (storable_id(link.administrator_id),)
            row = connection.execute(_SELECT_BY_ID, values).fetchone()
            if row is None:
                raise AdministratorNotFound
            expires_at = epoch_milliseconds(link.expires_at)
            connection.execute(
                _REPLACE_LINK, (link.administrator_id, link.purpose.value, link.digest, expires_at)
            )
            return read_administrator(row)

    def find_link(self, digest: bytes, at: datetime, /) -> FoundLink | None:
        with self._database.reading() as connection:
            return _find_link(connection, digest, at)

    def redeem_link(
        self, digest: bytes, purpose: LinkPurpose, at: datetime, password_hash: str | None, /
    ) -> Administrator:
        with self._database.writing() as connection:
            link = _find_link(connection, digest, at)
            if link is None or link.purpose is not purpose:
                raise LinkNotValid
            connection.execute(_DELETE_LINK, (digest,))
            administrator = link.administrator
            if password_hash is None:
                return administrator
            connection.execute(_SET_HASH, (password_hash, administrator.id))
            connection.execute(_DELETE_SESSIONS, (administrator.id,))
            return read_administrator(
                connection.execute(_SELECT_BY_ID, (administrator.id,)).fetchone()
            )


def read_administrator(row: tuple[Any, ...]) -> Administrator:
    """Return the administrator of a row of COLUMNS."""
    *plain, created_at = row
    with RowMapping("administrators", row[0]):
        values: tuple[Any, ...] = (*plain, from_epoch_milliseconds(created_at))
    return stored_administrator(*values)


def _all(
    connection: sqlite3.Connection, organization_id: OrganizationId
) -> tuple[Administrator, ...]:
    rows = connection.execute(_SELECT_ALL, (organization_id,))
    return tuple(read_administrator(row) for row in rows)


def _get(
    connection: sqlite3.Connection,
    organization_id: OrganizationId,
    administrator_id: AdministratorId,
) -> Administrator:
    ids = (storable_id(administrator_id), storable_id(organization_id))
    row = connection.execute(_SELECT_MEMBER, ids).fetchone()
    if row is None:
        raise AdministratorNotFound
    return read_administrator(row)


def _find_link(connection: sqlite3.Connection, digest: bytes, at: datetime) -> FoundLink | None:
    row = connection.execute(_SELECT_BY_LINK, (digest, epoch_milliseconds(at))).fetchone()
    if row is None:
        return None
    purpose, expires_at, *administrator = row
    with RowMapping("administrator_links", administrator[0]):
        return FoundLink(
            administrator=read_administrator(tuple(administrator)),
            purpose=LinkPurpose(purpose),
            expires_at=from_epoch_milliseconds(expires_at),
        )
