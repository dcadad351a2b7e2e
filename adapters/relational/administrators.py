"""The administrators in a database.

A change locks in this order: the organization, then the account, then its sessions and links. So
no two changes can deadlock.
"""

from __future__ import annotations

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
from .columns import storable_id
from .database import Connection, Database, Row
from .dialect import Dialect
from .locks import lock_catalog
from .organizations import (
    delete_accounts_without_membership,
    require_organization,
    select_organization,
)


@frozen
class RelationalAdministratorRepository(AdministratorRepository):
    """The administrators and invitations in one database."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        def read(connection: Connection) -> tuple[Administrator, ...]:
            require_organization(connection, organization_id)
            return _all(connection, organization_id)

        return self._database.read(read)

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        return self._database.read(lambda c: _get(c, organization_id, administrator_id))

    def find(self, email: EmailAddress, /) -> Administrator | None:
        values = {"folded_email": email.folded}
        row = self._database.read(lambda c: c.one(select_account_by_email, values))
        return None if row is None else read_administrator(row)

    def invite(
        self, organization_id: OrganizationId, draft: InvitationDraft, /
    ) -> Invitation | None:
        values = {"organization_id": storable_id(organization_id), **invitation_values(draft)}

        def invite(connection: Connection) -> Invitation | None:
            require_organization(connection, organization_id)
            if connection.one(select_member_by_email, values) is not None:
                return None
            [row] = connection.all(store_invitation, values)
            return _read_invitation(row)

        return self._database.write(invite, lock=lock_catalog(organization_id))

    def invitations(self, organization_id: OrganizationId, /) -> tuple[Invitation, ...]:
        values = {"organization_id": storable_id(organization_id)}

        def read(connection: Connection) -> tuple[Invitation, ...]:
            require_organization(connection, organization_id)
            return tuple(map(_read_invitation, connection.all(select_invitations, values)))

        return self._database.read(read)

    def find_invitation(self, digest: bytes, at: datetime, /) -> Invitation | None:
        return self._database.read(lambda c: _find_invitation(c, digest, at))

    def withdraw_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId, /
    ) -> Invitation:
        values = {
            "organization_id": storable_id(organization_id),
            "invitation_id": storable_id(invitation_id),
        }
        row = self._database.write(lambda c: c.one(withdraw_invitation, values))
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
            if connection.one(select_organization, {"organization_id": organization_id}) is None:
                raise LinkNotValid
            account = {
                "email": invitation.email.text,
                "folded_email": invitation.email.folded,
                "password_hash": password_hash,
                "at": at,
            }
            # A lock of the account, or a new one. Neither exists if another transaction has
            # created the account since the first statement, with another hash.
            row = connection.one(lock_account_by_email, account) or connection.one(
                insert_account, account
            )
            if row is None or row[1] != password_hash:
                raise AdministratorNotFound
            member = {"organization_id": organization_id, "administrator_id": row[0]}
            connection.execute(delete_invitation, {"invitation_id": invitation.id})
            connection.execute(insert_membership, {**member, "role": invitation.role.value})
            connection.execute(delete_links, member)
            connection.execute(delete_sessions, member)
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
        member = {
            "organization_id": storable_id(organization_id),
            "administrator_id": storable_id(administrator_id),
        }

        def change_role(connection: Connection) -> Administrator:
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            connection.execute(update_role, {**member, "role": role.value})
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
        account = {"administrator_id": storable_id(administrator_id)}

        def revoke(connection: Connection) -> Administrator:
            connection.lock(lock_account, account)
            administrator = _get(connection, organization_id, administrator_id)
            before = _all(connection, organization_id)
            membership = {**account, "organization_id": organization_id}
            connection.execute(delete_membership, membership)
            check(before, _all(connection, organization_id))
            connection.execute(delete_sessions, account)
            connection.execute(delete_accounts_without_membership, {"ids": [administrator_id]})
            return administrator

        return self._database.write(revoke, lock=lock_catalog(organization_id))

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        values = {"administrator_id": storable_id(administrator_id), "old": old, "new": new}
        self._database.write(lambda c: c.execute(replace_password_hash, values))

    def add_link(self, link: Link, /) -> Administrator:
        account = {"administrator_id": storable_id(link.administrator_id)}
        values = {
            **account,
            "purpose": link.purpose.value,
            "digest": link.digest,
            "expires_at": link.expires_at,
        }

        def add_link(connection: Connection) -> Administrator:
            connection.lock(lock_account, account)
            row = connection.one(select_account, account)
            if row is None:
                raise AdministratorNotFound
            connection.execute(replace_link, values)
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
            connection.lock(lock_account, account)
            # Before the lock, another transaction can have redeemed the link.
            redeemed = {"digest": digest, "purpose": purpose.value}
            if connection.execute(delete_link, redeemed) == 0:
                raise LinkNotValid
            if password_hash is not None:
                connection.execute(set_password_hash, {**account, "new": password_hash})
                connection.execute(delete_sessions, account)
            [row] = connection.all(select_account, account)
            return read_administrator(row)

        return self._database.write(redeem_link)


def read_administrator(row: Row) -> Administrator:
    """Return the administrator in a row of `administrator_columns`."""
    *plain, created_at = row
    with RowMapping("administrators", row[0]):
        values: tuple[Any, ...] = (*plain, from_epoch_milliseconds(created_at))
    return stored_administrator(*values)


def _all(connection: Connection, organization_id: OrganizationId) -> tuple[Administrator, ...]:
    rows = connection.all(select_members, {"organization_id": storable_id(organization_id)})
    return tuple(read_administrator(row) for row in rows)


def _get(
    connection: Connection, organization_id: OrganizationId, administrator_id: AdministratorId
) -> Administrator:
    values = {
        "administrator_id": storable_id(administrator_id),
        "organization_id": storable_id(organization_id),
    }
    row = connection.one(select_member, values)
    if row is None:
        raise AdministratorNotFound
    return read_administrator(row)


def _find_invitation(connection: Connection, digest: bytes, at: datetime) -> Invitation | None:
    row = connection.one(select_invitation, {"digest": digest, "at": at})
    return None if row is None else _read_invitation(row)


def _read_invitation(row: Row) -> Invitation:
    """Return the invitation in a row of `invitation_columns`."""
    *plain, created_at, expires_at = row
    with RowMapping("administrator_invitations", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            from_epoch_milliseconds(expires_at),
        )
    return stored_invitation(*values)


def _find_link(connection: Connection, digest: bytes, at: datetime) -> FoundLink | None:
    row = connection.one(select_link, {"digest": digest, "at": at})
    if row is None:
        return None
    purpose, expires_at, *administrator = row
    with RowMapping("administrator_links", administrator[0]):
        return FoundLink(
            administrator=read_administrator(tuple(administrator)),
            purpose=LinkPurpose(purpose),
            expires_at=from_epoch_milliseconds(expires_at),
        )


def administrator_columns(sql: Dialect) -> str:
    """Return the columns for `read_administrator`."""
    return f"""
        administrators.id, email, password_hash, (
            SELECT {sql.joined("organization_id || ':' || role")}
            FROM administrator_memberships WHERE administrator_id = administrators.id
        ), {sql.milliseconds("administrators.created_at")}
    """


def select_members(sql: Dialect) -> str:
    """Select the administrators of an organization by ascending email address."""
    return f"""
        SELECT {administrator_columns(sql)} FROM administrators WHERE id IN (
            SELECT administrator_id FROM administrator_memberships
            WHERE organization_id = :organization_id
        ) ORDER BY folded_email
    """


def select_member(sql: Dialect) -> str:
    """Select an administrator of an organization."""
    return f"""
        SELECT {administrator_columns(sql)} FROM administrators WHERE id IN (
            SELECT administrator_id FROM administrator_memberships
            WHERE organization_id = :organization_id AND administrator_id = :administrator_id
        )
    """


def select_account(sql: Dialect) -> str:
    """Select the administrator with this id, in any organization."""
    return f"SELECT {administrator_columns(sql)} FROM administrators WHERE id = :administrator_id"


def select_account_by_email(sql: Dialect) -> str:
    """Select the administrator with this email address, in any organization."""
    return f"""
        SELECT {administrator_columns(sql)} FROM administrators WHERE folded_email = :folded_email
    """


def select_link(sql: Dialect) -> str:
    """Select the link with this digest, unless it has expired, and its administrator."""
    return f"""
        SELECT purpose, {sql.milliseconds("expires_at")}, {administrator_columns(sql)}
        FROM administrator_links JOIN administrators ON administrators.id = administrator_id
        WHERE digest = :digest AND expires_at > :at
    """


def lock_account(sql: Dialect) -> str:
    """Lock an account. No session of it begins until the transaction ends."""
    return f"SELECT 1 FROM administrators WHERE id = :administrator_id {sql.lock('UPDATE')}"


def lock_account_by_email(sql: Dialect) -> str:
    """Lock the account with this email address, and return its id and its password hash."""
    return f"""
        SELECT id, password_hash FROM administrators WHERE folded_email = :folded_email
        {sql.lock("UPDATE")}
    """


def insert_account(_: Dialect) -> str:
    """Insert an account, unless the address has one, and return its id and its password hash."""
    return """
        INSERT INTO administrators (email, folded_email, password_hash, created_at)
        VALUES (:email, :folded_email, :password_hash, :at)
        ON CONFLICT (folded_email) DO NOTHING
        RETURNING id, password_hash
    """


def insert_membership(_: Dialect) -> str:
    """Insert the membership of an account in an organization, unless there is one."""
    return """
        INSERT INTO administrator_memberships (organization_id, administrator_id, role)
        VALUES (:organization_id, :administrator_id, :role)
        ON CONFLICT (organization_id, administrator_id) DO NOTHING
    """


def update_role(_: Dialect) -> str:
    """Change the role of an account in an organization."""
    return """
        UPDATE administrator_memberships SET role = :role
        WHERE organization_id = :organization_id AND administrator_id = :administrator_id
    """


def select_member_by_email(_: Dialect) -> str:
    """Select the id of the organization's administrator with this email address."""
    return """
        SELECT id FROM administrators WHERE folded_email = :folded_email AND id IN (
            SELECT administrator_id FROM administrator_memberships
            WHERE organization_id = :organization_id
        )
    """


def invitation_columns(sql: Dialect) -> str:
    """Return the columns of an invitation."""
    return f"""
        id, organization_id, email, role, digest, {sql.milliseconds("created_at")},
        {sql.milliseconds("expires_at")}
    """


def select_invitations(sql: Dialect) -> str:
    """Select the invitations of an organization by ascending email address."""
    return f"""
        SELECT {invitation_columns(sql)} FROM administrator_invitations
        WHERE organization_id = :organization_id ORDER BY folded_email
    """


def select_invitation(sql: Dialect) -> str:
    """Select the invitation with this digest, unless it has expired."""
    return f"""
        SELECT {invitation_columns(sql)} FROM administrator_invitations
        WHERE digest = :digest AND expires_at > :at
    """


def store_invitation(sql: Dialect) -> str:
    """Store an invitation, instead of an earlier one for the email address, and return its row."""
    return f"""
        INSERT INTO administrator_invitations (
            organization_id, email, folded_email, role, digest, created_at, expires_at
        ) VALUES (
            :organization_id, :email, :folded_email, :role, :digest, :created_at, :expires_at
        )
        ON CONFLICT (organization_id, folded_email) DO UPDATE SET
            email = excluded.email, role = excluded.role, digest = excluded.digest,
            created_at = excluded.created_at, expires_at = excluded.expires_at
        RETURNING {invitation_columns(sql)}
    """


def withdraw_invitation(sql: Dialect) -> str:
    """Delete an invitation of an organization, and return its row."""
    return f"""
        DELETE FROM administrator_invitations
        WHERE organization_id = :organization_id AND id = :invitation_id
        RETURNING {invitation_columns(sql)}
    """


def delete_invitation(_: Dialect) -> str:
    """Delete an invitation."""
    return "DELETE FROM administrator_invitations WHERE id = :invitation_id"


def delete_membership(_: Dialect) -> str:
    """Delete the membership of an account in an organization."""
    return """
        DELETE FROM administrator_memberships
        WHERE organization_id = :organization_id AND administrator_id = :administrator_id
    """


def delete_sessions(_: Dialect) -> str:
    """Delete the sessions of an account."""
    return "DELETE FROM administrator_sessions WHERE administrator_id = :administrator_id"


def replace_password_hash(_: Dialect) -> str:
    """Replace the password hash of an account, if it is the old one."""
    return """
        UPDATE administrators SET password_hash = :new
        WHERE id = :administrator_id AND password_hash = :old
    """


def set_password_hash(_: Dialect) -> str:
    """Store the password hash of an account."""
    return "UPDATE administrators SET password_hash = :new WHERE id = :administrator_id"


def replace_link(_: Dialect) -> str:
    """Store the link of an account, instead of an earlier one with the same purpose."""
    return """
        INSERT INTO administrator_links (administrator_id, purpose, digest, expires_at)
        VALUES (:administrator_id, :purpose, :digest, :expires_at)
        ON CONFLICT (administrator_id, purpose)
        DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at
    """


def delete_links(_: Dialect) -> str:
    """Delete the links of an account."""
    return "DELETE FROM administrator_links WHERE administrator_id = :administrator_id"


def delete_link(_: Dialect) -> str:
    """Delete the link with this digest, if it has this purpose."""
    return "DELETE FROM administrator_links WHERE digest = :digest AND purpose = :purpose"
