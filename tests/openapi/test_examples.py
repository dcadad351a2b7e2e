"""What the document shows is what the service answers, word for word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from falcon.testing import Result

from recipient_fields.domain import (
    DataType,
    FieldDraft,
    KeyValidationUnavailable,
    Rejection,
    StorageUnavailable,
)
from recipient_fields.entrypoints.http.openapi.responses import EXAMPLES, REQUEST_ID
from recipient_fields.entrypoints.http.problems import render_problem

from .conftest import FIELDS, Service

PROBLEM = "application/problem+json"

REQUESTS = {
    "list_recipient_fields": ("GET", FIELDS),
    "get_recipient_field": ("GET", f"{FIELDS}/loyalty_tier"),
    "create_recipient_field": ("POST", FIELDS),
    "update_recipient_field": ("PATCH", f"{FIELDS}/loyalty_tier"),
    "replace_recipient_field": ("PUT", f"{FIELDS}/newsletter"),
    "get_healthz": ("GET", "/healthz"),
    "get_readyz": ("GET", "/readyz"),
}

SAID_BY_THE_SERVER = {
    "malformed_request",
    "request_timeout",
    "uri_too_long",
    "headers_too_large",
    "not_implemented",
    "overloaded",
}
"""Refusals from below the application: their tests are those of the server."""


def test_what_is_shown_of_requests_is_what_is_answered(
    contract: dict[str, Any], new_service: Callable[[], Service]
) -> None:
    shown = {
        (operation["operationId"], int(status), name): example["value"]
        for item in contract["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
        for status, answer in operation["responses"].items()
        for name, example in _examples(answer).items()
    }
    sent = {
        (operation["operationId"], name): example["value"]
        for item in contract["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict) and "requestBody" in operation
        for name, example in _examples(operation["requestBody"]).items()
    }
    assert len(shown) >= len(sent) >= 5
    assert {(operation, name) for operation, _, name in shown} >= sent.keys()

    for (operation, status, name), expected in shown.items():
        method, path = REQUESTS[operation]
        answer = new_service().caller.ask(method, path, sent.get((operation, name)))
        assert answer.status_code == status
        assert _ageless(answer.json) == _ageless(expected)


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - SAID_BY_THE_SERVER))
def test_what_is_shown_of_refusals_is_what_is_answered(
    contract: dict[str, Any], new_service: Callable[[], Service], name: str
) -> None:
    problem = EXAMPLES[name]
    response = next(
        answer
        for answer in contract["components"]["responses"].values()
        if name in answer["content"]["application/json"]["examples"]
    )
    for media_type in ("application/json", PROBLEM):
        headers = {"X-Request-Id": REQUEST_ID}
        if name != "not_acceptable":
            headers["Accept"] = media_type
        if name == "not_acceptable" and media_type == PROBLEM:
            continue  # who accepts a problem document does not get this one
        answer = REFUSED[name](new_service(), headers)

        assert answer.status_code == problem.status
        assert answer.headers["content-type"] == media_type
        if media_type == PROBLEM:
            assert answer.content == render_problem(problem, REQUEST_ID)
        else:
            assert answer.json == response["content"][media_type]["examples"][name]["value"]


def _examples(described: dict[str, Any]) -> dict[str, Any]:
    content = described.get("content", {})
    examples: dict[str, Any] = content.get("application/json", {}).get("examples", {})
    return examples


def _ageless(document: Any) -> Any:
    """The document without the time of the last change."""
    match document:
        case {"recipient_field": dict(field)}:
            return {"recipient_field": {**field, "updated_at": None}}
        case _:
            return document


def _asking(
    method: str, path: str, document: object = None, **request: Any
) -> Callable[[Service, dict[str, str]], Result]:
    def ask(service: Service, headers: dict[str, str]) -> Result:
        more = {**request, "headers": {**headers, **request.get("headers", {})}}
        return service.caller.ask(method, path, document, **more)

    return ask


def _as_a_stranger(service: Service, headers: dict[str, str]) -> Result:
    return evolve(service.caller, key=None).ask("GET", FIELDS, headers=headers)


def _as_a_reader(service: Service, headers: dict[str, str]) -> Result:
    return service.reading().ask("DELETE", f"{FIELDS}/1", headers=headers)


def _with_every_field_taken(service: Service, headers: dict[str, str]) -> Result:
    for number in range(2, 1_001):
        draft = FieldDraft(name=f"Field {number}", data_type=DataType.TEXT)
        service.fields.create_field(service.organization, draft)
    return service.caller.ask("POST", FIELDS, {"recipient_field": _SHOP}, headers=headers)


def _without_keys(service: Service, headers: dict[str, str]) -> Result:
    class Unavailable:
        def validate(self, _presented: str, /) -> Rejection:
            raise KeyValidationUnavailable

    broken = evolve(service, validator=Unavailable())
    return broken.caller.ask("GET", FIELDS, headers=headers)


def _without_storage(service: Service, headers: dict[str, str]) -> Result:
    return evolve(service, check=_raise(StorageUnavailable())).caller.ask(
        "GET", "/readyz", headers=headers
    )


def _with_a_defect(service: Service, headers: dict[str, str]) -> Result:
    return evolve(service, check=_raise(ZeroDivisionError())).caller.ask(
        "GET", "/readyz", headers=headers
    )


def _raise(error: Exception) -> Callable[[], None]:
    def check() -> None:
        raise error

    return check


_SHOP = {"name": "Shop", "data_type": "text"}
_JSON = {"Content-Type": "application/json"}
_MISTAKES = {"name": "Loyalty tier", "datatype": "text", "key": "Loyalty-Tier"}
_TAKEN = {"name": "Loyalty tier", "data_type": "text"}

REFUSED: dict[str, Callable[[Service, dict[str, str]], Result]] = {
    "invalid_json": _asking("POST", FIELDS, None, body=b'{"recipient_field": }', headers=_JSON),
    "invalid_parameter": _asking("GET", FIELDS, params={"limit": "0"}),
    "unauthorized": _as_a_stranger,
    "field_not_api_managed": _asking(
        "PATCH", f"{FIELDS}/preferred_shop", {"recipient_field": {"name": "Shop"}}
    ),
    "insufficient_scope": _as_a_reader,
    "not_found": _asking("GET", f"{FIELDS}/shoe_size"),
    "method_not_allowed": _asking("POST", f"{FIELDS}/1"),
    "not_acceptable": _asking("GET", FIELDS, headers={"Accept": "text/html"}),
    "key_already_exists": _asking("POST", FIELDS, {"recipient_field": _TAKEN}),
    "field_limit_reached": _with_every_field_taken,
    "precondition_failed": _asking("DELETE", f"{FIELDS}/1", headers={"If-Match": '"old"'}),
    "payload_too_large": _asking("POST", FIELDS, None, body=b" " * 1_048_577, headers=_JSON),
    "unsupported_media_type": _asking(
        "POST", FIELDS, None, body=b"{}", headers={"Content-Type": "text/plain"}
    ),
    "validation_failed": _asking("POST", FIELDS, {"recipient_field": _MISTAKES}),
    "internal_error": _with_a_defect,
    "api_key_validation_unavailable": _without_keys,
    "service_unavailable": _without_storage,
}
