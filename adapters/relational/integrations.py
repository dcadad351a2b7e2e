"""The integrations in a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import evolve, frozen

from recipient_fields.application import NamePlanner, NamesPlanner
from recipient_fields.domain import (
    IntegrationId,
    OrganizationId,
    OrganizationNotFound,
    from_epoch_milliseconds,
)
from recipient_fields.domain.esp import Integration, IntegrationDraft, IntegrationNotFound

from ..row_mapping import (
    RowMapping,
    names_document,
    refused_names_document,
    stored_integration,
)
from .columns import optional_instant, storable_id
from .database import Connection, Database, Row, Values
from .dialect import Dialect
from .fields import read_catalog
from .locks import lock_catalog
from .organizations import require_organization

Advance: TypeAlias = Callable[[Connection, OrganizationId], None]
"""Increases the revision of the locked catalog of an organization whose fields do not change."""


@frozen
class RelationalIntegrations:
    """The methods of `IntegrationRepository` that do not change fields, except `read_catalog`.

    A change of an integration locks the catalog of its organization.
    """

    _database: Database
    _advance: Advance

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        return self._database.read(lambda c: read_integrations(c, organization_id))

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

        def add(connection: Connection) -> Integration:
            row = connection.one(insert_integration, values)
            if row is None:
                raise OrganizationNotFound
            self._advance(connection, organization_id)
            return draft.with_id(IntegrationId(row[0]), organization_id)

        return self._database.write(add, lock=lock_catalog(organization_id))

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        def rename(connection: Connection) -> Integration:
            integration = get_integration(connection, organization_id, integration_id)
            renamed = integration.renamed(name)
            if renamed != integration:
                values = {**_ids(organization_id, integration_id), "name": renamed.name}
                connection.execute(rename_integration, values)
                self._advance(connection, organization_id)
            return renamed

        return self._database.write(rename, lock=lock_catalog(organization_id))

    def change_names(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: NamePlanner,
        /,
    ) -> Integration:
        def change(connection: Connection) -> Integration:
            integration = get_integration(connection, organization_id, integration_id)
            planned = planner(integration, read_catalog(connection, organization_id).fields)
            changed = evolve(integration, names=planned.names)
            if changed != integration:
                _store_names(connection, changed)
                self._advance(connection, organization_id)
            return changed

        return self._database.write(change, lock=lock_catalog(organization_id))

    def _change_all_names(
        self, connection: Connection, organization_id: OrganizationId, name: NamesPlanner
    ) -> None:
        """Store the names that `name` returns for the locked catalog."""
        stored = read_integrations(connection, organization_id)
        names = {each.id: each.names for each in stored}
        fields = read_catalog(connection, organization_id).fields
        changed = [each for each in name(stored, fields) if each.names != names[each.id]]
        for integration in changed:
            _store_names(connection, integration)
        if changed:
            self._advance(connection, organization_id)


def read_integrations(
    connection: Connection, organization_id: OrganizationId
) -> tuple[Integration, ...]:
    """Return the organization's integrations by ascending id.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    rows = connection.all(select_integrations, {"organization_id": storable_id(organization_id)})
    if not rows:
        raise OrganizationNotFound
    return tuple(read_integration(row) for row in rows if row[0] is not None)


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
    synced: Integration,
) -> None:
    """Store the time of the last sync of the integration, and the names that it refused."""
    values = {
        **_ids(organization_id, integration_id),
        "last_synced_at": synced.last_synced_at,
        "refused_names": refused_names_document(synced),
    }
    connection.execute(update_last_sync, values)


def _store_names(connection: Connection, integration: Integration) -> None:
    ids = _ids(integration.organization_id, integration.id)
    connection.execute(update_names, {**ids, "names": names_document(integration)})


def remove_integration(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> None:
    """Delete the integration, which has no fields any more."""
    connection.execute(delete_integration, _ids(organization_id, integration_id))


def read_integration(row: Row) -> Integration:
    """Return the integration in a row of `integration_columns`."""
    *plain, created_at, last_synced_at, refused_names, names = row
    with RowMapping("integrations", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            optional_instant(last_synced_at),
            refused_names,
            names,
        )
    return stored_integration(*values)


def _ids(organization_id: OrganizationId, integration_id: IntegrationId) -> Values:
    return {"id": storable_id(integration_id), "organization_id": storable_id(organization_id)}


def integration_columns(sql: Dialect) -> str:
    """Return the columns for `read_integration`."""
    return f"""
        id, organization_id, esp, name,
        {sql.milliseconds("created_at")}, {sql.milliseconds("last_synced_at")},
        {sql.json("refused_names")}, {sql.json("names")}
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
        WHERE organization_id = :organization_id AND id = :id
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
        SELECT :organization_id, :esp, :name, :created_at
        FROM organizations WHERE id = :organization_id
        RETURNING id
    """


def rename_integration(_: Dialect) -> str:
    """Store the new name of an integration."""
    return """
        UPDATE integrations SET name = :name WHERE organization_id = :organization_id AND id = :id
    """


def update_last_sync(_: Dialect) -> str:
    """Store the time of the last sync of an integration, and the names that it refused."""
    return """
        UPDATE integrations SET last_synced_at = :last_synced_at, refused_names = :refused_names
        WHERE organization_id = :organization_id AND id = :id
    """


def update_names(_: Dialect) -> str:
    """Store the names that were set for fields at an integration."""
    return """
        UPDATE integrations SET names = :names
        WHERE organization_id = :organization_id AND id = :id
    """


def delete_integration(_: Dialect) -> str:
    """Delete an integration."""
    return "DELETE FROM integrations WHERE organization_id = :organization_id AND id = :id"
