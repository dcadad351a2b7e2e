"""Catalogs and pages of the history as JSON."""

from __future__ import annotations

import json

from recipient_fields.domain import Catalog, HistoryPage

from ..ports.fields import PublishedCatalog, PublishedHistoryPage
from .documents import render_field, render_record

__all__ = ["published", "published_page"]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def published(catalog: Catalog) -> PublishedCatalog:
    """Return the catalog as JSON.

    A storage that can read the documents directly from its rows need not call this function.
    """
    documents = [render_field(field) for field in catalog.fields]
    return PublishedCatalog(
        catalog.organization_id,
        catalog.revision,
        len(documents),
        _encode(documents),
    )


def published_page(page: HistoryPage) -> PublishedHistoryPage:
    """Return the page of the history as JSON.

    A storage that can read the documents directly from its rows need not call this function.
    """
    records = {each.sequence: _encode(render_record(each)) for each in page.records}
    return PublishedHistoryPage(records, page.next)
