"""The integrations in SQLite."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.application import (
    CatalogPlanner,
    IntegrationCheck,
    IntegrationRepository,
    NamesPlanner,
    SyncPlanner,
)
from recipient_fields.domain import (
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    IntegrationId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.esp import Integration, SyncPlan

from ..relational.fields import read_catalog
from ..relational.integrations import (
    RelationalIntegrations,
    get_integration,
    read_integrations,
    remove_integration,
    store_last_sync,
)
from .database import Database
from .dialect import SqliteConnection
from .fields import apply_changes, change_fields


@frozen
class SqliteIntegrationRepository(RelationalIntegrations, IntegrationRepository):
    """The integrations in a SQLite file."""

    _database: Database

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        with self._database.reading() as connection:
            shared = SqliteConnection(connection)
            catalog = read_catalog(shared, organization_id)
            return catalog, read_integrations(shared, organization_id)

    def change_with_names(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        name: NamesPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        with self._database.writing() as connection:
            applied = change_fields(connection, organization_id, plan, author=author, at=at)
            self._change_all_names(SqliteConnection(connection), organization_id, name)
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
            shared = SqliteConnection(connection)
            integration = get_integration(shared, organization_id, integration_id)
            fields = integration.filter_fields(read_catalog(shared, organization_id).fields)
            check(fields)
            changes = CatalogChanges(deleted=fields)
            apply_changes(connection, organization_id, changes, author=author, at=at)
            remove_integration(shared, organization_id, integration_id)
            self._advance(shared, organization_id)
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
            shared = SqliteConnection(connection)
            integration = get_integration(shared, organization_id, integration_id)
            plan = planner(
                integration,
                read_catalog(shared, organization_id).fields,
                read_integrations(shared, organization_id),
            )
            apply_changes(connection, organization_id, plan.changes, author=author, at=at)
            store_last_sync(shared, organization_id, integration_id, plan.integration)
            if plan.changes_catalog:
                self._advance(shared, organization_id)
            return plan
