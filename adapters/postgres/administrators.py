"""Administrators in PostgreSQL.

A change locks in this order: the organization, then the account, then its sessions and links. So
no two changes can deadlock.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import AdministratorsCheck
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
    OrganizationNotFound,
    Role,
    whole_milliseconds,
)

from ..row_mapping import RowMapping, stored_administrator
from .columns import from_utc, storable_id
from .organizations import DELETE_ACCOUNTS, lock_catalog, select_revision
from .transactions import Transactions

COLUMNS = """administrators.id, email, password_hash, (
        SELECT string_agg(organization_id || ':' || role, ',')
        FROM administrator_memberships WHERE administrator_id = administrators.id
    ), administrators.created_at AT TIME ZONE 'UTC'"""
_SELECT = f"SELECT {COLUMNS} FROM administrators"
_SELECT_ALL = f"""
    {_SELECT} WHERE id IN (
        SELECT administrator_id FROM administrator_memberships
        WHERE organization_id = %(organization_id)s
    ) ORDER BY folded_email
"""
_SELECT_MEMBER = f"""
    {_SELECT} WHERE id IN (
        SELECT administrator_id FROM administrator_memberships
        WHERE organization_id = %(organization_id)s AND administrator_id = %(id)s
    )
"""
_SELECT_BY_EMAIL = f"{_SELECT} WHERE folded_email = %s"
_SELECT_BY_LINK = f"""
    SELECT purpose, expires_at AT TIME ZONE 'UTC', {COLUMNS}
    FROM administrator_links JOIN administrators ON administrators.id = administrator_id
    WHERE digest = %s AND expires_at > %s
"""
_SELECT_BY_ID = f"{_SELECT} WHERE id = %s"
LOCK = "SELECT FROM administrators WHERE id = %s FOR UPDATE"
"""Locks an account until the transaction ends. No session begins until then."""
_INSERT = """
    INSERT INTO administrators (email, folded_email, created_at)
    VALUES (%(email)s, %(folded_email)s, %(at)s)
    ON CONFLICT (folded_email) DO UPDATE SET email = administrators.email RETURNING id
"""
_INSERT_MEMBERSHIP = """
    INSERT INTO administrator_memberships (organization_id, administrator_id, role)
    VALUES (%s, %s, %s)
    ON CONFLICT (organization_id, administrator_id) DO UPDATE SET role = excluded.role
"""
_DELETE_MEMBERSHIP = """
    DELETE FROM administrator_memberships WHERE organization_id = %s AND administrator_id = %s
"""
_DELETE_SESSIONS = "DELETE FROM administrator_sessions WHERE administrator_id = %s"
_REPLACE_HASH = "UPDATE administrators SET password_hash = %s WHERE id = %s AND password_hash = %s"
_SET_HASH = "UPDATE administrators SET password_hash = %s WHERE id = %s"
_REPLACE_LINK = """
    INSERT INTO administrator_links (administrator_id, purpose, digest, expires_at)
    VALUES (%s, %s, %s, %s)
    ON CONFLICT (administrator_id, purpose)
    DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at
"""
_DELETE_LINKS = "DELETE FROM administrator_links WHERE administrator_id = %s"
_DELETE_LINK = "DELETE FROM administrator_links WHERE digest = %s AND purpose = %s"


@frozen
class PostgresAdministratorRepository:
    """The administrators in one PostgreSQL database."""

    _database: Transactions

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        def read(connection: Connection[Any]) -> tuple[Administrator, ...]:
            if select_revision(connection, organization_id) is None:
                raise OrganizationNotFound
            return _all(connection, organization_id)

        return self._database.read(read)

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        return self._database.read(lambda c: _get(c, organization_id, administrator_id))

    def find(self, email: EmailAddress, /) -> Administrator | None:
        row = self._database.read(lambda c: c.execute(_SELECT_BY_EMAIL, (email.folded,)).fetchone())
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
        values = {
            "email": email.text,
            "folded_email": email.folded,
            "at": whole_milliseconds(at),
        }

        def grant(connection: Connection[Any]) -> Administrator:
            if select_revision(connection, organization_id) is None:
                raise OrganizationNotFound
            before = _all(connection, organization_id)
            [(administrator_id,)] = connection.execute(_INSERT, values).fetchall()
            connection.execute(_INSERT_MEMBERSHIP, (organization_id, administrator_id, role.value))
            after = _all(connection, organization_id)
            check(before, after)
            if not any(each.id == administrator_id for each in before):
                connection.execute(_DELETE_LINKS, (administrator_id,))
            return next(each for each in after if each.id == administrator_id)

        return self._database.write(grant, first=lock_catalog(organization_id))

    def change_role(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        role: Role,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        def change_role(connection: Connection[Any]) -> Administrator:
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            connection.execute(_INSERT_MEMBERSHIP, (organization_id, administrator_id, role.value))
            check(before, _all(connection, organization_id))
            return administrator.with_role(organization_id, role)

        return self._database.write(change_role, first=lock_catalog(organization_id))

    def revoke(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        def revoke(connection: Connection[Any]) -> Administrator:
            connection.execute(LOCK, (storable_id(administrator_id),))
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            connection.execute(_DELETE_MEMBERSHIP, (organization_id, administrator_id))
            check(before, _all(connection, organization_id))
            connection.execute(_DELETE_SESSIONS, (administrator_id,))
            connection.execute(DELETE_ACCOUNTS, ([administrator_id],))
            return administrator

        return self._database.write(revoke, first=lock_catalog(organization_id))

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        values = (new, storable_id(administrator_id), old)
        self._database.write(lambda connection: connection.execute(_REPLACE_HASH, values))

    def add_link(self, link: Link, /) -> Administrator:
        administrator_id = storable_id(link.administrator_id)
        values = (
            administrator_id,
            link.purpose.value,
            link.digest,
            whole_milliseconds(link.expires_at),
        )

        def add_link(connection: Connection[Any]) -> Administrator:
            connection.execute(LOCK, (administrator_id,))
            row = connection.execute(_SELECT_BY_ID, (administrator_id,)).fetchone()
            if row is None:
                raise AdministratorNotFound
            connection.execute(_REPLACE_LINK, values)
            return read_administrator(row)

        return self._database.write(add_link)

    def find_link(self, digest: bytes, at: datetime, /) -> FoundLink | None:
        return self._database.read(lambda c: _find_link(c, digest, at))

    def redeem_link(
        self, digest: bytes, purpose: LinkPurpose, at: datetime, password_hash: str | None, /
    ) -> Administrator:
        def redeem_link(connection: Connection[Any]) -> Administrator:
            link = _find_link(connection, digest, at)
            if link is None:
                raise LinkNotValid
            administrator_id = link.administrator.id
            connection.execute(LOCK, (administrator_id,))
            # Before the lock, another transaction can have redeemed the link.
            if connection.execute(_DELETE_LINK, (digest, purpose.value)).rowcount == 0:
                raise LinkNotValid
            if password_hash is not None:
                connection.execute(_SET_HASH, (password_hash, administrator_id))
                connection.execute(_DELETE_SESSIONS, (administrator_id,))
            [row] = connection.execute(_SELECT_BY_ID, (administrator_id,)).fetchall()
            return read_administrator(row)

        return self._database.write(redeem_link)


def read_administrator(row: tuple[Any, ...]) -> Administrator:
    """Return the administrator in a row of COLUMNS."""
    *plain, created_at = row
    values: tuple[Any, ...] = (*plain, from_utc(created_at))
    return stored_administrator(*values)


def _all(connection: Connection[Any], organization_id: OrganizationId) -> tuple[Administrator, ...]:
    values = {"organization_id": storable_id(organization_id)}
    rows = connection.execute(_SELECT_ALL, values).fetchall()
    return tuple(read_administrator(row) for row in rows)


def _get(
    connection: Connection[Any], organization_id: OrganizationId, administrator_id: AdministratorId
) -> Administrator:
    values = {
        "id": storable_id(administrator_id),
        "organization_id": storable_id(organization_id),
    }
    row = connection.execute(_SELECT_MEMBER, values).fetchone()
    if row is None:
        raise AdministratorNotFound
    return read_administrator(row)


def _find_link(connection: Connection[Any], digest: bytes, at: datetime) -> FoundLink | None:
    row = connection.execute(_SELECT_BY_LINK, (digest, whole_milliseconds(at))).fetchone()
    if row is None:
        return None
    purpose, expires_at, *administrator = row
    with RowMapping("administrator_links", administrator[0]):
        return FoundLink(
            administrator=read_administrator(tuple(administrator)),
            purpose=LinkPurpose(purpose),
            expires_at=from_utc(expires_at),
        )
