"""A skeleton of a storage: fields are in a key/value store, the rest is in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, MutableMapping
from datetime import datetime
from functools import partial
from threading import RLock
from time import time_ns
from typing import TypeAlias

from recipient_fields import MemoryStorage
from recipient_fields.adapters.row_mapping import field_values, read_field
from recipient_fields.adapters.storage_errors import unavailable_on
from recipient_fields.application import (
    CatalogPlanner,
    OrganizationRepository,
    PublishedCatalog,
    published,
)
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    OrganizationId,
    RecipientField,
    Source,
)

Store: TypeAlias = MutableMapping[str, str]  # The client of your driver.
# The errors of your driver.
translated = partial(unavailable_on, OSError, technology="Key/value store")


class KeyValueStorage:
    """A Storage without optional groups. Replace `organizations`, too."""

    def __init__(self, store: Store) -> None:
        self.organizations = MemoryStorage().organizations
        self.fields = KeyValueFieldRepository(store, self.organizations)

    def check(self) -> None:
        self.fields.next_id()

    def close(self) -> None:
        pass


class KeyValueFieldRepository:
    """A FieldRepository. One document contains a catalog, so one write is one transaction.

    The skeleton has no history, so it finds no deleted field to restore.
    """

    def __init__(self, store: Store, organizations: OrganizationRepository) -> None:
        self._store, self._organizations, self._lock = store, organizations, RLock()

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        with self._lock:
            organization = self._organizations.get(organization_id)
            return self._read(organization_id, organization.first_revision)

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        return published(self.all(organization_id))

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        return query.select(self.all(organization_id))

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        with self._lock:
            field = self.find(organization_id, reference)
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
            changes = plan(KeyValueView(self, organization_id))
            if not changes.changes:
                return CatalogChanges()
            catalog = self.all(organization_id)
            stored = changes.with_ids(
                self._with_new_id(each, organization_id) for each in changes.created
            )
            self._write(catalog, stored.apply_to(catalog.fields))
            return stored

    def find(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField | None:
        fields = self._read(organization_id).fields
        return next((f for f in fields if reference in (f.id, f.key)), None)

    def next_id(self) -> FieldId:
        with translated():
            return FieldId(int(self._store.get("last id", "0")) + 1)

    def _with_new_id(
        self, definition: FieldDefinition, organization_id: OrganizationId
    ) -> RecipientField:
        assigned = self.next_id()
        with translated():
            self._store["last id"] = str(assigned)
        return definition.with_id(assigned, organization_id)

    def _read(self, organization_id: OrganizationId, first_revision: int = 0) -> Catalog:
        with translated():
            document = self._store.get(f"fields/{organization_id}", f"[{first_revision}]")
        revision, *rows = json.loads(document)
        return Catalog(organization_id, revision, tuple(map(read_field, rows)))

    def _write(self, catalog: Catalog, fields: Iterable[RecipientField]) -> None:
        revision = max(catalog.revision + 1, time_ns() // 1_000_000)
        rows = (list(field_values(field).values()) for field in fields)
        with translated():
            self._store[f"fields/{catalog.organization_id}"] = json.dumps([revision, *rows])


class KeyValueView:
    """The CatalogView of an organization, under the lock."""

    def __init__(self, fields: KeyValueFieldRepository, organization_id: OrganizationId) -> None:
        self._fields, self._organization_id = fields, organization_id

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        return self._fields.find(self._organization_id, reference)

    def count(self, source: Source, /) -> int:
        return sum(field.origin.source is source for field in self.all().fields)

    def fields_size(self) -> int:
        return sum(field.size for field in self.all().fields)

    def next_id(self) -> FieldId:
        return self._fields.next_id()

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        return None  # The skeleton has no history.

    def removed_records(self) -> int:
        return 0

    def all(self) -> Catalog:
        return self._fields.all(self._organization_id)
