"""API keys, and the responses to requests without a valid one."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from zlib import crc32

import pytest

from recipient_fields.application import StoredKeyValidator
from recipient_fields.domain import Access, format_instant

from .api import FIELDS, Api, ApiResponse, enveloped
from .conftest import Harness

REALM = 'Bearer realm="recipient-fields"'
INVALID = f'{REALM}, error="invalid_token"'
WELL_FORMED = "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"
BODY = enveloped({"name": "Town", "data_type": "text"})
PLACES = [
    ("GET", FIELDS),
    ("HEAD", FIELDS),
    ("POST", FIELDS),
    ("OPTIONS", FIELDS),
    *[(m, f"{FIELDS}/city") for m in ("GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS")],
    ("GET", "/api/"),
    ("GET", "/api/v1/nothing"),
    ("TRACE", FIELDS),
]


@pytest.mark.parametrize("header", [None, "Bearer", f"Bearer {WELL_FORMED}"])
def test_every_request_needs_a_key(harness, api, city, header):
    before, client = api.state(), harness.client()
    statuses = {place: client.send(*place, BODY, authorization=header).status for place in PLACES}
    assert statuses == dict.fromkeys(PLACES, 401)
    assert api.state() == before


def wrong_headers(key: str) -> list[str]:
    """Return about 200 invalid `Authorization` headers, most of them similar to the key."""
    schemes = ["Basic", "Token", "Digest", "Bearerr", "Beare", "ApiKey", "OAuth", "Negotiate"]
    keys = [
        "", WELL_FORMED, key[:-1], key + "0", key[1:], key.upper(), key.lower(), key.swapcase(),
        key[::-1], key.replace("rfk_", "RFK_"), key.replace("rfk_", ""), key.replace("_", "-"),
        f'"{key}"', f"<{key}>", f"{key},", f"{key};", f"{key}=", f"{key} {key}",
        f"{key}, Bearer {key}", f"a,{key}", f"token={key}", "null", "undefined", "*", "%",
        "' OR '1'='1", "../../etc/passwd", "\u00e4\u00f6\u00fc", "\u00e9" * 42, "\x7f", "a" * 8_000,
    ]  # fmt: skip
    unknown = [well_formed_key(f"{n:032}") for n in range(120)]
    separators = ["\t", "", ":", "="]
    return [
        "",
        key,
        *[f"{scheme} {key}" for scheme in schemes],
        *[f"Bearer{separator}{key}" for separator in separators],
        *[f"Bearer {text}" for text in (*keys, *mistyped(key), *unknown)],
    ]


def mistyped(key: str) -> list[str]:
    """Return copies of the key, each with another character changed."""
    return [key[:n] + ("a" if key[n] != "a" else "b") + key[n + 1 :] for n in range(len(key))]


def well_formed_key(random: str) -> str:
    """Return the key with these 32 characters and the checksum that the contract defines."""
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number, digits = crc32(f"rfk_{random}".encode()), ""
    while len(digits) < 6:
        number, digit = divmod(number, 62)
        digits = alphabet[digit] + digits
    return f"rfk_{random}{digits}"


def test_the_example_of_the_contract_is_well_formed():
    assert well_formed_key("0123456789ABCDEFGHIJKLMNOPQRSTUV") == WELL_FORMED


def test_every_invalid_key_gets_the_same_response(api):
    headers = wrong_headers(api.key or "")
    assert len(headers) > 200
    responses = [api.list(authorization=header, x_request_id="one") for header in headers]
    responses.append(api.list(authorization=[f"Bearer {api.key}"] * 2, x_request_id="one"))
    assert {(a.status, a.content, a.headers["www-authenticate"]) for a in responses} == {
        (401, responses[0].content, INVALID)
    }
    missing = api.with_key(None).list(x_request_id="one")
    assert missing.content == responses[0].content
    assert missing.headers["www-authenticate"] == REALM


def test_a_401_says_that_a_valid_key_is_required(harness):
    response = harness.client().list()
    assert response.status_and_code == (401, "unauthorized")
    assert response.error["message"] == (
        "A valid API key is required. Send the whole key as `Authorization: Bearer <API_KEY>`."
        " Check that it belongs to this service, or ask an administrator for a new one."
    )


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "])
def test_the_scheme_is_case_insensitive(api, scheme):
    assert api.list(authorization=f"{scheme} {api.key}").status == 200


@pytest.mark.parametrize("name", ["api_key", "access_token", "key", "token", "authorization"])
def test_a_key_in_the_query_is_never_read(api, name):
    response = api.with_key(None).send("GET", f"{FIELDS}?{name}={api.key}")
    assert response.without_request_id == api.with_key(None).list().without_request_id


@pytest.mark.parametrize("header", ["x_api_key", "api_key", "cookie", "proxy_authorization"])
def test_a_key_in_another_header_is_never_read(api, header):
    assert api.with_key(None).list(**{header: f"Bearer {api.key}"}).status == 401


def test_whoever_presents_an_expired_or_revoked_key_learns_its_state(harness, bakery, clock):
    revoked = harness.issue_key(bakery)
    harness.administration.revoke_key(bakery, revoked.api_key.id)
    expired = harness.issue_key(bakery, lifetime=timedelta(days=1))
    today, tomorrow = clock(), clock() + timedelta(days=1)
    clock.advance(days=30)
    for key, time, sentence in (
        (revoked, today, f"The API key was revoked on {today.date()}."),
        (expired, tomorrow, f"The API key expired on {tomorrow.date()}."),
    ):
        response = harness.client().with_key(key.plain.reveal()).list()
        assert response.status_and_code == (401, "unauthorized")
        assert response.error["message"] == (
            f"{sentence} The exact time is {format_instant(time)}. An administrator creates API"
            " keys in the console or with `recipient-fields keys create`. A valid API key is"
            " required."
        )
        challenge = response.headers["www-authenticate"]
        assert challenge == f'{INVALID}, error_description="{sentence}"'


def test_a_read_only_key_is_rejected_before_the_body_is_checked(reader):
    response = reader.send("POST", FIELDS, "not JSON", content_type="text/plain")
    assert response.status_code_and_reason == (403, "forbidden", "insufficient_scope")


class TestWhileTheKeysCanNotBeRead:
    """The keys of the organization are in a closed storage."""

    @pytest.fixture
    def client(self, harness: Harness, closed, api: Api) -> Api:
        validator = StoredKeyValidator(closed.api_keys, harness.clock)
        return harness.client(validator=validator).with_key(api.key)

    def test_every_request_gets_503(self, api, client, city):
        before = api.state()
        statuses = {place: client.send(*place, BODY).status for place in PLACES}
        assert statuses == dict.fromkeys(PLACES, 503)
        assert api.state() == before

    def test_the_response_says_that_authentication_is_unavailable(self, client):
        response = client.list()
        assert response.status_and_code == (503, "api_key_validation_unavailable")
        assert "Authentication is temporarily unavailable" in response.error["message"]
        assert int(response.headers["retry-after"]) > 0
        assert "www-authenticate" not in response.headers

    @pytest.mark.parametrize(
        "header", [None, "", "Bearer", "Basic a", f"Bearer {WELL_FORMED[:-1]}B"]
    )
    def test_a_malformed_key_gets_401(self, client, header):
        assert client.list(authorization=header).status_and_code == (401, "unauthorized")

    def test_a_mistyped_key_gets_401(self, client):
        for typed in mistyped(client.key or ""):
            assert client.list(authorization=f"Bearer {typed}").status_and_code == (
                401,
                "unauthorized",
            )

    def test_paths_outside_of_the_api_need_no_key(self, client):
        assert client.send("GET", "/healthz").status == 200
        assert client.send("GET", "/nothing").status == 404


def test_no_key_is_in_a_log_line_or_in_a_response(harness, bakery, closed, caplog):
    caplog.set_level(logging.DEBUG)
    key = harness.issue_key(bakery, access=Access.READ_ONLY).plain.reveal()
    down = StoredKeyValidator(closed.api_keys, harness.clock)
    broken = harness.client(fields=harness.service_with(None)).with_key(key)
    responses: list[ApiResponse] = [broken.list(), broken.send("POST", FIELDS, BODY)]
    responses += [harness.client(validator=down).with_key(key).list()]
    responses += [broken.list(authorization=f"Bearer {key[:-1]}"), broken.send("GET", f"/{key}")]
    assert responses[0].status == 500
    assert not any(key[8:-8] in response.content.decode() for response in responses)
    assert not re.search(key[8:-8], caplog.text)
