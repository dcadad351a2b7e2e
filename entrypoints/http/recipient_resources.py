"""The resources for the data of recipients. They store nothing and log no value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar

import falcon
from attrs import frozen

from recipient_fields.application import RecipientFieldService
from recipient_fields.application.recipient_documents import parse_recipients
from recipient_fields.application.recipient_schemas import render_json_schema
from recipient_fields.application.strict_json import render_json
from recipient_fields.application.violation_documents import render_violation
from recipient_fields.domain import RecipientSchema

from .bodies import parse_body, read_body
from .heavy_requests import HEAVY_CHECK_SIZE, HeavyRequests
from .media_types import JSON, JSON_SCHEMA, PROBLEM
from .parameters import Parameter, parse_members
from .request_context import credential, parameters
from .resource import Resource
from .response_cache import ResponseCache
from .responses import ReadResponse, in_slot, send

_MAX_SUGGESTIONS = 50
"""Each search for a similar key or value takes up to 10 ms."""
_MAX_VIOLATIONS = 10_000
"""A response with so many violations has up to 4 MiB. Further recipients have one each."""


@frozen
class RecipientSchemaItem(Resource):
    """`/api/v1/recipient_schema`."""

    parameters: ClassVar[Collection[str]] = ("additional",)
    media_types: ClassVar[tuple[str, ...]] = (JSON_SCHEMA, JSON, PROBLEM)

    service: RecipientFieldService
    cache: ResponseCache
    heavy: HeavyRequests

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the JSON Schema of the recipients of the organization."""

        def render() -> ReadResponse:
            catalog = self.service.list_fields(credential(req).organization_id)
            schema = RecipientSchema.of(catalog.fields, additional=additional)
            return ReadResponse(catalog.version_tag, render_json(render_json_schema(schema)))

        additional = parse_members(parameters(req), _PARAMETERS).get("additional", False)
        create = in_slot(self.heavy, credential(req), render)
        send(req, resp, self.cache.get_or_create(credential(req), req.relative_uri, create))
        if resp.data is not None:
            resp.content_type = JSON_SCHEMA

    on_head = on_get


@frozen
class RecipientChecks(Resource):
    """`/api/v1/recipient_checks`."""

    max_body_values: ClassVar[int] = 250_000
    requires_write: ClassVar[bool] = False

    service: RecipientFieldService
    heavy: HeavyRequests

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Check recipients, and send the result of each one in the same order."""
        body = read_body(req, self)  # Without a slot, because a client can send it slowly.
        with self.heavy.reading_catalog(credential(req)) as request:
            request.require_slot_above(HEAVY_CHECK_SIZE, [len(body)])
            recipients = parse_recipients(parse_body(body, self))
            catalog = self.service.list_fields(credential(req).organization_id)
            results = _check(RecipientSchema.of(catalog.fields), recipients)
            resp.data = render_json({"results": list(results)})


def _check(
    schema: RecipientSchema, recipients: Iterable[Mapping[str, object]]
) -> Iterator[Mapping[str, object]]:
    count = 0
    for recipient in recipients:
        checked = schema.check(recipient, suggest=count < _MAX_SUGGESTIONS)
        if checked.violations:
            violations = checked.violations[: max(1, _MAX_VIOLATIONS - count)]
            count += len(checked.violations)
            yield {"valid": False, "violations": [*map(render_violation, violations)]}
        else:
            yield {"valid": True, "recipient": checked.values}


def _additional(text: str) -> Mapping[str, object]:
    if text not in {"true", "false"}:
        raise ValueError(text)
    return {"additional": text == "true"}


_PARAMETERS = {"additional": Parameter(_additional, "use `true` or `false`.")}
