"""Store administrators and their links in DuckDB."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.adapters.row_mapping import (
    administrator_values,
    membership_values,
    stored_administrator,
)
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
    Membership,
    OrganizationId,
    Role,
    epoch_milliseconds,
)

from .database import Connection, Database, insert, instant, next_id, update
from .organizations import current_revision, delete_administrators

# The columns have the order that `stored_administrator` expects.
COLUMNS = """
    administrators.id, email, password_hash, (
        SELECT string_agg(organization_id || ':' || role, ',')
        FROM administrator_memberships WHERE administrator_id = administrators.id
    ), administrators.created_at
"""
_SELECT = f"SELECT {COLUMNS} FROM administrators"
_MEMBERS = f"""
    {_SELECT} WHERE administrators.id IN (
        SELECT administrator_id FROM administrator_memberships WHERE organization_id = ?
    )
"""
_FIND_LINK = f"""
    SELECT {COLUMNS}, purpose, expires_at
    FROM administrator_links JOIN administrators ON administrators.id = administrator_id
    WHERE digest = ? AND expires_at > ?
"""


@frozen
class DuckdbAdministratorRepository:
    """The AdministratorRepository of DuckDB."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            return _all(connection, organization_id)

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        with self._database.reading() as connection:
            return _get(connection, organization_id, administrator_id)

    def find(self, email: EmailAddress, /) -> Administrator | None:
        with self._database.reading() as connection:
            return _find(connection, email)

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
            current_revision(connection, organization_id)
            before = _all(connection, organization_id)
            found = _find(connection, email)
            if found is None:
                administrator = Administrator(
                    id=AdministratorId(next_id(connection, "administrator_ids")),
                    email=email,
                    password_hash=None,
                    created_at=at,
                    memberships=(Membership(organization_id, role),),
                )
                row = {**administrator_values(administrator), "created_at": epoch_milliseconds(at)}
                insert(connection, "administrators", row)
            else:
                administrator = found.with_role(organization_id, role)
            _store_memberships(connection, administrator)
            if not any(each.id == administrator.id for each in before):
                _delete_from(connection, "administrator_links", administrator.id)
            check(before, _all(connection, organization_id))
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
            found = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            administrator = found.with_role(organization_id, role)
            _store_memberships(connection, administrator)
            check(before, _all(connection, organization_id))
            return administrator

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
            _delete_from(connection, "administrator_sessions", administrator_id)
            connection.execute(
                "DELETE FROM administrator_memberships"
                " WHERE administrator_id = ? AND organization_id = ?",
                [administrator_id, organization_id],
            )
            check(before, _all(connection, organization_id))
            delete_administrators(connection)
            return administrator

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE administrators SET password_hash = ? WHERE id = ? AND password_hash = ?",
                [new, administrator_id, old],
            )

    def add_link(self, link: Link, /) -> Administrator:
        with self._database.writing() as connection:
            by_id = f"{_SELECT} WHERE administrators.id = ?"
            row = connection.execute(by_id, [link.administrator_id]).fetchone()
            if row is None:
                raise AdministratorNotFound
            connection.execute(
                "DELETE FROM administrator_links WHERE administrator_id = ? AND purpose = ?",
                [link.administrator_id, link.purpose.value],
            )
            values = {
                "administrator_id": link.administrator_id,
                "purpose": link.purpose.value,
                "digest": link.digest,
                "expires_at": epoch_milliseconds(link.expires_at),
            }
            insert(connection, "administrator_links", values)
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
            connection.execute("DELETE FROM administrator_links WHERE digest = ?", [digest])
            administrator = link.administrator
            if password_hash is not None:
                _delete_from(connection, "administrator_sessions", administrator.id)
                change = {"password_hash": password_hash}
                update(connection, "administrators", administrator.id, change)
            return _find(connection, administrator.email) or administrator


def read_administrator(row: tuple[Any, ...]) -> Administrator:
    """Return the administrator of a row of COLUMNS."""
    return stored_administrator(*row[:4], instant(row[4]))


def _all(connection: Connection, organization_id: OrganizationId) -> tuple[Administrator, ...]:
    rows = connection.execute(f"{_MEMBERS} ORDER BY folded_email", [organization_id]).fetchall()
    return tuple(map(read_administrator, rows))


def _get(
    connection: Connection, organization_id: OrganizationId, administrator_id: AdministratorId
) -> Administrator:
    member = f"{_MEMBERS} AND administrators.id = ?"
    row = connection.execute(member, [organization_id, administrator_id]).fetchone()
    if row is None:
        raise AdministratorNotFound
    return read_administrator(row)


def _find(connection: Connection, email: EmailAddress) -> Administrator | None:
    row = connection.execute(f"{_SELECT} WHERE folded_email = ?", [email.folded]).fetchone()
    return None if row is None else read_administrator(row)


def _find_link(connection: Connection, digest: bytes, at: datetime) -> FoundLink | None:
    row = connection.execute(_FIND_LINK, [digest, epoch_milliseconds(at)]).fetchone()
    if row is None:
        return None
    return FoundLink(
        administrator=read_administrator(row[:5]),
        purpose=LinkPurpose(row[5]),
        expires_at=instant(row[6]),
    )


def _store_memberships(connection: Connection, administrator: Administrator) -> None:
    _delete_from(connection, "administrator_memberships", administrator.id)
    for row in membership_values(administrator):
        insert(connection, "administrator_memberships", row)


def _delete_from(connection: Connection, table: str, administrator_id: AdministratorId) -> None:
    connection.execute(f"DELETE FROM {table} WHERE administrator_id = ?", [administrator_id])
