"""The shapes of successful answers."""

from __future__ import annotations

import falcon

from recipient_fields.domain import Catalog, RecipientField

from ..rendering import render_catalog, render_field, to_json
from .gate import precondition
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


def answer_catalog(req: falcon.Request, resp: falcon.Response, catalog: Catalog) -> None:
    """200 with every field, or 304 where the reader already has them."""
    _tag(resp, catalog.version_tag)
    resp.set_header("Total-Count", str(len(catalog.fields)))
    if precondition(req).excludes(catalog.version_tag):
        resp.status = falcon.HTTP_304
        return
    resp.data = to_json(render_catalog(catalog))


def _tag(resp: falcon.Response, version_tag: str) -> None:
    resp.set_header("ETag", entity_tag(version_tag))
