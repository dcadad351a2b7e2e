"""The log line of a request with a token."""

from __future__ import annotations

import logging

import pytest

from recipient_fields.adapters.introspection import IntrospectionKeyValidator
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.entrypoints.http.app import create_app

from ...http.api import Api, falcon_transport
from .issuers import CLAIMS, Tokens

PLAIN = "token-with-common-characters"


@pytest.fixture
def api(validator: IntrospectionKeyValidator, tokens: Tokens) -> Api:
    tokens.active[PLAIN] = {**CLAIMS, "organization_id": 1}
    core = Core.over(MemoryStorage(), validator=validator)
    core.administration.create_organization("Acme")
    return Api(falcon_transport(create_app(core)))


@pytest.mark.parametrize("scheme", ["Bearer", "bearer  "])
@pytest.mark.parametrize(
    ("sent", "logged"),
    [(PLAIN, "[API key]"), (PLAIN[1:], PLAIN[1:]), ("characters", "characters"), ("B", "B")],
)
def test_a_request_id_that_equals_the_token_is_returned_but_not_logged(
    api, caplog, scheme, sent, logged
):
    caplog.set_level(logging.INFO, "recipient_fields.requests")

    response = api.list(authorization=f"{scheme} {PLAIN}", x_request_id=sent)

    assert (response.status, response.headers["x-request-id"]) == (200, sent)
    (record,) = [r for r in caplog.records if r.name == "recipient_fields.requests"]
    facts = getattr(record, "facts", {})
    assert (facts["request_id"], facts["key_id"], facts["organization"]) == (logged, "backend", 1)
