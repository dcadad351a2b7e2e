"""The responses with fields, and their examples in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping

import falcon

from recipient_fields.application import PublishedCatalog
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.batch_documents import (
    render_batch_results,
    render_minimal_results,
)
from recipient_fields.application.fields.documents import render_field, render_fields
from recipient_fields.domain import (
    FIELD_MEMBERS,
    FieldPage,
    FieldQuery,
    RecipientField,
    RecordedOperation,
    Source,
)

from ..headers import MINIMAL
from ..request_context import mount_path, parameters
from ..resource import EXAMPLE_REQUEST_ID
from ..responses import ReadResponse, digest_response, send
from .history import RenderedPage, next_history_page
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


def example_field(**members: object) -> dict[str, object]:
    """Return a field as in a response, with these members and typical other ones."""
    field: dict[str, object] = {
        **{each.name: each.default for each in FIELD_MEMBERS},
        "id": 4,
        "data_type": "text",
        "source": Source.API.value,
        "created_at": "2026-11-20T09:15:00.123Z",
        "updated_at": "2026-11-20T09:15:00.123Z",
    }
    return {"recipient_field": {**field, **members}}


def example_body(**members: object) -> dict[str, object]:
    """Return a request body with these members of a field."""
    return {"recipient_field": members}


SHOE_SIZE: dict[str, object] = {
    "name": "Shoe size",
    "data_type": "number",
    "allowed_values": [38, 39.5, 41],
}
BIRTHDAY: dict[str, object] = {
    "name": "Birthday",
    "key": "date_of_birth",
    "data_type": "date",
    "insertable": False,
    "custom_insertion_code": "%%=v(@birthday)=%%",
    "custom_value_expression": "@birthday",
}
RENAMED: dict[str, object] = {
    "name": "Loyalty level",
    "allowed_values": ["platinum", "gold", "silver"],
}
NEWSLETTER: dict[str, object] = {"name": "Newsletter", "data_type": "boolean"}
TIER = example_field(
    id=1, name="Loyalty tier", key="loyalty_tier", allowed_values=["gold", "silver", "bronze"]
)
RENAMED_TIER = example_field(id=1, key="loyalty_tier", **RENAMED)
SHOP = example_field(id=2, name="Preferred shop", key="preferred_shop", source=Source.MANUAL.value)
FIRST_NAME = example_field(
    id=3,
    name="First name",
    key="first_name",
    source=Source.INTEGRATION.value,
    integration_id=1,
    esp_field_name="FNAME",
)
CHANGE: dict[str, object] = {
    "sequence": 4,
    "occurred_at": "2026-11-20T09:15:00.126Z",
    "operation": RecordedOperation.UPDATED.value,
    "actor": {"channel": Source.API.value, "id": 1, "name": "rfk_0123…AuoE"},
    "request_id": EXAMPLE_REQUEST_ID,
    "field_id": 1,
    "key": "loyalty_tier",
    "before": TIER["recipient_field"],
    "after": example_field(
        id=1, key="loyalty_tier", updated_at="2026-11-20T09:15:00.124Z", **RENAMED
    )["recipient_field"],
}
