"""The resources of the history: their parameters, and pages of a limited size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final
from urllib.parse import urlencode

from attrs import evolve, frozen
from falcon import Request, Response

from recipient_fields.application import PublishedHistoryPage, RecipientFieldService
from recipient_fields.application.fields.documents import HistoryRecordListDocument
from recipient_fields.application.fields.texts import is_id, parse_reference
from recipient_fields.domain import MAX_SAFE_INTEGER, BeforeHistory, HistoryQuery, RecordedOperation

from ..heavy_requests import HEAVY_SIZE, HeavyRequest, HeavyRequests
from ..requests import credential, parameters, parse_members
from ..resource import (
    MEBIBYTE,
    Parameter,
    PathParameter,
    Resource,
    Result,
    Tag,
    alternatives,
    key_filter,
    one_of,
    operation,
    page_size,
    source_filter,
)
from ..responses import digest_response, send
from .examples import CHANGE
from .resources import ID_OR_KEY, link_to_next


def _after(text: str) -> Mapping[str, object]:
    if not (text == "0" or is_id(text)) or int(text) > MAX_SAFE_INTEGER:
        raise ValueError(text)
    return {"after": int(text)}


FIELD_HISTORY_PARAMETERS: Mapping[str, Parameter] = {
    "source": source_filter("Only changes of fields of this source."),
    "operation": alternatives(
        "operations",
        RecordedOperation,
        f"use {one_of(each.value for each in RecordedOperation)}",
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


def _send_page(
    req: Request,
    resp: Response,
    read: Callable[[HistoryQuery], PublishedHistoryPage],
    heavy: HeavyRequests,
) -> None:
    """Send the page that the parameters of the request describe, and the link to the next page."""
    query = HistoryQuery(**parse_members(parameters(req), HISTORY_PARAMETERS))
    with heavy.reading_unknown_size(credential(req).organization_id) as request:
        page = read_page(read, query, request)
    after = None if page.next is None else urlencode({**parameters(req), "after": page.next})
    send(req, resp, digest_response(page.body, link_to_next(req, after)))


_HISTORY_TAG = Tag("History", "The changes of these fields.")


def _records(**examples: object) -> Result:
    return Result(
        description="The records, by ascending sequence number.",
        document=HistoryRecordListDocument,
        headers=("Link",),
        examples=examples,
    )


@frozen
class History(Resource):
    """`/api/v1/recipient_field_changes`."""

    parameters: ClassVar[Mapping[str, Parameter]] = HISTORY_PARAMETERS

    service: RecipientFieldService
    heavy: HeavyRequests

    @operation(
        "list_recipient_field_changes",
        _HISTORY_TAG,
        _records(renamed={"recipient_field_changes": [CHANGE]}),
        is_conditional=True,
        errors=(BeforeHistory,),
    )
    def on_get(self, req: Request, resp: Response) -> None:
        """List the changes of all fields.

        `Link` contains the next page. To follow the changes, continue with `after` and the last
        sequence number: this misses no record and returns none twice.
        """
        read = partial(self.service.publish_changes, credential(req).organization_id)
        _send_page(req, resp, read, self.heavy)


@frozen
class FieldHistory(Resource):
    """`/api/v1/recipient_fields/{id_or_key}/changes`."""

    path_parameters: ClassVar[Mapping[str, PathParameter]] = {"id_or_key": ID_OR_KEY}
    parameters: ClassVar[Mapping[str, Parameter]] = FIELD_HISTORY_PARAMETERS

    service: RecipientFieldService
    heavy: HeavyRequests

    @operation(
        "list_changes_of_recipient_field",
        _HISTORY_TAG,
        _records(),
        is_conditional=True,
        errors=(BeforeHistory,),
    )
    def on_get(self, req: Request, resp: Response, id_or_key: str) -> None:
        """List the changes of a field.

        The changes of the field with this id, or of all fields that have had this key.
        """
        organization_id, reference = credential(req).organization_id, parse_reference(id_or_key)
        read = partial(self.service.publish_changes, organization_id, reference=reference)
        _send_page(req, resp, read, self.heavy)
