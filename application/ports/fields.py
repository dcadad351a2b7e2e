"""The ports for fields and the history of their changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from attrs import frozen

from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldPage,
    FieldQuery,
    FieldReference,
    HistoryPage,
    HistoryQuery,
    HistorySize,
    OrganizationId,
    RecipientField,
    catalog_version_tag,
)

__all__ = [
    "CatalogPlanner",
    "FieldCreator",
    "FieldRepository",
    "HistoryRepository",
    "PublishedCatalog",
    "PublishedHistoryPage",
]

CatalogPlanner: TypeAlias = Callable[[CatalogView], CatalogChanges[FieldDefinition]]
"""Return the changes to a catalog. It has no side effects: a storage may call it several times."""


@frozen
class PublishedCatalog:
    """A catalog as JSON.

    `documents` is the JSON array of the fields by ascending id, each as `render_field` returns
    it. `total` is their number.
    """

    organization_id: OrganizationId
    revision: int
    total: int
    documents: str

    @property
    def version_tag(self) -> str:
        """The entity tag of this revision of the catalog, as `Catalog.version_tag` returns it."""
        return catalog_version_tag(self.organization_id, self.revision)


class FieldRepository(Protocol):
    """The fields of all organizations.

    A reference is the id or the key of a field. For each organization, the fields of other
    organizations do not exist. Every change to a field increases the revision of its organization's
    catalog by at least one. A method that raises or changes nothing keeps the revision.

    If the storage has a history, every change to a field is recorded in it, with its author, in the
    same transaction.
    """

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        """Return the organization's fields by ascending id, and the revision of the catalog.

        One transaction reads both.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        """Return the catalog as JSON: equal to `published(self.all(organization_id))`.

        It is a separate method because a storage can read the documents directly from its rows, at
        a fraction of the cost.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        """Return the page of fields that the query selects, of one revision of the catalog.

        It is equal to `query.select(self.all(organization_id))`.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        """Return the field.

        Raises: FieldNotFound if the organization has no such field, or does not exist.
        """

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        """Store the changes that `plan` returns, and return them with the ids of the new fields.

        `plan` receives a view of the catalog, which does not change between the last call of `plan`
        and the commit. `plan` decides everything: the storage checks no rule. If it raises, nothing
        is stored and the exception is raised. It must return changes that fit the catalog: deleted
        fields and fields before their update are those of the catalog, restored fields have ids of
        deleted fields, and all keys are unique afterwards.

        Fields are deleted before others are stored, so that their keys are free. Created fields get
        ids in the order of the changes; each id is greater than any that the storage has assigned
        to a field before. `at` is the time of the change.
        Raises: OrganizationNotFound if the organization does not exist and `plan` returns any
        change.
        """


@runtime_checkable
class FieldCreator(Protocol):
    """A FieldRepository that can create a field faster than with `change`."""

    def create(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
        size_limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        """Store a new field, and return it.

        It has the same effect and raises the same errors as `change` with `plan_creation` at the
        time `created_at`.
        """


@frozen
class PublishedHistoryPage:
    """A page of an organization's history as JSON.

    `records` contains the JSON object of each record by its sequence, in the order of the page.
    `next` is that of the HistoryPage.
    """

    records: Mapping[int, str]
    next: int | None


class HistoryRepository(Protocol):
    """The histories of all organizations: one record for each change of a field.

    For each organization, the records of other organizations do not exist. Only `prune`,
    `prune_to_size` and the deletion of the organization remove records. Pruning removes the oldest
    ones first, so the records that are left have consecutive numbers up to the last one.

    The sequence numbers of an organization's records are 1, 2, 3 and so on, without gaps, in the
    order of the commits. The records of one transaction have consecutive numbers in the order of
    `CatalogChanges.changes`. A reader that continues after the last number that it has seen
    therefore reads no record twice, and misses none unless `select` raises BeforeHistory. A storage
    must assign the numbers while it locks the organization's catalog until the commit. The numbers
    of a database sequence would not be enough: a transaction could take a number, and commit after
    another one with a greater number.

    The records of one transaction have the same `occurred_at`: that of `CatalogChanges.recorded_at`
    for the argument `at` of the change, or 1 ms after the previous transaction of the organization
    if that is later.
    """

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        """Return the page of records that the query selects.

        It is equal to `query.select` with all records of the organization and the number of removed
        ones.
        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory as
        `HistoryQuery.require_recorded` does.
        """

    def publish(
        self, organization_id: OrganizationId, query: HistoryQuery, /
    ) -> PublishedHistoryPage:
        """Return the page as JSON: equal to `published_page(self.select(organization_id, query))`.

        It is a separate method because a storage can pass the stored documents through, without
        the cost of objects.
        Raises: the errors of `select`.
        """

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        """Return the catalog as it was at this time, after all changes that occurred until then.

        It contains the fields that `undo` returns for the later records. Its revision is the
        `occurred_at` of the last record until then, in milliseconds since 1970. One transaction
        reads the fields and the records.
        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory if it has no
        record that occurred until then.
        """

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        """Return the page of fields that the query selects, as they were at this time.

        It is equal to `query.select(self.catalog_at(organization_id, at))`. It is a separate method
        because a storage can read the large members of the fields on the page only.
        Raises: the errors of `catalog_at`.
        """

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        """Delete the records that occurred before this time, and return their number.

        A storage may use several transactions, with the oldest records first.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def size(self, organization_id: OrganizationId, /) -> HistorySize:
        """Return the size of the history.

        A storage maintains it with each change, so that this does not read the records. It may
        count records that another version has stored, once.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        """Delete the oldest records until the history has at most `max_bytes`.

        Return their number. A storage may use several transactions. It deletes no more records than
        necessary, except that it may treat the records of one transaction of a change as one unit;
        also if several processes call this at the same time.
        Raises: OrganizationNotFound if the organization does not exist.
        """
