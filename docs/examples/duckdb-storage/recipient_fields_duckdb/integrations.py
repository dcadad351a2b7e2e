"""Store integrations in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import evolve, frozen

from recipient_fields.adapters.row_mapping import (
    connection_document,
    names_document,
    refused_names_document,
    stored_connection,
    stored_integration,
)
from recipient_fields.application import (
    CatalogPlanner,
    ConnectionPlanner,
    IntegrationCheck,
    NamePlanner,
    NamesPlanner,
    SyncPlanner,
)
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    IntegrationId,
    OrganizationId,
    RecipientField,
    epoch_milliseconds,
)
from recipient_fields.domain.integrations import (
    EspConnection,
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    NamesQuery,
    SyncPlan,
)

from .database import Connection, Database, insert, instant, milliseconds, next_id, update
from .fields import apply_changes, catalog, change_fields
from .organizations import advance_revision, current_revision

# The columns have the order of `INTEGRATION_COLUMNS`.
_SELECT = """
    SELECT id, organization_id, esp, name, created_at, last_synced_at, refused_names, names
    FROM integrations
"""


@frozen
class DuckdbIntegrationRepository:
    """The IntegrationRepository of DuckDB."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            return _all(connection, organization_id)

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        with self._database.reading() as connection:
            return catalog(connection, organization_id), _all(connection, organization_id)

    def select(
        self, organization_id: OrganizationId, query: NamesQuery, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        return query.select(*self.read_catalog(organization_id))

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            rows = connection.execute(
                "SELECT integration_id, count(*) FROM recipient_fields"
                " WHERE organization_id = ? AND integration_id IS NOT NULL GROUP BY integration_id",
                [organization_id],
            ).fetchall()
            return {IntegrationId(integration_id): fields for integration_id, fields in rows}

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        with self._database.reading() as connection:
            return _get(connection, organization_id, integration_id)

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        with self._database.writing() as connection:
            current_revision(connection, organization_id)
            integration_id = IntegrationId(next_id(connection, "integration_ids"))
            row = {
                "id": integration_id,
                "organization_id": organization_id,
                "esp": draft.esp,
                "name": draft.name,
                "created_at": epoch_milliseconds(draft.created_at),
            }
            insert(connection, "integrations", row)
            advance_revision(connection, organization_id)
            return draft.with_id(integration_id, organization_id)

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        with self._database.writing() as connection:
            integration = _get(connection, organization_id, integration_id)
            renamed = integration.renamed(name)
            if renamed != integration:
                update(connection, "integrations", renamed.id, {"name": renamed.name})
                advance_revision(connection, organization_id)
            return renamed

    def change_names(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: NamePlanner,
        /,
    ) -> Integration:
        with self._database.writing() as connection:
            integration = _get(connection, organization_id, integration_id)
            planned = planner(integration, catalog(connection, organization_id).fields)
            changed = evolve(integration, names=planned.names)
            if changed != integration:
                _store_names(connection, changed)
                advance_revision(connection, organization_id)
            return changed

    def change_with_names(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        name: NamesPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        with self._database.writing() as connection:
            applied = change_fields(connection, organization_id, plan, author=author, at=at)
            fields = catalog(connection, organization_id).fields
            stored = _all(connection, organization_id)
            names = {each.id: each.names for each in stored}
            changed = [each for each in name(stored, fields) if each.names != names[each.id]]
            for integration in changed:
                _store_names(connection, integration)
            if changed:
                advance_revision(connection, organization_id)
            return applied

    def delete(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        check: IntegrationCheck,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> tuple[RecipientField, ...]:
        with self._database.writing() as connection:
            integration = _get(connection, organization_id, integration_id)
            fields = integration.filter_fields(catalog(connection, organization_id).fields)
            check(fields)
            changes = CatalogChanges.of(deleted=fields)
            apply_changes(connection, organization_id, changes, author=author, at=at)
            _delete_connection(connection, integration.id)
            connection.execute("DELETE FROM integrations WHERE id = ?", [integration.id])
            advance_revision(connection, organization_id)
            return fields

    def sync(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: SyncPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> SyncPlan:
        with self._database.writing() as connection:
            integration = _get(connection, organization_id, integration_id)
            plan = planner(
                integration,
                catalog(connection, organization_id).fields,
                _all(connection, organization_id),
            )
            apply_changes(connection, organization_id, plan.changes, author=author, at=at)
            synced = {
                "last_synced_at": milliseconds(plan.integration.last_synced_at),
                "refused_names": refused_names_document(plan.integration),
            }
            update(connection, "integrations", integration.id, synced)
            if plan.changes_catalog:
                advance_revision(connection, organization_id)
            return plan


def _store_names(connection: Connection, integration: Integration) -> None:
    names = names_document(integration)
    update(connection, "integrations", integration.id, {"names": names})


def _all(connection: Connection, organization_id: OrganizationId) -> tuple[Integration, ...]:
    ours = f"{_SELECT} WHERE organization_id = ? ORDER BY id"
    rows = connection.execute(ours, [organization_id]).fetchall()
    return tuple(map(_integration, rows))


def _get(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> Integration:
    ours = f"{_SELECT} WHERE organization_id = ? AND id = ?"
    row = connection.execute(ours, [organization_id, integration_id]).fetchone()
    if row is None:
        raise IntegrationNotFound
    return _integration(row)


def _integration(row: tuple[Any, ...]) -> Integration:
    return stored_integration(*row[:4], *map(instant, row[4:6]), *row[6:])


@frozen
class DuckdbEspConnectionRepository:
    """The EspConnectionRepository of DuckDB."""

    _database: Database

    def all(self) -> tuple[EspConnection, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT organization_id, integration_id, document FROM esp_connections"
                " ORDER BY organization_id, integration_id"
            ).fetchall()
            return tuple(stored_connection(*row) for row in rows)

    def get(
        self, organization_id: OrganizationId, integration_id: IntegrationId, /
    ) -> EspConnection:
        with self._database.reading() as connection:
            return _get_connection(connection, organization_id, integration_id)

    def change(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        plan: ConnectionPlanner,
        /,
    ) -> EspConnection:
        with self._database.writing() as connection:
            changed = plan(_get_connection(connection, organization_id, integration_id))
            _delete_connection(connection, integration_id)
            row = {
                "organization_id": organization_id,
                "integration_id": integration_id,
                "document": connection_document(changed),
            }
            insert(connection, "esp_connections", row)
            return changed


def _delete_connection(connection: Connection, integration_id: IntegrationId) -> None:
    """Delete the connection of an integration."""
    connection.execute("DELETE FROM esp_connections WHERE integration_id = ?", [integration_id])


def _get_connection(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> EspConnection:
    _get(connection, organization_id, integration_id)
    row = connection.execute(
        "SELECT organization_id, integration_id, document FROM esp_connections"
        " WHERE integration_id = ?",
        [integration_id],
    ).fetchone()
    if row is None:
        return EspConnection(id=integration_id, organization_id=organization_id)
    return stored_connection(*row)
