"""The fields in memory."""

from __future__ import annotations

from datetime import datetime
from threading import RLock

from attrs import define

from recipient_fields.application import (
    CatalogPlanner,
    FieldRepository,
    PublishedCatalog,
    published,
)
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    OrganizationId,
    RecipientField,
)

from .catalogs import Catalogs


@define(slots=False, eq=False)
class MemoryFieldRepository(FieldRepository):
    """The fields in memory."""

    _lock: RLock
    _catalogs: Catalogs

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        with self._lock:
            return self._catalogs.get(organization_id).all()

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        return published(self.all(organization_id))

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        return query.select(self.all(organization_id))

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        with self._lock:
            field = self._catalogs.view(organization_id).find(reference)
        if field is None:
            raise FieldNotFound
        return field

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        with self._lock:
            changes = plan(self._catalogs.view(organization_id))
            if not changes.changes:
                return changes.with_ids(())
            return self._catalogs.get(organization_id).store(changes, author=author, at=at)
