"""The shapes of successful answers."""

from __future__ import annotations

from collections.abc import Mapping

import falcon
from attrs import Factory, frozen

from recipient_fields.application import PublishedCatalog, field_document
from recipient_fields.domain import FieldPage, FieldQuery, RecipientField

from ..rendering import render_fields, to_json
from .list_parameters import next_page
from .mount import mount_path
from .problems import entity_tag
from .request_guard import READS, parameters, precondition


@frozen
class Answer:
    """What is answered to a read, whoever asks and however often."""

    version_tag: str
    body: bytes
    headers: Mapping[str, str] = Factory(dict)


def field_answer(field: RecipientField) -> Answer:
    """The field."""
    return Answer(field.version_tag, to_json({"recipient_field": field_document(field)}))


def catalog_answer(catalog: PublishedCatalog) -> Answer:
    """All fields of the organization."""
    body = f'{{"recipient_fields":{catalog.documents}}}'.encode()
    return Answer(catalog.version_tag, body, {"Total-Count": str(catalog.total)})


def page_answer(req: falcon.Request, query: FieldQuery, page: FieldPage) -> Answer:
    """The fields of the page, how many there are on all pages, and where the next one is."""
    headers = {"Total-Count": str(page.total)}
    rest = next_page(parameters(req), query, page)
    if rest is not None:
        headers["Link"] = f'<{mount_path(req)}{req.path}?{rest}>; rel="next"'
    return Answer(page.version_tag, to_json(render_fields(page.fields)), headers)


def give(req: falcon.Request, resp: falcon.Response, answer: Answer) -> None:
    """200 with the answer, or 304 where the reader already has it."""
    resp.set_header("ETag", entity_tag(answer.version_tag))
    resp.set_headers(answer.headers)
    if req.method in READS and precondition(req).excludes(answer.version_tag):
        resp.status = falcon.HTTP_304
        return
    resp.data = answer.body


def give_created(req: falcon.Request, resp: falcon.Response, field: RecipientField) -> None:
    """201 with the field and where it is."""
    give(req, resp, field_answer(field))
    resp.status = falcon.HTTP_201
    resp.set_header("Location", f"{mount_path(req)}/api/v1/recipient_fields/{field.id}")
