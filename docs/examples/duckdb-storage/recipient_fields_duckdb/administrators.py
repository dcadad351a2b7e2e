"""Store administrators and their links in DuckDB."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.adapters.row_mapping import (
    administrator_values,
    invitation_values,
    membership_values,
    stored_administrator,
    stored_invitation,
)
from recipient_fields.application import AdministratorsCheck
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    EmailAddress,
    FoundLink,
    Invitation,
    InvitationDraft,
    InvitationId,
    InvitationNotFound,
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

# The columns have the order of `ADMINISTRATOR_COLUMNS`.
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

# The columns have the order of `INVITATION_COLUMNS`.
_INVITATIONS = """
    SELECT id, organization_id, email, role, digest, created_at, expires_at
    FROM administrator_invitations
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

    def invite(
        self, organization_id: OrganizationId, draft: InvitationDraft, /
    ) -> Invitation | None:
        with self._database.writing() as connection:
            current_revision(connection, organization_id)
            if any(each.email == draft.email for each in _all(connection, organization_id)):
                return None
            replaced = connection.execute(
                "DELETE FROM administrator_invitations"
                " WHERE organization_id = ? AND folded_email = ? RETURNING id",
                [organization_id, draft.email.folded],
            ).fetchone()
            row = {
                "id": replaced[0] if replaced else next_id(connection, "invitation_ids"),
                "organization_id": organization_id,
                **invitation_values(draft),
                "created_at": epoch_milliseconds(draft.created_at),
                "expires_at": epoch_milliseconds(draft.expires_at),
            }
            insert(connection, "administrator_invitations", row)
            return _find_invitation(connection, draft.digest)

    def invitations(self, organization_id: OrganizationId, /) -> tuple[Invitation, ...]:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            ours = f"{_INVITATIONS} WHERE organization_id = ? ORDER BY folded_email"
            rows = connection.execute(ours, [organization_id]).fetchall()
            return tuple(map(_read_invitation, rows))

    def find_invitation(self, digest: bytes, at: datetime, /) -> Invitation | None:
        with self._database.reading() as connection:
            found = _find_invitation(connection, digest)
            return None if found is None or found.is_expired(at) else found

    def withdraw_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId, /
    ) -> Invitation:
        with self._database.writing() as connection:
            ours = f"{_INVITATIONS} WHERE organization_id = ? AND id = ?"
            row = connection.execute(ours, [organization_id, invitation_id]).fetchone()
            if row is None:
                raise InvitationNotFound
            _delete_invitation(connection, invitation_id)
            return _read_invitation(row)

    def accept_invitation(
        self,
        organization_id: OrganizationId,
        digest: bytes,
        at: datetime,
        password_hash: str | None,
        /,
    ) -> Administrator:
        with self._database.writing() as connection:
            invitation = _find_invitation(connection, digest)
            if invitation is None or invitation.is_expired(at):
                raise LinkNotValid
            if invitation.organization_id != organization_id:
                raise LinkNotValid
            found = _find(connection, invitation.email)
            if found is not None and found.password_hash != password_hash:
                raise AdministratorNotFound
            if found is None:
                administrator = Administrator(
                    id=AdministratorId(next_id(connection, "administrator_ids")),
                    email=invitation.email,
                    password_hash=password_hash,
                    created_at=at,
                    memberships=(Membership(organization_id, invitation.role),),
                )
                row = {**administrator_values(administrator), "created_at": epoch_milliseconds(at)}
                insert(connection, "administrators", row)
            else:
                administrator = found.joining(invitation)
            _delete_invitation(connection, invitation.id)
            _store_memberships(connection, administrator)
            for table in ("administrator_links", "administrator_sessions"):
                _delete_from(connection, table, administrator.id)
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


def _find_invitation(connection: Connection, digest: bytes) -> Invitation | None:
    row = connection.execute(f"{_INVITATIONS} WHERE digest = ?", [digest]).fetchone()
    return None if row is None else _read_invitation(row)


def _read_invitation(row: tuple[Any, ...]) -> Invitation:
    return stored_invitation(*row[:5], instant(row[5]), instant(row[6]))


def _delete_invitation(connection: Connection, invitation_id: InvitationId) -> None:
    connection.execute("DELETE FROM administrator_invitations WHERE id = ?", [invitation_id])


def _store_memberships(connection: Connection, administrator: Administrator) -> None:
    _delete_from(connection, "administrator_memberships", administrator.id)
    for row in membership_values(administrator):
        insert(connection, "administrator_memberships", row)


def _delete_from(connection: Connection, table: str, administrator_id: AdministratorId) -> None:
    connection.execute(f"DELETE FROM {table} WHERE administrator_id = ?", [administrator_id])
