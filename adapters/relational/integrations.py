"""The integrations in a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from attrs import evolve, frozen

from recipient_fields.application import (
    CatalogPlanner,
    IntegrationCheck,
    IntegrationRepository,
    NamePlanner,
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
    from_epoch_milliseconds,
)
from recipient_fields.domain.esp import (
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    SyncPlan,
)

from ..row_mapping import (
    RowMapping,
    names_document,
    refused_names_document,
    stored_integration,
)
from .catalogs import LockedCatalog
from .changes import PlannedChanges
from .database import (
    CALL_TIMEOUT,
    Connection,
    Database,
    Overtaken,
    Row,
    Values,
    Work,
    lock_catalog,
    optional_instant,
    read_unchanged,
    require_locked,
    storable_id,
)
from .reading import read_catalog
from .statements import SQL

T = TypeVar("T")

_SYNC_TIMEOUT = 60.0
"""Seconds. A run stores thousands of fields, and no request waits for it."""
_PLANS_WITHOUT_LOCK = 3
"""Planning takes longer than storing the plan, and other writers would wait for the lock. If other
changes invalidate this many plans, the next plan is computed under the lock."""


@frozen
class RelationalIntegrationRepository(IntegrationRepository):
    """The integrations in one database.

    A change of an integration locks the catalog of its organization. `sync` can take a minute.
    """

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        _, integrations = self._database.read(lambda c: _read_all(c, organization_id))
        return integrations

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        return read_unchanged(
            self._database, organization_id, lambda c: _read_catalog(c, organization_id)
        )

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        values = {"organization_id": storable_id(organization_id)}
        rows = self._database.read(lambda c: c.all(SQL.count_fields, values))
        if not rows:
            raise OrganizationNotFound
        return {IntegrationId(each): fields for each, fields in rows if each is not None}

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        return self._database.read(lambda c: _get(c, organization_id, integration_id))

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        values = {
            "organization_id": organization_id,
            "esp": draft.esp.value,
            "name": draft.name,
            "created_at": draft.created_at,
        }

        def add(connection: Connection) -> Integration:
            require_locked(connection)
            [(integration_id,)] = connection.all(SQL.insert_integration, values)
            LockedCatalog(connection, organization_id).advance()
            return draft.with_id(IntegrationId(integration_id), organization_id)

        return self._write(organization_id, add)

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        def rename(connection: Connection) -> Integration:
            integration = _get(connection, organization_id, integration_id)
            renamed = integration.renamed(name)
            if renamed != integration:
                values = {**_ids(organization_id, integration_id), "name": renamed.name}
                connection.execute(SQL.rename_integration, values)
                LockedCatalog(connection, organization_id).advance()
            return renamed

        return self._write(organization_id, rename)

    def change_names(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: NamePlanner,
        /,
    ) -> Integration:
        def change(connection: Connection) -> Integration:
            integration = _get(connection, organization_id, integration_id)
            planned = planner(integration, read_catalog(connection, organization_id).fields)
            changed = evolve(integration, names=planned.names)
            if changed != integration:
                _store_names(connection, changed)
                LockedCatalog(connection, organization_id).advance()
            return changed

        return self._write(organization_id, change)

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
        def change(connection: Connection) -> AppliedChanges:
            catalog = LockedCatalog(connection, organization_id)
            applied = catalog.change(plan, author=author, at=at)
            read, stored = _read_catalog(connection, organization_id)
            names = {each.id: each.names for each in stored}
            changed = [each for each in name(stored, read.fields) if each.names != names[each.id]]
            for integration in changed:
                _store_names(connection, integration)
            if changed:
                catalog.advance()
            return applied

        return self._write(organization_id, change)

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
        def delete(connection: Connection) -> tuple[RecipientField, ...]:
            integration = _get(connection, organization_id, integration_id)
            catalog = LockedCatalog(connection, organization_id)
            fields = integration.filter_fields(catalog.all().fields)
            check(fields)
            catalog.store(PlannedChanges.of(CatalogChanges(deleted=fields), author), at=at)
            connection.execute(SQL.delete_integration, _ids(organization_id, integration_id))
            catalog.advance()
            return fields

        return self._write(organization_id, delete)

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
        run = _SyncRun(organization_id, integration_id, planner, author, at)
        for _ in range(_PLANS_WITHOUT_LOCK):
            seen = read_unchanged(self._database, organization_id, run.read, seconds=_SYNC_TIMEOUT)
            store = partial(run.store_unless_changed, run.plan(seen))
            stored = self._write(organization_id, store, seconds=_SYNC_TIMEOUT)
            if stored is not None:
                return stored
        return self._write(
            organization_id, lambda c: run.store(run.plan(run.read(c)), c), seconds=_SYNC_TIMEOUT
        )

    def _write(
        self, organization_id: OrganizationId, work: Work[T], *, seconds: float = CALL_TIMEOUT
    ) -> T:
        return self._database.write(work, lock=lock_catalog(organization_id), seconds=seconds)


@frozen
class _Seen:
    """What the planner of a sync receives, of one revision."""

    integration: Integration
    catalog: Catalog
    integrations: tuple[Integration, ...]


@frozen
class _PlannedSync:
    """The plan of a sync for what was seen, and its changes with their records."""

    seen: _Seen
    plan: SyncPlan
    changes: PlannedChanges


@frozen
class _SyncRun:
    """The steps of one sync."""

    _organization_id: OrganizationId
    _integration_id: IntegrationId
    _planner: SyncPlanner
    _author: Author
    _at: datetime

    def read(self, connection: Connection) -> _Seen:
        integration = _get(connection, self._organization_id, self._integration_id)
        return _Seen(integration, *_read_catalog(connection, self._organization_id))

    def plan(self, seen: _Seen) -> _PlannedSync:
        plan = self._planner(seen.integration, seen.catalog.fields, seen.integrations)
        return _PlannedSync(seen, plan, PlannedChanges.of(plan.changes, self._author))

    def store(self, planned: _PlannedSync, connection: Connection) -> SyncPlan:
        """Store the plan in the locked catalog."""
        catalog = LockedCatalog(connection, self._organization_id)
        catalog.store(planned.changes, at=self._at)
        values = {
            **_ids(self._organization_id, self._integration_id),
            "last_synced_at": planned.plan.integration.last_synced_at,
            "refused_names": refused_names_document(planned.plan.integration),
        }
        connection.execute(SQL.update_last_sync, values)
        if planned.plan.changes_catalog:
            catalog.advance()
        return planned.plan

    def store_unless_changed(
        self, planned: _PlannedSync, connection: Connection
    ) -> SyncPlan | None:
        """Store the plan, or nothing if the integration or the catalog has changed meanwhile."""
        seen = planned.seen
        integration = _get(connection, self._organization_id, self._integration_id)
        revision = LockedCatalog(connection, self._organization_id).counters.revision
        if integration != seen.integration or revision != seen.catalog.revision:
            return None
        return self.store(planned, connection)


def _read_catalog(
    connection: Connection, organization_id: OrganizationId
) -> tuple[Catalog, tuple[Integration, ...]]:
    """Return the fields and the integrations of one revision. Raises: Overtaken."""
    catalog = read_catalog(connection, organization_id)
    revision, integrations = _read_all(connection, organization_id)
    if revision != catalog.revision:
        raise Overtaken(f"organizations {organization_id}")
    return catalog, integrations


def _read_all(
    connection: Connection, organization_id: OrganizationId
) -> tuple[int, tuple[Integration, ...]]:
    """Return the revision of the catalog, and the organization's integrations by ascending id."""
    values = {"organization_id": storable_id(organization_id)}
    rows = connection.all(SQL.select_integrations, values)
    if not rows:
        raise OrganizationNotFound
    return rows[0][0], tuple(read_integration(row[1:]) for row in rows if row[1] is not None)


def _get(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> Integration:
    row = connection.one(SQL.select_integration, _ids(organization_id, integration_id))
    if row is None:
        raise IntegrationNotFound
    return read_integration(row)


def _store_names(connection: Connection, integration: Integration) -> None:
    ids = _ids(integration.organization_id, integration.id)
    connection.execute(SQL.update_names, {**ids, "names": names_document(integration)})


def _ids(organization_id: OrganizationId, integration_id: IntegrationId) -> Values:
    return {"id": storable_id(integration_id), "organization_id": storable_id(organization_id)}


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
