"""The organizations in a database."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.application import (
    OrganizationCheck,
    OrganizationRecord,
    OrganizationRepository,
)
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
from .columns import optional_instant, storable_id
from .database import Connection, Database, Row
from .dialect import Dialect, Statement
from .locks import lock_organization

_DELETION_TIMEOUT = 30.0
"""Seconds, because a history can have a million records."""


@frozen
class RelationalOrganizationRepository(OrganizationRepository):
    """The organizations in one database. `insert` is the statement that inserts one."""

    _database: Database
    _insert: Statement

    def all(self) -> tuple[Organization, ...]:
        rows = self._database.read(lambda connection: connection.all(select_organizations))
        return tuple(read_organization(row) for row in rows)

    def get(self, organization_id: OrganizationId, /) -> Organization:
        values = {"organization_id": storable_id(organization_id)}
        return _found(self._database.read(lambda c: c.one(select_organization, values)))

    def add(self, name: str, created_at: datetime, /) -> Organization:
        values = {
            "name": parse_organization_name(name),
            "revision": epoch_milliseconds(created_at),  # which is Organization.first_revision
            "created_at": created_at,
        }
        return _found(self._database.write(lambda c: c.one(self._insert, values)))

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        values = {
            "organization_id": storable_id(organization_id),
            "name": parse_organization_name(name),
        }
        return _found(self._database.write(lambda c: c.one(rename_organization, values)))

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        values = {"organization_id": storable_id(organization_id)}

        def delete(connection: Connection) -> OrganizationContents:
            require_organization(connection, organization_id)
            accounts = [row[0] for row in connection.all(lock_accounts, values)]
            deleted = OrganizationContents(
                fields=connection.execute(delete_fields, values),
                api_keys=connection.execute(delete_keys, values),
                integrations=connection.execute(delete_integrations, values),
                administrators=connection.execute(delete_memberships, values),
            )
            check(deleted)
            connection.execute(delete_invitations, values)
            connection.execute(delete_accounts_without_membership, {"ids": accounts})
            connection.execute(delete_history, values)
            connection.execute(delete_organization, values)
            return deleted

        return self._database.write(
            delete, lock=lock_organization(organization_id), seconds=_DELETION_TIMEOUT
        )


def catalog_revision(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the revision of the organization's catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    row = connection.one(select_revision, {"organization_id": storable_id(organization_id)})
    if row is None:
        raise OrganizationNotFound
    revision: int = row[0]
    return revision


def require_organization(connection: Connection, organization_id: OrganizationId) -> None:
    """Raise OrganizationNotFound if the organization does not exist."""
    catalog_revision(connection, organization_id)


def read_organization(row: Row) -> Organization:
    """Return the organization in a row of `organization_columns`."""
    organization_id, name, created_at = row
    with RowMapping("organizations", organization_id):
        return Organization(
            id=OrganizationId(organization_id),
            name=name,
            created_at=from_epoch_milliseconds(created_at),
        )


def read_organization_record(row: Row) -> OrganizationRecord:
    """Return the organization and its catalog's state in a row of `organization_record_columns`."""
    *organization, revision, last_sequence, last_change_at = row
    with RowMapping("organizations", row[0]):
        return OrganizationRecord(
            read_organization(tuple(organization)),
            revision,
            last_sequence,
            optional_instant(last_change_at),
        )


def _found(row: Row | None) -> Organization:
    if row is None:
        raise OrganizationNotFound
    return read_organization(row)


def organization_columns(sql: Dialect) -> str:
    """Return the columns for `read_organization`."""
    return f"id, name, {sql.milliseconds('created_at')}"


def organization_record_columns(sql: Dialect) -> str:
    """Return the columns for `read_organization_record`."""
    changes = f"revision, last_sequence, {sql.milliseconds('last_change_at')}"
    return f"{organization_columns(sql)}, {changes}"


def select_organizations(sql: Dialect) -> str:
    """Select all organizations by ascending id."""
    return f"SELECT {organization_columns(sql)} FROM organizations ORDER BY id"


def select_organization(sql: Dialect) -> str:
    """Select the organization with this id."""
    return f"SELECT {organization_columns(sql)} FROM organizations WHERE id = :organization_id"


def select_revision(_: Dialect) -> str:
    """Select the revision of the catalog of an organization."""
    return "SELECT revision FROM organizations WHERE id = :organization_id"


def insert_organization(sql: Dialect) -> str:
    """Insert an organization with an empty catalog, and return its row."""
    return f"""
        INSERT INTO organizations (name, revision, created_at, fields_size, measured_revision)
        VALUES (:name, :revision, :created_at, 0, :revision)
        RETURNING {organization_columns(sql)}
    """


def rename_organization(sql: Dialect) -> str:
    """Store the new name of an organization, and return its row."""
    return f"""
        UPDATE organizations SET name = :name WHERE id = :organization_id
        RETURNING {organization_columns(sql)}
    """


def delete_organization(_: Dialect) -> str:
    """Delete an organization, which has no other rows any more except shared values."""
    return "DELETE FROM organizations WHERE id = :organization_id"


def delete_fields(_: Dialect) -> str:
    """Delete the fields of an organization."""
    return "DELETE FROM recipient_fields WHERE organization_id = :organization_id"


def delete_history(_: Dialect) -> str:
    """Delete the history of an organization's fields."""
    return "DELETE FROM recipient_field_changes WHERE organization_id = :organization_id"


def delete_keys(_: Dialect) -> str:
    """Delete the API keys of an organization."""
    return "DELETE FROM api_keys WHERE organization_id = :organization_id"


def delete_integrations(_: Dialect) -> str:
    """Delete the integrations of an organization."""
    return "DELETE FROM integrations WHERE organization_id = :organization_id"


def delete_memberships(_: Dialect) -> str:
    """Delete the memberships in an organization."""
    return "DELETE FROM administrator_memberships WHERE organization_id = :organization_id"


def delete_invitations(_: Dialect) -> str:
    """Delete the invitations to an organization."""
    return "DELETE FROM administrator_invitations WHERE organization_id = :organization_id"


def lock_accounts(sql: Dialect) -> str:
    """Lock the accounts of an organization's administrators, and return their ids."""
    return f"""
        SELECT id FROM administrators WHERE id IN (
            SELECT administrator_id FROM administrator_memberships
            WHERE organization_id = :organization_id
        ) ORDER BY id {sql.lock("UPDATE")}
    """


def delete_accounts_without_membership(sql: Dialect) -> str:
    """Delete those of the accounts with these ids that have no membership."""
    return f"""
        DELETE FROM administrators WHERE {sql.one_of("id", ":ids")} AND NOT EXISTS (
            SELECT 1 FROM administrator_memberships WHERE administrator_id = administrators.id
        )
    """
