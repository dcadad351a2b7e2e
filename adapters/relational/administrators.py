"""The administrators in a database.

A change locks in this order: the organization, then the account, then its sessions and links. So
no two changes can deadlock.
"""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.application import AdministratorRepository, AdministratorsCheck
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
    OrganizationId,
    Role,
    from_epoch_milliseconds,
)

from ..row_mapping import (
    RowMapping,
    invitation_values,
    stored_administrator,
    stored_invitation,
)
from .database import (
    Connection,
    Database,
    Row,
    id_values,
    lock_catalog,
    require_locked,
    storable_id,
    with_instants,
)
from .organizations import get_organization
from .statements import SQL


@frozen
class RelationalAdministratorRepository(AdministratorRepository):
    """The administrators and invitations in one database."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        def read(connection: Connection) -> tuple[Administrator, ...]:
            get_organization(connection, organization_id)
            return _all(connection, organization_id)

        return self._database.read(read)

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        return self._database.read(lambda c: _get(c, organization_id, administrator_id))

    def find(self, email: EmailAddress, /) -> Administrator | None:
        values = {"folded_email": email.folded}
        row = self._database.read(lambda c: c.one(SQL.select_account_by_email, values))
        return None if row is None else read_administrator(row)

    def invite(
        self, organization_id: OrganizationId, draft: InvitationDraft, /
    ) -> Invitation | None:
        values = {"organization_id": storable_id(organization_id), **invitation_values(draft)}

        def invite(connection: Connection) -> Invitation | None:
            require_locked(connection)
            if connection.one(SQL.select_member_by_email, values) is not None:
                return None
            [row] = connection.all(SQL.store_invitation, values)
            return _read_invitation(row)

        return self._database.write(invite, lock=lock_catalog(organization_id))

    def invitations(self, organization_id: OrganizationId, /) -> tuple[Invitation, ...]:
        values = id_values(organization_id=organization_id)

        def read(connection: Connection) -> tuple[Invitation, ...]:
            get_organization(connection, organization_id)
            return tuple(map(_read_invitation, connection.all(SQL.select_invitations, values)))

        return self._database.read(read)

    def find_invitation(self, digest: bytes, at: datetime, /) -> Invitation | None:
        return self._database.read(lambda c: _find_invitation(c, digest, at))

    def withdraw_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId, /
    ) -> Invitation:
        values = id_values(organization_id=organization_id, invitation_id=invitation_id)
        row = self._database.write(lambda c: c.one(SQL.withdraw_invitation, values))
        if row is None:
            raise InvitationNotFound
        return _read_invitation(row)

    def accept_invitation(
        self,
        organization_id: OrganizationId,
        digest: bytes,
        at: datetime,
        password_hash: str | None,
        /,
    ) -> Administrator:
        def accept(connection: Connection) -> Administrator:
            invitation = _find_invitation(connection, digest, at)
            if invitation is None or invitation.organization_id != organization_id:
                raise LinkNotValid
            # Processes of older versions delete organizations without their invitations.
            if connection.locked() is None:
                raise LinkNotValid
            account = {
                "email": invitation.email.text,
                "folded_email": invitation.email.folded,
                "password_hash": password_hash,
                "at": at,
            }
            # A lock of the account, or a new one. Neither exists if another transaction has
            # created the account since the first statement, with another hash.
            row = connection.one(SQL.lock_account_by_email, account) or connection.one(
                SQL.insert_account, account
            )
            if row is None or row[1] != password_hash:
                raise AdministratorNotFound
            member = {"organization_id": organization_id, "administrator_id": row[0]}
            # On Citus, the lock of the organization can end before other nodes have the commit.
            if connection.execute(SQL.delete_invitation, {"invitation_id": invitation.id}) == 0:
                raise LinkNotValid
            connection.execute(SQL.insert_membership, {**member, "role": invitation.role.value})
            connection.execute(SQL.delete_links, member)
            connection.execute(SQL.delete_sessions, member)
            return _get(connection, organization_id, row[0])

        return self._database.write(accept, lock=lock_catalog(organization_id))

    def change_role(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        role: Role,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        member = id_values(organization_id=organization_id, administrator_id=administrator_id)

        def change_role(connection: Connection) -> Administrator:
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            connection.execute(SQL.update_role, {**member, "role": role.value})
            check(before, _all(connection, organization_id))
            return administrator.with_role(organization_id, role)

        return self._database.write(change_role, lock=lock_catalog(organization_id))

    def revoke(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        account = id_values(administrator_id=administrator_id)

        def revoke(connection: Connection) -> Administrator:
            connection.one(SQL.lock_account, account)
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            membership = {**account, "organization_id": organization_id}
            connection.execute(SQL.delete_membership, membership)
            check(before, _all(connection, organization_id))
            connection.execute(SQL.delete_sessions, account)
            connection.execute(SQL.delete_accounts_without_membership, {"ids": [administrator_id]})
            return administrator

        return self._database.write(revoke, lock=lock_catalog(organization_id))

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        values = {"administrator_id": storable_id(administrator_id), "old": old, "new": new}
        self._database.write(lambda c: c.execute(SQL.replace_password_hash, values))

    def add_link(self, link: Link, /) -> Administrator:
        account = id_values(administrator_id=link.administrator_id)
        values = {
            **account,
            "purpose": link.purpose.value,
            "digest": link.digest,
            "expires_at": link.expires_at,
        }

        def add_link(connection: Connection) -> Administrator:
            connection.one(SQL.lock_account, account)
            row = connection.one(SQL.select_account, account)
            if row is None:
                raise AdministratorNotFound
            connection.execute(SQL.replace_link, values)
            return read_administrator(row)

        return self._database.write(add_link)

    def find_link(self, digest: bytes, at: datetime, /) -> FoundLink | None:
        return self._database.read(lambda c: _find_link(c, digest, at))

    def redeem_link(
        self, digest: bytes, purpose: LinkPurpose, at: datetime, password_hash: str | None, /
    ) -> Administrator:
        def redeem_link(connection: Connection) -> Administrator:
            link = _find_link(connection, digest, at)
            if link is None:
                raise LinkNotValid
            account = {"administrator_id": link.administrator.id}
            connection.one(SQL.lock_account, account)
            # Before the lock, another transaction can have redeemed the link.
            redeemed = {"digest": digest, "purpose": purpose.value}
            if connection.execute(SQL.delete_link, redeemed) == 0:
                raise LinkNotValid
            if password_hash is not None:
                connection.execute(SQL.set_password_hash, {**account, "new": password_hash})
                connection.execute(SQL.delete_sessions, account)
            [row] = connection.all(SQL.select_account, account)
            return read_administrator(row)

        return self._database.write(redeem_link)


def read_administrator(row: Row) -> Administrator:
    """Return the administrator in a row of `administrator_columns`."""
    return stored_administrator(*with_instants("administrators", row, 4))


def _all(connection: Connection, organization_id: OrganizationId) -> tuple[Administrator, ...]:
    rows = connection.all(SQL.select_members, id_values(organization_id=organization_id))
    return tuple(read_administrator(row) for row in rows)


def _get(
    connection: Connection, organization_id: OrganizationId, administrator_id: AdministratorId
) -> Administrator:
    values = id_values(administrator_id=administrator_id, organization_id=organization_id)
    row = connection.one(SQL.select_member, values)
    if row is None:
        raise AdministratorNotFound
    return read_administrator(row)


def _find_invitation(connection: Connection, digest: bytes, at: datetime) -> Invitation | None:
    row = connection.one(SQL.select_invitation, {"digest": digest, "at": at})
    return None if row is None else _read_invitation(row)


def _read_invitation(row: Row) -> Invitation:
    """Return the invitation in a row of `invitation_columns`."""
    return stored_invitation(*with_instants("administrator_invitations", row, 5, 6))


def _find_link(connection: Connection, digest: bytes, at: datetime) -> FoundLink | None:
    row = connection.one(SQL.select_link, {"digest": digest, "at": at})
    if row is None:
        return None
    purpose, expires_at, *administrator = row
    with RowMapping("administrator_links", administrator[0]):
        return FoundLink(
            administrator=read_administrator(tuple(administrator)),
            purpose=LinkPurpose(purpose),
            expires_at=from_epoch_milliseconds(expires_at),
        )
