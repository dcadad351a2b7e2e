"""A new endpoint costs its resource and its document: the rest of the OpenAPI document follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import falcon
from attrs import field, frozen

from recipient_fields.application.documents.schemas import described, render_document
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain import FieldLimitReached, FieldNotFound
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.http.requests import parameters, parse_members
from recipient_fields.entrypoints.http.resource import (
    Parameter,
    Resource,
    Result,
    Tag,
    operation,
    page_size,
)

from .conftest import ApiClient

PATH = "/api/v1/groups"


@frozen
class GroupListDocument:
    """Groups of fields."""

    names: list[str] = field(metadata=described("Their names, in alphabetical order."))
    limit: int | None


class Groups(Resource):
    parameters: ClassVar[Mapping[str, Parameter]] = {"limit": page_size("The number of groups.")}

    @operation(
        "list_groups",
        Tag("Groups", "Fields that belong together."),
        Result(description="The groups.", document=GroupListDocument),
        errors=(FieldNotFound, FieldLimitReached),
    )
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the groups.

        Those of the
        organization.
        """
        limit = parse_members(parameters(req), self.parameters).get("limit")
        resp.data = render_json(render_document(GroupListDocument(["shop"], limit)))


def test_a_new_endpoint_is_described_by_its_resource_and_its_document(service):
    app = create_app(service.core)
    app.add_route(PATH, Groups())
    client = ApiClient(app, service.key)

    contract: dict[str, Any] = client.request("GET", "/openapi.json").json
    found = contract["paths"][PATH]["get"]

    assert (
        found.items()
        >= {
            "operationId": "list_groups",
            "summary": "List the groups",
            "description": "Those of the organization.",
            "tags": ["Groups"],
            "parameters": [
                {
                    "name": "limit",
                    "in": "query",
                    "description": "The number of groups.",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 1_000},
                }
            ],
        }.items()
    )
    ok = found["responses"].pop("200")
    assert ok["content"] == {
        "application/json": {"schema": {"$ref": "#/components/schemas/GroupList"}}
    }
    assert contract["components"]["schemas"]["GroupList"] == {
        "type": "object",
        "description": "Groups of fields.",
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Their names, in alphabetical order.",
            },
            "limit": {"type": ["integer", "null"]},
        },
        "required": ["names", "limit"],
    }
    every_get = {*contract["paths"]["/api/v1/recipient_schema"]["get"]["responses"]}
    assert {*found["responses"]} == {"404", "409", *every_get} - {"200", "304"}
    assert {"name": "Groups", "description": "Fields that belong together."} in contract["tags"]


def test_the_declaration_of_a_new_endpoint_is_enforced(service):
    app = create_app(service.core)
    app.add_route(PATH, Groups())
    client = ApiClient(app, service.key)

    sent = [client.request("GET", f"{PATH}{query}") for query in ("?limit=2", "?limit=0", "?l=1")]

    assert [response.status_code for response in sent] == [200, 400, 400]
    assert sent[0].json == {"names": ["shop"], "limit": 2}
