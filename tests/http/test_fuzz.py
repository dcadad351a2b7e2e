"""No request causes a 5xx, and only requests with a 2xx response store anything."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from attrs import fields
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recipient_fields.application.fields.documents import FieldDocument

from .api import (
    BATCHES,
    CONDITION_COMPILATIONS,
    CONTENT_EXPORTS,
    FIELDS,
    HISTORY,
    Api,
)

pytestmark = pytest.mark.slow

thoroughly = settings(
    max_examples=100,
    suppress_health_check=[
        *settings().suppress_health_check,
        HealthCheck.function_scoped_fixture,
    ],
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=20)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_TEXT
    | st.sampled_from(["text", "number", "date", "datetime", "api", "2026-11-20", "City", "city"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)
MEMBERS = st.sampled_from([member.name for member in fields(FieldDocument)])
FIELD = st.fixed_dictionaries(
    {}, optional={"name": st.text(max_size=9), "data_type": st.sampled_from(["text", "number"])}
)
LIKELY_TAGS = st.sampled_from(["1-0", '"1-0"', 'W/"a"', "*", ""])
DOCUMENTS = (
    VALUES
    | st.builds(lambda value: {"recipient_field": value}, VALUES)
    | st.builds(
        lambda field, members: {"recipient_field": {**field, **members}},
        FIELD,
        st.dictionaries(MEMBERS | ANY_TEXT, VALUES, max_size=5),
    )
)
OPERATIONS = VALUES | st.builds(
    lambda operation, members: {**operation, **members},
    st.fixed_dictionaries(
        {"operation": st.sampled_from(["create", "update", "replace", "delete"])},
        optional={
            "reference": st.sampled_from(["city", "k", 1, 404]),
            "recipient_field": FIELD,
            "if_match": LIKELY_TAGS,
        },
    ),
    st.dictionaries(
        st.sampled_from(["operation", "reference", "recipient_field", "if_match"]) | ANY_TEXT,
        VALUES,
        max_size=1,
    ),
)
TOKENS = st.sampled_from(
    [
        *("city", "size", '"Rome"', "3", "date", "and", "or", "not"),
        *("(", ")", "=", "<=", "in", "is", "set"),
    ]
)
TREES = st.recursive(
    st.builds(
        lambda op, value: {"field": "city", "op": op, "value": value},
        st.sampled_from(["eq", "in", "contains", "is_set", "lt"]),
        SCALARS | st.lists(SCALARS, max_size=3),
    ),
    lambda inner: (
        st.builds(lambda negated: {"not": negated}, inner)
        | st.builds(lambda parts: {"all": parts}, st.lists(inner, max_size=3))
    ),
    max_leaves=5,
)
CONDITIONS = st.lists(TOKENS | ANY_TEXT, max_size=9).map(" ".join) | TREES
CONTENT_PARTS = st.sampled_from(
    [
        *("{{recipient.city}}", "{{recipient.city | ", "default:", '"x"', "}}", "{{", "{% "),
        *("{{#if recipient.city is set}}", "{{#if ", "{{else}}", "{{else if ", "{{/if}}"),
        *('<a b="', "\n"),
    ]
)
CONTENT = st.lists(CONTENT_PARTS | ANY_TEXT, max_size=9).map("".join)
CODE_MEMBERS = st.sampled_from(["esp", "integration_id", "then", "else", "strict"]) | ANY_TEXT
LATIN = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40)
NAMES = st.sampled_from(
    ["Accept", "Authorization", "Content-Type", "Content-Encoding", "If-Match", "If-None-Match",
     "X-Request-Id", "Range", "Expect", "Cookie", "Host", "X-Forwarded-For"]
)  # fmt: skip
LIKELY = st.sampled_from(
    [
        *("*", "*/*", "application/json", 'W/"a"', '"a", "b"', "Bearer a"),
        *(";q=", "a/b;q=1;q=0", ",", '"'),
    ]
)


def send(api: Api, method: str, body: bytes) -> None:
    """Send the body. Fail if the status is 5xx, or if a rejected request stored anything."""
    before = api.state()
    path = FIELDS if method == "POST" else f"{FIELDS}/city"
    response = api.send(method, path, body, content_type="application/json")
    assert response.status < 500
    if response.status >= 300:
        assert api.state() == before
    else:
        assert response.field in api.list().fields
        api.delete(response.field["id"])
        assert api.put("city", {"name": "City", "data_type": "text"}).status in {200, 201}


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
@thoroughly
@given(document=DOCUMENTS)
def test_any_document_is_accepted_or_rejected(api, city, method, document):
    send(api, method, json.dumps(document).encode())


@thoroughly
@given(operations=st.lists(OPERATIONS, max_size=3), revision=st.none() | LIKELY_TAGS)
def test_any_batch_takes_effect_or_not(api, city, operations, revision):
    before = api.state()
    response = api.apply(*operations, if_revision=revision)
    assert response.status < 500
    if response.status == 200:
        assert len(response.results) == len(operations)
        api.apply(*({"operation": "delete", "reference": key} for key in api.list().keys))
        assert api.put("city", {"name": "City", "data_type": "text"}).status == 201
    else:
        assert api.state() == before


@thoroughly
@given(document=VALUES)
def test_any_document_is_a_batch_or_rejected(api, city, document):
    response = api.send("POST", BATCHES, json.dumps(document))
    assert response.status in {400, 422}


@thoroughly
@given(condition=CONDITIONS | VALUES, members=st.dictionaries(CODE_MEMBERS, VALUES, max_size=2))
def test_any_condition_is_compiled_or_rejected(api, city, condition, members):
    before = api.state()
    document = {"condition": condition, "esp": "braze", "then": "A", **members}
    assert api.send("POST", CONDITION_COMPILATIONS, json.dumps(document)).status in {200, 400, 422}
    assert api.state() == before


@thoroughly
@given(content=CONTENT | VALUES, members=st.dictionaries(CODE_MEMBERS, VALUES, max_size=2))
def test_any_content_is_exported_or_rejected(api, city, content, members):
    before = api.state()
    document = {"content": content, "esp": "sendgrid", **members}
    assert api.send("POST", CONTENT_EXPORTS, json.dumps(document)).status in {200, 400, 422}
    assert api.state() == before


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
@thoroughly
@given(body=st.binary(max_size=200))
def test_any_bytes_are_accepted_or_rejected(api, city, method, body):
    send(api, method, body)


@thoroughly
@given(before=st.integers(0, 70), noise=st.binary(max_size=4), cut=st.integers(0, 4))
def test_any_damaged_document_is_accepted_or_rejected(api, city, before, noise, cut):
    valid = b'{"recipient_field": {"name": "Town", "data_type": "text", "key": "t"}}'
    send(api, "POST", valid[:before] + noise + valid[before + cut :])


@thoroughly
@given(reference=st.text(max_size=20) | st.from_regex(r"[+\-0-9_ ]+"))
def test_any_reference_is_found_or_not(api, city, reference):
    before = api.state()
    path = f"{FIELDS}/{quote(reference, safe='')}"
    assert api.send("GET", path).status in {200, 404}
    assert api.send("GET", f"{path}/changes").status in {200, 404}
    assert api.send("POST", f"{path}/restore").status in {404, 409}
    assert api.state() == before


@thoroughly
@given(headers=st.dictionaries(NAMES, LATIN | LIKELY, max_size=4))
def test_any_headers_are_accepted_or_rejected(api, city, headers):
    before = api.state()
    body = b'{"recipient_field": {}}'
    assert api.send("PATCH", f"{FIELDS}/city", body, **headers).status < 500
    assert api.state() == before


@thoroughly
@given(query=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30))
def test_any_query_is_accepted_or_rejected(api, city, query):
    before = api.state()
    assert api.send("GET", f"{FIELDS}?a{query}").status == 400
    assert api.send("GET", f"{FIELDS}?q={query}").status in {200, 400}
    assert api.send("GET", f"{FIELDS}?as_of={query}").status in {200, 400, 404}
    for name in ("after", "limit", "key", "source", "operation"):
        assert api.send("GET", f"{HISTORY}?{name}={query}").status in {200, 400}
    assert api.send("DELETE", f"{FIELDS}/city?a{query}").status == 400
    assert api.state() == before
