"""Integrations in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from attrs import frozen
from psycopg import Connection

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
    OrganizationNotFound,
    RecipientField,
)
from recipient_fields.domain.esp import Integration, SyncPlan

from ..relational.columns import storable_id
from ..relational.database import Connection as SharedConnection
from ..relational.dialect import Dialect
from ..relational.fields import field_columns, read_catalog
from ..relational.integrations import (
    RelationalIntegrations,
    get_integration,
    integration_columns,
    read_integration,
    remove_integration,
    store_last_sync,
)
from ..relational.locks import lock_catalog
from ..relational.organizations import catalog_revision
from ..row_mapping import FIELD_COLUMNS, read_field
from .changes import PlannedRows
from .dialect import PostgresConnection
from .fields import change_fields
from .transactions import Transactions, Work

T = TypeVar("T")

_FIELD = slice(2, 2 + len(FIELD_COLUMNS))
_INTEGRATION = slice(_FIELD.stop + 1, None)
"""The columns of a field and an integration in the rows of `select_catalog_and_integrations`."""
_SYNC_TIMEOUT = 60.0
"""Seconds. A run stores thousands of fields, and no request waits for it."""
_PLANS_WITHOUT_LOCK = 3
"""Planning takes longer than storing the plan, and other writers would wait for the lock. If other
changes invalidate this many plans, the next plan is computed under the lock."""


@frozen
class PostgresIntegrationRepository(RelationalIntegrations, IntegrationRepository):
    """The integrations in one PostgreSQL database. `sync` can take a minute."""

    _transactions: Transactions

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        return self._database.read(lambda c: _read_catalog(c, organization_id))

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
        server = self._transactions.server

        def change(connection: Connection[Any]) -> AppliedChanges:
            applied = change_fields(server, connection, organization_id, plan, author=author, at=at)
            self._change_all_names(PostgresConnection(connection), organization_id, name)
            return applied

        return self._transactions.write(change, first=lock_catalog(organization_id))

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
        def delete(connection: Connection[Any]) -> tuple[RecipientField, ...]:
            integration = _get(connection, organization_id, integration_id)
            catalog = read_catalog(PostgresConnection(connection), organization_id)
            fields = integration.filter_fields(catalog.fields)
            check(fields)
            rows = PlannedRows.of(CatalogChanges(deleted=fields))
            self._store(connection, organization_id, rows, author=author, at=at)
            shared = PostgresConnection(connection)
            remove_integration(shared, organization_id, integration_id)
            self._advance(shared, organization_id)
            return fields

        return self._transactions.write(delete, first=lock_catalog(organization_id))

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
        def store(connection: Connection[Any], plan: SyncPlan, rows: PlannedRows) -> None:
            self._store(connection, organization_id, rows, author=author, at=at)
            shared = PostgresConnection(connection)
            store_last_sync(shared, organization_id, integration_id, plan.integration)
            if plan.changes_catalog:
                self._advance(shared, organization_id)

        for _ in range(_PLANS_WITHOUT_LOCK):
            plan = self._sync_unless_changed(organization_id, integration_id, planner, store)
            if plan is not None:
                return plan

        def sync(connection: Connection[Any]) -> SyncPlan:
            integration = _get(connection, organization_id, integration_id)
            shared = PostgresConnection(connection)
            catalog, integrations = _read_catalog(shared, organization_id)
            plan = planner(integration, catalog.fields, integrations)
            store(connection, plan, PlannedRows.of(plan.changes))
            return plan

        return self._write_locked(organization_id, sync)

    def _sync_unless_changed(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: SyncPlanner,
        store_plan: Callable[[Connection[Any], SyncPlan, PlannedRows], None],
    ) -> SyncPlan | None:
        """Plan without the lock, and store the plan under it.

        Return None, and store nothing, if the integration or the catalog has changed in between.
        """
        integration, (catalog, integrations) = self._transactions.read(
            lambda c: (
                _get(c, organization_id, integration_id),
                _read_catalog(PostgresConnection(c), organization_id),
            ),
            seconds=_SYNC_TIMEOUT,
        )
        plan = planner(integration, catalog.fields, integrations)
        rows = PlannedRows.of(plan.changes)

        def store(connection: Connection[Any]) -> SyncPlan | None:
            if (
                _get(connection, organization_id, integration_id) != integration
                or catalog_revision(PostgresConnection(connection), organization_id)
                != catalog.revision
            ):
                return None
            store_plan(connection, plan, rows)
            return plan

        return self._write_locked(organization_id, store)

    def _store(
        self,
        connection: Connection[Any],
        organization_id: OrganizationId,
        rows: PlannedRows,
        *,
        author: Author,
        at: datetime,
    ) -> None:
        server = self._transactions.server
        rows.store(server, connection, organization_id, author=author, at=at)

    def _write_locked(self, organization_id: OrganizationId, work: Work[T]) -> T:
        return self._transactions.write(
            work, first=lock_catalog(organization_id), seconds=_SYNC_TIMEOUT
        )


def _read_catalog(
    connection: SharedConnection, organization_id: OrganizationId
) -> tuple[Catalog, tuple[Integration, ...]]:
    values = {"organization_id": storable_id(organization_id)}
    rows = connection.all(select_catalog_and_integrations, values)
    if not rows:
        raise OrganizationNotFound
    fields = (row[_FIELD] for row in rows)
    integrations = (row[_INTEGRATION] for row in rows)
    return (
        Catalog(
            organization_id,
            revision=rows[0][0],
            fields=tuple(read_field(each) for each in fields if each[0] is not None),
        ),
        tuple(read_integration(each) for each in integrations if each[0] is not None),
    )


def _get(
    connection: Connection[Any], organization_id: OrganizationId, integration_id: IntegrationId
) -> Integration:
    return get_integration(PostgresConnection(connection), organization_id, integration_id)


def select_catalog_and_integrations(sql: Dialect) -> str:
    """Select the revision of a catalog, its fields, and the integrations of its organization.

    One statement, so that all are of one snapshot and one round trip: each row has a field and an
    integration of the same place. The columns are NULL if there are fewer.
    """
    ours = "WHERE organization_id = :organization_id"
    place = "row_number() OVER (ORDER BY id) AS place"
    return f"""
        SELECT revision, field.*, integration.*
        FROM organizations LEFT JOIN (
            (SELECT {place}, {field_columns(sql)} FROM recipient_fields {ours}) AS field
            FULL JOIN
            (SELECT {place}, {integration_columns(sql)} FROM integrations {ours}) AS integration
            ON field.place = integration.place
        ) ON true
        WHERE organizations.id = :organization_id
        ORDER BY coalesce(field.place, integration.place)
    """
