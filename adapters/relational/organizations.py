"""The organizations in a database."""

from __future__ import annotations

from collections.abc import Collection
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
from .database import (
    Connection,
    Database,
    Row,
    id_values,
    lock_organization,
    require_locked,
    storable_id,
    with_instants,
)
from .statements import SQL, ComposedStatement, Statement

_DELETION_TIMEOUT = 30.0
"""Seconds, because a history can have a million records."""


@frozen
class RelationalOrganizationRepository(OrganizationRepository):
    """The organizations in one database. `owned` are the tables with their rows."""

    _database: Database
    _owned: Collection[str]

    def all(self) -> tuple[Organization, ...]:
        rows = self._database.read(lambda connection: connection.all(SQL.select_organizations))
        return tuple(read_organization(row) for row in rows)

    def get(self, organization_id: OrganizationId, /) -> Organization:
        return self._database.read(lambda c: get_organization(c, organization_id))

    def add(self, name: str, created_at: datetime, /) -> Organization:
        values = {
            "name": parse_organization_name(name),
            "revision": epoch_milliseconds(created_at),  # which is Organization.first_revision
            "created_at": created_at,
        }
        return _found(self._database.write(lambda c: c.one(SQL.insert_organization, values)))

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        values = {
            "organization_id": storable_id(organization_id),
            "name": parse_organization_name(name),
        }
        return _found(self._database.write(lambda c: c.one(SQL.rename_organization, values)))

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        values = id_values(organization_id=organization_id)

        def delete(connection: Connection) -> OrganizationContents:
            require_locked(connection)
            accounts = [row[0] for row in connection.all(SQL.lock_accounts, values)]
            deleted = {t: connection.execute(delete_rows(t), values) for t in self._owned}
            contents = OrganizationContents(
                fields=deleted["recipient_fields"],
                api_keys=deleted["api_keys"],
                integrations=deleted["integrations"],
                administrators=deleted["administrator_memberships"],
            )
            check(contents)
            connection.execute(SQL.delete_accounts_without_membership, {"ids": accounts})
            connection.execute(SQL.delete_organization, values)
            return contents

        return self._database.write(
            delete, lock=lock_organization(organization_id), seconds=_DELETION_TIMEOUT
        )


def delete_rows(table: str) -> Statement:
    """Return the statement that deletes the rows of an organization in this table."""
    return ComposedStatement(f"DELETE FROM {table} WHERE organization_id = :organization_id")


def get_organization(connection: Connection, organization_id: OrganizationId) -> Organization:
    """Return the organization. Raises: OrganizationNotFound if it does not exist."""
    values = id_values(organization_id=organization_id)
    return _found(connection.one(SQL.select_organization, values))


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
    state = with_instants("organizations", row, 5)[3:]
    return OrganizationRecord(read_organization(row[:3]), *state)


def _found(row: Row | None) -> Organization:
    if row is None:
        raise OrganizationNotFound
    return read_organization(row)
