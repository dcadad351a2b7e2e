"""Pages of the history, which are read and rendered in parts because records can be large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import evolve, frozen

from recipient_fields.application import PublishedHistoryPage
from recipient_fields.domain import BeforeHistory, HistoryQuery

from ..heavy_requests import HEAVY_SIZE, HeavyRequest
from ..resource import MEBIBYTE

MAX_PAGE_SIZE: Final = 8 * MEBIBYTE
"""A page ends before it has more bytes, unless its first record has more."""
_PART: Final = 100
"""The number of records that are read at once: the default limit of a page."""


@frozen
class RenderedPage:
    """The body of a response with records, and `after` of the next page, or None if it is last."""

    body: bytes
    next: int | None


def read_page(
    read: Callable[[HistoryQuery], PublishedHistoryPage], query: HistoryQuery, request: HeavyRequest
) -> RenderedPage:
    """Return the page of the query, or its beginning if it would be too large.

    The size of a page is known only from its records. So `read` is called for 100 records at a
    time, and the request takes a slot as soon as the rendered records are large, unless it has one.

    Raises: RequestRejected as `overloaded` if no slot is free; the errors of `read`.
    """
    records: list[bytes] = []
    size, after = 0, query.after
    while True:
        try:
            part = read(evolve(query, limit=min(_PART, query.limit - len(records)), after=after))
        except BeforeHistory:  # Records were removed meanwhile: the next page reports that.
            if not records:
                raise
            return _page(records, after)
        for sequence, record in part.records.items():
            rendered = record.encode()
            size += len(rendered) + 1
            if size > MAX_PAGE_SIZE and records:
                return _page(records, after)
            request.require_slot_above(HEAVY_SIZE, [size])
            records.append(rendered)
            after = sequence
        if part.next is None or len(records) == query.limit:
            return _page(records, part.next)


def _page(records: list[bytes], after: int | None) -> RenderedPage:
    return RenderedPage(b'{"recipient_field_changes":[%b]}' % b",".join(records), after)
