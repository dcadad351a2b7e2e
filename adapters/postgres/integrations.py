"""Integrations in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import IntegrationCheck, SyncPlanner
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    IntegrationId,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
)
from recipient_fields.domain.esp import (
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    SyncPlan,
)

from ..row_mapping import stored_integration
from .changes import PlannedRows
from .columns import from_utc, optional_from_utc, optional_milliseconds, storable_id
from .distributed import INSERT_INTEGRATION
from .fields import select_catalog
from .organizations import keep_if_distributed, lock_catalog, select_revision
from .transactions import Transactions, Work

T = TypeVar("T")

COLUMNS = (
    "id, organization_id, esp, name,"
    " created_at AT TIME ZONE 'UTC' AS created_at,"
    " last_synced_at AT TIME ZONE 'UTC' AS last_synced_at"
)
_SELECT_BY_ID = f"""
    SELECT {COLUMNS} FROM integrations WHERE id = %(id)s AND organization_id = %(organization_id)s
"""
_SELECT_ALL = f"""
    SELECT integration.*
    FROM organizations LEFT JOIN (
        SELECT {COLUMNS} FROM integrations WHERE organization_id = %(organization_id)s
    ) AS integration ON true
    WHERE organizations.id = %(organization_id)s ORDER BY integration.id
"""
_COUNT_FIELDS = """
    SELECT integration_id, count(*) FROM recipient_fields
    WHERE organization_id = %(organization_id)s AND integration_id IS NOT NULL
    GROUP BY integration_id
"""
_INSERT = """
    INSERT INTO integrations (organization_id, esp, name, created_at)
    SELECT id, %(esp)s, %(name)s, %(created_at)s
    FROM organizations WHERE id = %(organization_id)s FOR KEY SHARE RETURNING id
"""
_THIS = "WHERE id = %(id)s AND organization_id = %(organization_id)s"
_RENAME = f"UPDATE integrations SET name = %(name)s {_THIS}"
_RECORD_SYNC = f"UPDATE integrations SET last_synced_at = %(last_synced_at)s {_THIS}"
_DELETE = f"DELETE FROM integrations {_THIS}"

_SYNC_TIMEOUT = 60.0
"""Seconds. A run stores thousands of fields, and no request waits for it."""
_PLANS_WITHOUT_LOCK = 3
"""Planning takes longer than storing the plan, and other writers would wait for the lock. If other
changes invalidate this many plans, the next plan is computed under the lock."""


@frozen
class PostgresIntegrationRepository:
    """The integrations of all organizations in one PostgreSQL database.

    Every change of an integration locks the catalog of its organization. `sync` can take a minute.
    """

    _database: Transactions

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        values = {"organization_id": storable_id(organization_id)}
        rows = self._database.read(lambda c: c.execute(_SELECT_ALL, values).fetchall())
        if not rows:
            raise OrganizationNotFound
        return tuple(read_integration(row) for row in rows if row[0] is not None)

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        def count(connection: Connection[Any]) -> Mapping[IntegrationId, int]:
            if select_revision(connection, organization_id) is None:
                raise OrganizationNotFound
            rows = connection.execute(_COUNT_FIELDS, {"organization_id": organization_id})
            return {IntegrationId(integration_id): fields for integration_id, fields in rows}

        return self._database.read(count)

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        return self._database.read(lambda c: _get(c, organization_id, integration_id))

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        values = {
            "organization_id": storable_id(organization_id),
            "esp": draft.esp.value,
            "name": draft.name,
            "created_at": draft.created_at,
        }

        def add(connection: Connection[Any]) -> tuple[Any, ...] | None:
            if not self._database.distributed:
                return connection.execute(_INSERT, values).fetchone()
            if select_revision(connection, organization_id) is None:
                return None
            return connection.execute(INSERT_INTEGRATION, values).fetchone()

        keep = keep_if_distributed(organization_id, distributed=self._database.distributed)
        row = self._database.write(add, first=keep)
        if row is None:
            raise OrganizationNotFound
        return draft.with_id(IntegrationId(row[0]), organization_id)

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        def rename(connection: Connection[Any]) -> Integration:
            renamed = _get(connection, organization_id, integration_id).renamed(name)
            values = {**_bind(organization_id, integration_id), "name": renamed.name}
            connection.execute(_RENAME, values)
            return renamed

        return self._database.write(rename, first=lock_catalog(organization_id))

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
            fields = integration.filter_fields(select_catalog(connection, organization_id).fields)
            check(fields)
            rows = PlannedRows.of(CatalogChanges(deleted=fields))
            self._store(connection, organization_id, rows, author=author, at=at)
            connection.execute(_DELETE, _bind(organization_id, integration_id))
            return fields

        return self._database.write(delete, first=lock_catalog(organization_id))

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
            synced_at = optional_milliseconds(plan.integration.last_synced_at)
            values = {**_bind(organization_id, integration_id), "last_synced_at": synced_at}
            connection.execute(_RECORD_SYNC, values)

        for _ in range(_PLANS_WITHOUT_LOCK):
            plan = self._sync_unless_changed(organization_id, integration_id, planner, store)
            if plan is not None:
                return plan

        def sync(connection: Connection[Any]) -> SyncPlan:
            integration, catalog = _get_with_catalog(connection, organization_id, integration_id)
            plan = planner(integration, catalog.fields)
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
        integration, catalog = self._database.read(
            lambda c: _get_with_catalog(c, organization_id, integration_id), seconds=_SYNC_TIMEOUT
        )
        plan = planner(integration, catalog.fields)
        rows = PlannedRows.of(plan.changes)

        def store(connection: Connection[Any]) -> SyncPlan | None:
            if (
                _get(connection, organization_id, integration_id) != integration
                or select_revision(connection, organization_id) != catalog.revision
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
        distributed = self._database.distributed
        rows.store(connection, organization_id, author=author, at=at, distributed=distributed)

    def _write_locked(self, organization_id: OrganizationId, work: Work[T]) -> T:
        return self._database.write(
            work, first=lock_catalog(organization_id), seconds=_SYNC_TIMEOUT
        )


def _bind(organization_id: OrganizationId, integration_id: IntegrationId) -> Mapping[str, object]:
    return {"id": storable_id(integration_id), "organization_id": storable_id(organization_id)}


def _get_with_catalog(
    connection: Connection[Any], organization_id: OrganizationId, integration_id: IntegrationId
) -> tuple[Integration, Catalog]:
    integration = _get(connection, organization_id, integration_id)
    return integration, select_catalog(connection, organization_id)


def _get(
    connection: Connection[Any], organization_id: OrganizationId, integration_id: IntegrationId
) -> Integration:
    row = connection.execute(_SELECT_BY_ID, _bind(organization_id, integration_id)).fetchone()
    if row is None:
        raise IntegrationNotFound
    return read_integration(row)


def read_integration(row: tuple[Any, ...]) -> Integration:
    """Return the integration in a row of COLUMNS."""
    *plain, created_at, last_synced_at = row
    values: tuple[Any, ...] = (*plain, from_utc(created_at), optional_from_utc(last_synced_at))
    return stored_integration(*values)
