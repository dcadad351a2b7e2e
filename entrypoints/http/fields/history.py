"""The parameters and the pages of the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode

from attrs import evolve, frozen

from recipient_fields.application import PublishedHistoryPage
from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import MAX_SAFE_INTEGER, BeforeHistory, HistoryQuery, RecordedOperation

from ..heavy_requests import HEAVY_SIZE, HeavyRequest
from ..parameters import (
    Parameter,
    alternatives,
    key_filter,
    one_of,
    page_size,
    parse_members,
    source_filter,
)
from ..resource import MEBIBYTE


def parse_history_query(parameters: Mapping[str, str]) -> HistoryQuery:
    """Return the query that the parameters describe.

    Raises: RequestRejected as `invalid_parameter` if a value is invalid.
    """
    return HistoryQuery(**parse_members(parameters, HISTORY_PARAMETERS))


def next_history_page(parameters: Mapping[str, str], after: int | None) -> str | None:
    """Return the query string of the next page, or None after the last page."""
    return None if after is None else urlencode({**parameters, "after": after})


def _after(text: str) -> Mapping[str, object]:
    if not (text == "0" or is_id(text)) or int(text) > MAX_SAFE_INTEGER:
        raise ValueError(text)
    return {"after": int(text)}


FIELD_HISTORY_PARAMETERS: Mapping[str, Parameter] = {
    "source": source_filter("Only changes of fields of this source."),
    "operation": alternatives(
        "operations",
        RecordedOperation,
        f"use {one_of(RecordedOperation)}",
        description="Only these operations.",
        schema=RecordedOperation,
    ),
    "after": Parameter(
        description="Only records with a greater sequence number. If such records were removed, the"
        " response is 404 `before_history`. The default is all that are left.",
        schema={"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER},
        parse=_after,
        rule="use `0` or the sequence number of a record, such as `17`.",
    ),
    "limit": page_size("The number of records per page. The default is 100."),
}
"""The query parameters of the history of one field, by name."""
HISTORY_PARAMETERS: Mapping[str, Parameter] = {
    "key": key_filter("Only changes of fields with this key."),
    **FIELD_HISTORY_PARAMETERS,
}
"""The query parameters of the history of all fields, by name."""


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
