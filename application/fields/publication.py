"""A catalog as JSON."""

from __future__ import annotations

import json

from recipient_fields.domain import Catalog

from ..ports.fields import PublishedCatalog
from .documents import render_field

__all__ = ["published"]


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
