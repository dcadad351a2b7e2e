"""The resources for the data of recipients. They store nothing and log no value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from attrs import frozen
from falcon import Request, Response

from recipient_fields.application import ContentService
from recipient_fields.application.documents.schemas import render_document
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.documents.violations import violation_document
from recipient_fields.application.recipients.documents import (
    RecipientCheckDocument,
    RecipientCheckListDocument,
    RecipientListDocument,
    parse_recipients,
    render_json_schema,
)
from recipient_fields.domain import RecipientSchema

from .heavy_requests import HeavyRequests, LargeBodies
from .requests import credential, parameters, parse_members
from .resource import (
    JSON,
    JSON_SCHEMA,
    PROBLEM,
    Body,
    Parameter,
    Resource,
    Result,
    Tag,
    operation,
    truth_value,
)
from .responses import ReadResponse, ResponseCache

_MAX_SUGGESTIONS = 50
"""Each search for a similar key or value takes up to 10 ms."""
_MAX_VIOLATIONS = 10_000
"""A response with so many violations has up to 4 MiB. Further recipients have one each."""


_TAG = Tag("Recipients", "The data of recipients, which the service checks and does not store.")
_SCHEMA_PARAMETERS = {
    "additional": truth_value(
        "additional",
        "Whether recipients may have members that are no fields. The default is `false`.",
    )
}


@frozen
class RecipientSchemaItem(Resource):
    """`/api/v1/recipient_schema`."""

    parameters: ClassVar[Mapping[str, Parameter]] = _SCHEMA_PARAMETERS
    media_types: ClassVar[tuple[str, ...]] = (JSON_SCHEMA, JSON, PROBLEM)

    service: ContentService
    cache: ResponseCache
    heavy: HeavyRequests

    @operation(
        "get_recipient_schema",
        _TAG,
        Result(
            description="A JSON Schema (2020-12).",
            document={"type": "object", "additionalProperties": True},
        ),
        is_conditional=True,
    )
    def on_get(self, req: Request, resp: Response) -> None:
        """Read the JSON Schema of recipients.

        The values that a recipient of the organization may have, by the keys of fields.
        """

        def render() -> ReadResponse:
            names, version_tag = self.service.read_names(credential(req).organization_id)
            schema = RecipientSchema.of(
                names.fields, additional=additional, definitions=names.definitions
            )
            return ReadResponse(version_tag, render_json(render_json_schema(schema)))

        additional = parse_members(parameters(req), _SCHEMA_PARAMETERS).get("additional", False)
        self.cache.send(req, resp, render, self.heavy)
        if resp.data is not None:
            resp.content_type = JSON_SCHEMA


@frozen
class RecipientChecks(LargeBodies):
    """`/api/v1/recipient_checks`."""

    max_body_values: ClassVar[int] = 250_000

    @operation(
        "check_recipients",
        _TAG,
        Result(
            description="The result of each recipient, in order.",
            document=RecipientCheckListDocument,
            examples={
                "tiers": {
                    "results": [
                        {"valid": True, "recipient": {"loyalty_tier": "gold"}},
                        {
                            "valid": False,
                            "violations": [
                                {
                                    "pointer": "/loyalty_tier",
                                    "code": "unknown_value",
                                    "message": "Use one of gold, silver, bronze.",
                                    "suggestion": "gold",
                                }
                            ],
                        },
                    ]
                }
            },
        ),
        body=Body(
            document=RecipientListDocument,
            examples={
                "tiers": {"recipients": [{"loyalty_tier": "gold"}, {"loyalty_tier": "gould"}]}
            },
        ),
    )
    def on_post(self, req: Request, resp: Response) -> None:
        """Check recipients.

        Checks the values of up to 1,000 recipients against the fields. Read-only API keys can send
        this request.
        """
        with self.reading(req) as (_, body):
            recipients = parse_recipients(body)
            names, _ = self.service.read_names(credential(req).organization_id)
            schema = RecipientSchema.of(names.fields, definitions=names.definitions)
            results = _check(schema, recipients)
            document = RecipientCheckListDocument(tuple(results))
            resp.data = render_json(render_document(document))


def _check(
    schema: RecipientSchema, recipients: Iterable[Mapping[str, object]]
) -> Iterator[RecipientCheckDocument]:
    count = 0
    for recipient in recipients:
        checked = schema.check(recipient, suggest=count < _MAX_SUGGESTIONS)
        if checked.violations:
            violations = checked.violations[: max(1, _MAX_VIOLATIONS - count)]
            count += len(checked.violations)
            details = tuple(map(violation_document, violations))
            yield RecipientCheckDocument(valid=False, violations=details)
        else:
            yield RecipientCheckDocument(valid=True, recipient=checked.values)
