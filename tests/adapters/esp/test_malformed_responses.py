"""Every response of an ESP is either read, or raises EspRefused or EspUnavailable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from recipient_fields.domain.integrations import (
    EspField,
    EspRefused,
    EspUnavailable,
    RefusedField,
)

from ...support.http_server import StubResponse, stub_server
from .accounts import ACCOUNTS, Account, synced

pytestmark = pytest.mark.slow

TEXTS = st.one_of(
    st.text(max_size=8), st.sampled_from(["text", "String", "string", "enumeration", "Text", "1"])
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.floats(), TEXTS)


def objects(values: SearchStrategy[object]) -> SearchStrategy[dict[str, object]]:
    """Return objects with the members that lists of fields have."""
    names = (
        "id merge_id tag name title label perstag type data_type field_type fieldType status hidden"
        " category enumeration value choices attributes properties options total next links"
        " access_token"
    )
    return st.dictionaries(st.one_of(st.sampled_from(names.split()), TEXTS), values, max_size=8)


VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), objects(inner)), max_leaves=12
)
ITEMS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(["id", "merge_id"], st.integers(0, 3)),
            **dict.fromkeys(["tag", "name", "title", "label", "perstag"], TEXTS),
            **dict.fromkeys(["type", "data_type", "field_type", "fieldType", "category"], TEXTS),
            "attributes": st.fixed_dictionaries({"properties": objects(VALUES)}),
            "options": VALUES,
        },
    ),
    max_size=3,
)
LISTINGS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["merge_fields", "attributes", "results", "data"], ITEMS),
        **dict.fromkeys(["custom_fields", "reserved_fields"], ITEMS),
        "fields": st.one_of(ITEMS, st.dictionaries(TEXTS, TEXTS)),
        "access_token": TEXTS,
        "total_items": st.integers(0, 3),
        "meta": st.fixed_dictionaries({"total": st.integers(0, 3).map(str)}),
    },
)


def reported_fields(account: Account, url: str) -> list[EspField | RefusedField]:
    """Return the reported fields, or none if the source raises an error with a short message."""
    message = ""
    reported: list[EspField | RefusedField] = []
    try:
        reported = list(account.source(url).fields())
    except (EspRefused, EspUnavailable) as error:
        message = str(error)
    assert len(message) < 300
    assert message.isprintable()
    return reported


@given(st.one_of(LISTINGS, VALUES))
def test_any_json_is_read_or_refused(document):
    with stub_server(lambda _: StubResponse.json(document)) as server:
        for account in ACCOUNTS:
            reported = reported_fields(account, server.url)
            plan = synced(account.esp, reported)
            assert len(plan.created) + len(plan.refused) == len(reported)


@given(st.data())
def test_a_damaged_response_is_read_or_refused(data):
    account = data.draw(st.sampled_from(ACCOUNTS), label="account")
    damage = data.draw(st.binary(max_size=3), label="damage")
    at = data.draw(st.floats(0, 1, exclude_max=True), label="at")

    def handler(request):
        try:
            reply = account.handler(request)
        except (KeyError, ValueError):  # a damaged link
            return StubResponse(400)
        if request.path != account.listing:
            return reply
        start = int(at * len(reply.body))
        body = reply.body[:start] + damage + reply.body[start + 1 :]
        return StubResponse(200, body, reply.headers)

    with stub_server(handler) as server:
        reported_fields(account, server.url)


def test_some_generated_documents_are_read():
    document = {"fields": {"a": "string"}, "data": [], "attributes": [], "access_token": "a"}
    with stub_server(lambda _: StubResponse.json(json.loads(json.dumps(document)))) as server:
        assert [len(reported_fields(account, server.url)) for account in ACCOUNTS].count(0) < 8
