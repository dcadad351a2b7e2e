"""The integrations in a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TypeVar

from attrs import asdict, evolve, frozen

from recipient_fields.application import (
    CatalogPlanner,
    IntegrationCheck,
    IntegrationRepository,
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
    OrganizationNotFound,
    RecipientField,
)
from recipient_fields.domain.integrations import (
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    NamesQuery,
    RelatedFields,
    SyncPlan,
)

from ..row_mapping import (
    names_document,
    read_field,
    refused_names_document,
    stored_integration,
)
from .catalogs import LockedCatalog, read_catalog
from .changes import PlannedChanges
from .database import (
    CALL_TIMEOUT,
    Connection,
    Database,
    Overtaken,
    Row,
    Work,
    id_values,
    lock_catalog,
    read_unchanged,
    require_locked,
    with_instants,
)
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
        _, integrations = self._database.read(lambda c: _read_integrations(c, organization_id))
        return integrations

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        return read_unchanged(
            self._database, organization_id, lambda c: _read_catalog(c, organization_id)
        )

    def select(
        self, organization_id: OrganizationId, query: NamesQuery, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        return read_unchanged(
            self._database, organization_id, lambda c: _select(c, organization_id, query)
        )

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        values = id_values(organization_id=organization_id)
        rows = self._database.read(lambda c: c.all(SQL.count_fields, values))
        if not rows:
            raise OrganizationNotFound
        return {IntegrationId(each): fields for each, fields in rows if each is not None}

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        return self._database.read(lambda c: _get(c, organization_id, integration_id))

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        values = {**asdict(draft), "organization_id": organization_id, "esp": str(draft.esp)}

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
            catalog = LockedCatalog(connection, organization_id)
            return _replace(connection, catalog, integration, integration.renamed(name))

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
            catalog = LockedCatalog(connection, organization_id)
            planned = planner(integration, catalog.all().fields)
            changed = evolve(integration, names=planned.names)
            return _replace(connection, catalog, integration, changed)

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
    ) -> CatalogChanges[RecipientField]:
        def change(connection: Connection) -> CatalogChanges[RecipientField]:
            catalog = LockedCatalog(connection, organization_id)
            applied = catalog.change(plan, author=author, at=at)
            read, integrations = _read_catalog(connection, organization_id)
            stored = {each.id: each for each in integrations}
            for named in name(integrations, read.fields):
                integration = stored[named.id]
                _replace(connection, catalog, integration, evolve(integration, names=named.names))
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
            catalog.store(PlannedChanges.of(CatalogChanges.of(deleted=fields), author), at=at)
            ids = id_values(organization_id=organization_id, id=integration_id)
            connection.execute(SQL.delete_connection, ids)
            connection.execute(SQL.delete_integration, ids)
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
            planned = read_unchanged(
                self._database, organization_id, run.plan, seconds=_SYNC_TIMEOUT
            )
            store = partial(run.store_unless_changed, planned)
            if self._write(organization_id, store, seconds=_SYNC_TIMEOUT):
                return planned.plan
        return self._write(
            organization_id, lambda c: run.store(run.plan(c), c).plan, seconds=_SYNC_TIMEOUT
        )

    def _write(
        self, organization_id: OrganizationId, work: Work[T], *, seconds: float = CALL_TIMEOUT
    ) -> T:
        return self._database.write(work, lock=lock_catalog(organization_id), seconds=seconds)


@frozen
class _PlannedSync:
    """The plan of a sync for an integration and a revision, and its changes with their records."""

    integration: Integration
    revision: int
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

    def plan(self, connection: Connection) -> _PlannedSync:
        integration = _get(connection, self._organization_id, self._integration_id)
        catalog, integrations = _read_catalog(connection, self._organization_id)
        plan = self._planner(integration, catalog.fields, integrations)
        changes = PlannedChanges.of(plan.changes, self._author)
        return _PlannedSync(integration, catalog.revision, plan, changes)

    def store(self, planned: _PlannedSync, connection: Connection) -> _PlannedSync:
        """Store the plan in the locked catalog."""
        catalog, synced = LockedCatalog(connection, self._organization_id), planned.plan.integration
        catalog.store(planned.changes, at=self._at)
        values = {
            **id_values(organization_id=self._organization_id, id=self._integration_id),
            "last_synced_at": synced.last_synced_at,
            "refused_names": refused_names_document(synced),
        }
        connection.execute(SQL.update_last_sync, values)
        if planned.plan.changes_catalog:
            catalog.advance()
        return planned

    def store_unless_changed(self, planned: _PlannedSync, connection: Connection) -> bool:
        """Store the plan and return True, unless the integration or the catalog has changed."""
        integration = _get(connection, self._organization_id, self._integration_id)
        revision = LockedCatalog(connection, self._organization_id).counters.revision
        if integration != planned.integration or revision != planned.revision:
            return False
        self.store(planned, connection)
        return True


def _read_catalog(
    connection: Connection, organization_id: OrganizationId
) -> tuple[Catalog, tuple[Integration, ...]]:
    """Return the fields and the integrations of one revision. Raises: Overtaken."""
    catalog = read_catalog(connection, organization_id)
    revision, integrations = _read_integrations(connection, organization_id)
    if revision != catalog.revision:
        raise Overtaken(f"organizations {organization_id}")
    return catalog, integrations


def _read_integrations(
    connection: Connection, organization_id: OrganizationId, query: NamesQuery | None = None
) -> tuple[int, tuple[Integration, ...]]:
    """Return the revision of the catalog, and the integrations of the query by ascending id.

    Without a query, they are all integrations.
    """
    values = {
        **id_values(organization_id=organization_id),
        "every": query is None or query.targets is None,
        "integration_ids": [*query.integration_ids] if query else [],
        "esps": [*map(str, query.esps)] if query else [],
    }
    rows = connection.all(SQL.select_integrations, values)
    if not rows:
        raise OrganizationNotFound
    return rows[0][0], tuple(read_integration(row[1:]) for row in rows if row[1] is not None)


def _select(
    connection: Connection, organization_id: OrganizationId, query: NamesQuery
) -> tuple[Catalog, tuple[Integration, ...]]:
    """Return what the query selects, of one revision. Raises: Overtaken."""
    revision, integrations = _read_integrations(connection, organization_id, query)
    ids = id_values(organization_id=organization_id)
    named = {**ids, "field_ids": [*query.field_ids], "keys": [*query.keys]}
    fields = [*map(read_field, connection.all(SQL.select_named_fields, named))]
    related = RelatedFields.of(fields, integrations, query.profiles)
    sets = {name: [*values] for name, values in asdict(related).items()}
    rows = connection.all(SQL.select_related_fields, {**ids, **sets})
    if not rows or rows[0][0] != revision:
        raise Overtaken(f"organizations {organization_id}")
    fields += (read_field(row[1:]) for row in rows if row[1] is not None)
    by_id = {each.id: each for each in fields}
    catalog = Catalog(organization_id, revision, tuple(by_id[each] for each in sorted(by_id)))
    return query.select(catalog, integrations)


def _get(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> Integration:
    ids = id_values(organization_id=organization_id, id=integration_id)
    row = connection.one(SQL.select_integration, ids)
    if row is None:
        raise IntegrationNotFound
    return read_integration(row)


def _replace(
    connection: Connection, catalog: LockedCatalog, integration: Integration, changed: Integration
) -> Integration:
    """Store and return the integration with another name, or other names of fields."""
    if changed != integration:
        ids = id_values(organization_id=changed.organization_id, id=changed.id)
        values = {**ids, "name": changed.name, "names": names_document(changed)}
        connection.execute(SQL.update_integration, values)
        catalog.advance()
    return changed


def read_integration(row: Row) -> Integration:
    """Return the integration in a row of `integration_columns`."""
    return stored_integration(*with_instants("integrations", row, 4, 5))
