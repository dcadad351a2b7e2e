"""The port of fields."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from attrs import frozen

from recipient_fields.domain import (
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldPage,
    FieldQuery,
    FieldReference,
    OrganizationId,
    RecipientField,
    catalog_version_tag,
)

__all__ = ["CatalogPlanner", "FieldCreator", "FieldRepository", "PublishedCatalog"]

CatalogPlanner: TypeAlias = Callable[[CatalogView], CatalogChanges]
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
    ) -> AppliedChanges:
        """Store the changes that `plan` returns, and return them with the created fields.

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
