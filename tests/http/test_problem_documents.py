"""Errors as RFC 9457 problem documents, for clients that accept them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .api import FIELDS, Api, compact

STORAGES = ("memory",)  # These requests do not reach the storage.

PROBLEM = "application/problem+json"


def media_type(api: Api, accept: str, path: str = f"{FIELDS}/missing") -> tuple[str, Any]:
    headers = [("Authorization", f"Bearer {api.key}"), ("Accept", accept)]
    _, received, content = api.transport("GET", path, headers, b"")
    document = json.loads(content)
    assert content == compact(document)
    return {k.lower(): v for k, v in received}["content-type"], document


@pytest.mark.parametrize(
    "accept",
    [
        PROBLEM,
        "Application/Problem+JSON",
        f"application/json, {PROBLEM}",
        f"{PROBLEM};q=0.5, application/json;q=0.5",
        f"text/html, {PROBLEM};q=0.1",
    ],
)
def test_a_client_that_accepts_problem_documents_gets_them(api: Api, accept: str):
    content_type, document = media_type(api, accept)
    assert content_type == PROBLEM
    assert document == {
        "type": "urn:recipient-fields:problem:not_found",
        "title": "Not found",
        "status": 404,
        "detail": document["detail"],
        "code": "not_found",
        "request_id": document["request_id"],
    }


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/json",
        "application/*",
        f"application/json, {PROBLEM};q=0.5",
        f"{PROBLEM};q=0, */*",
        "text/html",
        "nonsense",
        f"nonsense, {PROBLEM}",
    ],
)
def test_other_clients_get_the_error_object(api: Api, accept: str):
    content_type, document = media_type(api, accept)
    assert content_type == "application/json"
    assert document.keys() == {"error"}


def test_success_is_never_a_problem_document(api: Api):
    content_type, document = media_type(api, PROBLEM, FIELDS)
    assert content_type == "application/json"
    assert document == {"recipient_fields": []}


def test_a_problem_document_has_the_reason_and_the_details(api: Api):
    body = json.dumps({"recipient_field": {"name": "", "data_type": "txt", "datatype": "text"}})
    headers = [
        ("Authorization", f"Bearer {api.key}"),
        ("Accept", PROBLEM),
        ("Content-Type", "application/json"),
    ]
    _, _, content = api.transport("POST", FIELDS, headers, body.encode())
    details = {detail["pointer"]: detail for detail in json.loads(content)["details"]}
    assert details["/recipient_field/name"]["code"] == "blank"
    assert details["/recipient_field/data_type"]["suggestion"] == "text"
    assert details["/recipient_field/datatype"]["suggestion"] == "data_type"


@pytest.mark.parametrize(
    ("members", "pointer", "suggestion"),
    [
        ({"key": "First Name"}, "/recipient_field/key", "first_name"),
        ({"key": "loyalty-tier"}, "/recipient_field/key", "loyalty_tier"),
        ({"key": "日本"}, "/recipient_field/key", None),
        ({"key": "Null"}, "/recipient_field/key", None),
        ({"insertible": True}, "/recipient_field/insertible", "insertable"),
        ({"colour": "red"}, "/recipient_field/colour", None),
        ({"data_type": "boolaen"}, "/recipient_field/data_type", "boolean"),
        ({"data_type": "money"}, "/recipient_field/data_type", None),
    ],
)
def test_a_similar_name_or_value_is_suggested(
    api: Api, members: dict[str, object], pointer: str, suggestion: str | None
):
    response = api.post({"name": "City", "data_type": "text", **members})
    (detail,) = [d for d in response.error["details"] if d["pointer"] == pointer]
    assert detail.get("suggestion") == suggestion
