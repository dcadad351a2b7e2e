"""The integrations in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from threading import RLock

from attrs import evolve

from recipient_fields.application import (
    CatalogPlanner,
    IntegrationCheck,
    IntegrationRepository,
    NamePlanner,
    NamesPlanner,
    Records,
    SyncPlanner,
)
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    IntegrationId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.integrations import (
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    NamesQuery,
    SyncPlan,
)

from .fields import MemoryFieldRepository
from .records import Ids, Organizations


class MemoryIntegrationRepository(IntegrationRepository):
    """The integrations in memory, by ascending id."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._ids = Ids()
        self._integrations: dict[IntegrationId, Integration] = {}

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        with self._lock:
            self._organizations.get(organization_id)
            integrations = self._integrations.values()
            return tuple(each for each in integrations if each.organization_id == organization_id)

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        with self._lock:
            return self._fields.all(organization_id), self.all(organization_id)

    def select(
        self, organization_id: OrganizationId, query: NamesQuery, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        return query.select(*self.read_catalog(organization_id))

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        fields = self._fields.all(organization_id).fields
        ids = (field.origin.integration_id for field in fields)
        return Counter(each for each in ids if each is not None)

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        with self._lock:
            integration = self._integrations.get(integration_id)
        if integration is None or integration.organization_id != organization_id:
            raise IntegrationNotFound
        return integration

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        with self._lock:
            self._organizations.get(organization_id)
            integration = draft.with_id(IntegrationId(self._ids.assign()), organization_id)
            self._integrations[integration.id] = integration
            self._advance(organization_id)
            return integration

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        with self._lock:
            integration = self.get(organization_id, integration_id)
            return self._replace(integration, integration.renamed(name))

    def change_names(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: NamePlanner,
        /,
    ) -> Integration:
        with self._lock:
            integration = self.get(organization_id, integration_id)
            planned = planner(integration, self._fields.all(organization_id).fields)
            return self._replace(integration, evolve(integration, names=planned.names))

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
        with self._lock:
            stored = {each.id: each for each in self.all(organization_id)}
            changes = plan(self._fields.view(organization_id))
            applied = self._fields.with_ids(organization_id, changes)
            fields = applied.apply_to(self._fields.all(organization_id).fields)
            named = name(tuple(stored.values()), fields)
            names = [(stored[each.id], each.names) for each in named]  # This may still raise.
            self._fields.store_applied(organization_id, applied, author=author, at=at)
            for integration, changed in names:
                self._replace(integration, evolve(integration, names=changed))
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
        with self._lock:
            integration = self.get(organization_id, integration_id)
            fields = integration.filter_fields(self._fields.all(organization_id).fields)
            check(fields)
            changes = CatalogChanges.of(deleted=fields)
            self._fields.store(organization_id, changes, author=author, at=at)
            del self._integrations[integration_id]
            self._advance(organization_id)
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
        with self._lock:
            integration = self.get(organization_id, integration_id)
            fields = self._fields.all(organization_id).fields
            plan = planner(integration, fields, self.all(organization_id))
            self._fields.store(organization_id, plan.changes, author=author, at=at)
            synced = plan.integration
            self._integrations[integration_id] = evolve(
                integration,
                last_synced_at=synced.last_synced_at,
                refused_names=synced.refused_names,
            )
            if plan.changes_catalog:
                self._advance(organization_id)
            return plan

    def delete_all(self, organization_id: OrganizationId) -> None:
        """Delete all integrations of the organization."""
        for integration in self.all(organization_id):
            del self._integrations[integration.id]

    def records(self) -> Records[Integration]:
        """Return the integrations of all organizations."""
        return self._ids.records(self._integrations.values())

    def load(self, integrations: Iterable[Integration], last_id: int) -> None:
        """Replace all integrations by these."""
        self._ids.skip_to(last_id)
        self._integrations = {each.id: each for each in sorted(integrations, key=lambda i: i.id)}

    def _replace(self, integration: Integration, changed: Integration) -> Integration:
        """Store and return the changed integration, under the lock."""
        if changed != integration:
            self._integrations[integration.id] = changed
            self._advance(integration.organization_id)
        return changed

    def _advance(self, organization_id: OrganizationId) -> None:
        self._fields.catalog(organization_id).advance()
