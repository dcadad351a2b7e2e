"""The successful responses with fields and with their history."""

from __future__ import annotations

from collections.abc import Mapping

import falcon

from recipient_fields.application import PublishedCatalog
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.batch_documents import (
    render_batch_results,
    render_minimal_results,
)
from recipient_fields.application.fields.documents import (
    render_field,
    render_fields,
)
from recipient_fields.domain import FieldPage, FieldQuery, RecipientField

from ..headers import MINIMAL
from ..request_context import mount_path, parameters
from ..responses import ReadResponse, digest_response, send
from .history_pages import RenderedPage
from .history_parameters import next_history_page
from .list_parameters import next_page


def field_response(field: RecipientField) -> ReadResponse:
    """Return the response with this field."""
    return ReadResponse(field.version_tag, render_json({"recipient_field": render_field(field)}))


def catalog_response(catalog: PublishedCatalog) -> ReadResponse:
    """Return the response with all fields of the organization."""
    body = f'{{"recipient_fields":{catalog.documents}}}'.encode()
    return ReadResponse(catalog.version_tag, body, {"Total-Count": str(catalog.total)})


def page_response(req: falcon.Request, query: FieldQuery, page: FieldPage) -> ReadResponse:
    """Return the response with one page of fields, the total, and the link to the next page."""
    headers = {
        "Total-Count": str(page.total),
        **_link(req, next_page(parameters(req), query, page)),
    }
    return ReadResponse(page.version_tag, render_json(render_fields(page.fields)), headers)


def history_response(req: falcon.Request, page: RenderedPage) -> ReadResponse:
    """Return the response with one page of the history, and the link to the next page."""
    link = _link(req, next_history_page(parameters(req), page.next))
    return digest_response(page.body, link)


def send_created(req: falcon.Request, resp: falcon.Response, field: RecipientField) -> None:
    """Send 201 with the field and its location."""
    send(req, resp, field_response(field))
    resp.status = falcon.HTTP_201
    resp.set_header("Location", f"{mount_path(req)}/api/v1/recipient_fields/{field.id}")


def send_results(
    resp: falcon.Response,
    results: tuple[RecipientField | None, ...],
    *,
    is_minimal: bool,
    max_bytes: int,
) -> None:
    """Send the fields of a batch, or only their ids and keys if the response is minimal.

    It is also minimal if the fields would have more than `max_bytes`.
    """
    body = None if is_minimal else render_batch_results(results, max_bytes)
    if body is None:
        body = render_json(render_minimal_results(results))
        resp.set_header("Preference-Applied", MINIMAL)
    resp.data = body


def _link(req: falcon.Request, next_query: str | None) -> Mapping[str, str]:
    """Return the header with the link to the next page, if there is one."""
    if next_query is None:
        return {}
    return {"Link": f'<{mount_path(req)}{req.path}?{next_query}>; rel="next"'}
