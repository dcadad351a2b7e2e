"""Fields as JSON documents."""

from __future__ import annotations

import json

from attrs import frozen

from recipient_fields.domain import (
    Catalog,
    OrganizationId,
    catalog_version_tag,
)

from .documents import render_field

__all__ = ["PublishedCatalog", "published"]


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


def published(catalog: Catalog) -> PublishedCatalog:
    """Return the catalog as JSON.

    A storage that can read the documents directly from its rows need not call this function.
    """
    documents = [render_field(field) for field in catalog.fields]
    return PublishedCatalog(
        catalog.organization_id,
        catalog.revision,
        len(documents),
        json.dumps(documents, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
    )
