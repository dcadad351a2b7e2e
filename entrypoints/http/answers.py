"""The shapes of successful answers."""

from __future__ import annotations

import falcon

from recipient_fields.domain import FieldPage, FieldQuery, RecipientField

from ..rendering import render_field, render_fields, to_json
from .gate import parameters, precondition
from .list_parameters import next_page
from .problems import entity_tag


def answer_field(req: falcon.Request, resp: falcon.Response, field: RecipientField) -> None:
    """200 with the field, or 304 where a reader already has it."""
    _tag(resp, field.version_tag)
    if req.method in {"GET", "HEAD"} and precondition(req).excludes(field.version_tag):
        resp.status = falcon.HTTP_304
        return
    resp.data = to_json({"recipient_field": render_field(field)})


def answer_created(req: falcon.Request, resp: falcon.Response, field: RecipientField) -> None:
    """201 with the field and where it is."""
    _tag(resp, field.version_tag)
    resp.status = falcon.HTTP_201
    resp.set_header("Location", f"{req.root_path}/api/v1/recipient_fields/{field.id}")
    resp.data = to_json({"recipient_field": render_field(field)})


def answer_page(
    req: falcon.Request, resp: falcon.Response, query: FieldQuery, page: FieldPage
) -> None:
    """200 with the fields of the page, or 304 where the reader already has them."""
    _tag(resp, page.version_tag)
    resp.set_header("Total-Count", str(page.total))
    rest = next_page(parameters(req), query, page)
    if rest is not None:
        resp.set_header("Link", f'<{req.root_path}{req.path}?{rest}>; rel="next"')
    if precondition(req).excludes(page.version_tag):
        resp.status = falcon.HTTP_304
        return
    resp.data = to_json(render_fields(page.fields))


def _tag(resp: falcon.Response, version_tag: str) -> None:
    resp.set_header("ETag", entity_tag(version_tag))
