"""The integrations in a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.domain import (
    IntegrationId,
    OrganizationId,
    OrganizationNotFound,
    from_epoch_milliseconds,
)
from recipient_fields.domain.esp import Integration, IntegrationDraft, IntegrationNotFound

from ..row_mapping import RowMapping, stored_integration
from .columns import optional_instant, storable_id
from .database import Connection, Database, Row, Values
from .dialect import Dialect
from .locks import keep_organization, lock_catalog
from .organizations import require_organization


@frozen
class RelationalIntegrations:
    """The methods of `IntegrationRepository` that do not change fields.

    A change of a stored integration locks the catalog of its organization.
    """

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        values = {"organization_id": storable_id(organization_id)}
        rows = self._database.read(lambda c: c.all(select_integrations, values))
        if not rows:
            raise OrganizationNotFound
        return tuple(read_integration(row) for row in rows if row[0] is not None)

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        def count(connection: Connection) -> Mapping[IntegrationId, int]:
            require_organization(connection, organization_id)
            rows = connection.all(count_fields, {"organization_id": organization_id})
            return {IntegrationId(integration_id): fields for integration_id, fields in rows}

        return self._database.read(count)

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        return self._database.read(lambda c: get_integration(c, organization_id, integration_id))

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        values = {
            "organization_id": storable_id(organization_id),
            "esp": draft.esp.value,
            "name": draft.name,
            "created_at": draft.created_at,
        }
        row = self._database.write(
            lambda c: c.one(insert_integration, values), lock=keep_organization(organization_id)
        )
        if row is None:
            raise OrganizationNotFound
        return draft.with_id(IntegrationId(row[0]), organization_id)

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        def rename(connection: Connection) -> Integration:
            renamed = get_integration(connection, organization_id, integration_id).renamed(name)
            values = {**_ids(organization_id, integration_id), "name": renamed.name}
            connection.execute(rename_integration, values)
            return renamed

        return self._database.write(rename, lock=lock_catalog(organization_id))


def get_integration(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> Integration:
    """Return the integration.

    Raises: IntegrationNotFound if the organization has no such integration.
    """
    row = connection.one(select_integration, _ids(organization_id, integration_id))
    if row is None:
        raise IntegrationNotFound
    return read_integration(row)


def store_last_sync(
    connection: Connection,
    organization_id: OrganizationId,
    integration_id: IntegrationId,
    last_synced_at: datetime | None,
) -> None:
    """Store the time of the last sync of the integration."""
    values = {**_ids(organization_id, integration_id), "last_synced_at": last_synced_at}
    connection.execute(update_last_sync, values)


def remove_integration(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> None:
    """Delete the integration, which has no fields any more."""
    connection.execute(delete_integration, _ids(organization_id, integration_id))


def read_integration(row: Row) -> Integration:
    """Return the integration in a row of `integration_columns`."""
    *plain, created_at, last_synced_at = row
    with RowMapping("integrations", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            optional_instant(last_synced_at),
        )
    return stored_integration(*values)


def _ids(organization_id: OrganizationId, integration_id: IntegrationId) -> Values:
    return {"id": storable_id(integration_id), "organization_id": storable_id(organization_id)}


def integration_columns(sql: Dialect) -> str:
    """Return the columns for `read_integration`."""
    return f"""
        id, organization_id, esp, name,
        {sql.milliseconds("created_at")}, {sql.milliseconds("last_synced_at")}
    """


def select_integrations(sql: Dialect) -> str:
    """Select the integrations of an organization by ascending id.

    There is no row if there is no organization, and one without an integration if it has none. So
    one statement reads both.
    """
    return f"""
        SELECT integration.*
        FROM organizations LEFT JOIN (
            SELECT {integration_columns(sql)} FROM integrations
            WHERE organization_id = :organization_id
        ) AS integration ON true
        WHERE organizations.id = :organization_id ORDER BY integration.id
    """


def select_integration(sql: Dialect) -> str:
    """Select an integration of an organization."""
    return f"""
        SELECT {integration_columns(sql)} FROM integrations
        WHERE id = :id AND organization_id = :organization_id
    """


def count_fields(_: Dialect) -> str:
    """Count the fields of each integration of an organization."""
    return """
        SELECT integration_id, count(*) FROM recipient_fields
        WHERE organization_id = :organization_id AND integration_id IS NOT NULL
        GROUP BY integration_id
    """


def insert_integration(_: Dialect) -> str:
    """Insert an integration if its organization exists, and return its id."""
    return """
        INSERT INTO integrations (organization_id, esp, name, created_at)
        SELECT id, :esp, :name, :created_at
        FROM organizations WHERE id = :organization_id
        RETURNING id
    """


def rename_integration(_: Dialect) -> str:
    """Store the new name of an integration."""
    return """
        UPDATE integrations SET name = :name WHERE id = :id AND organization_id = :organization_id
    """


def update_last_sync(_: Dialect) -> str:
    """Store the time of the last sync of an integration."""
    return """
        UPDATE integrations SET last_synced_at = :last_synced_at
        WHERE id = :id AND organization_id = :organization_id
    """


def delete_integration(_: Dialect) -> str:
    """Delete an integration."""
    return "DELETE FROM integrations WHERE id = :id AND organization_id = :organization_id"
