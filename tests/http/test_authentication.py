"""API keys: who is let in, and what the others are told (HTTP contract, section 5)."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from zlib import crc32

import pytest

from recipient_fields.application import StoredKeyValidator
from recipient_fields.domain import Access, OrganizationId

from .api import FIELDS, Answer, Api, enveloped
from .conftest import Clock, Stand

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


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_every_request_needs_a_key(stand: Stand, api: Api, city, method: str, path: str):
    before = api.state()
    for header in (None, "Bearer", f"Bearer {WELL_FORMED}"):
        answer = stand.client().send(method, path, BODY, authorization=header)
        assert answer.status == 401
    assert api.state() == before


def wrong_headers(key: str) -> list[str]:
    """Some two hundred `Authorization` headers that are not the one of this key."""
    schemes = ["Basic", "Token", "Digest", "Bearerr", "Beare", "ApiKey", "OAuth", "Negotiate"]
    keys = [
        "", WELL_FORMED, key[:-1], key + "0", key[1:], key.upper(), key.lower(), key.swapcase(),
        key[::-1], key.replace("rfk_", "RFK_"), key.replace("rfk_", ""), key.replace("_", "-"),
        f'"{key}"', f"<{key}>", f"{key},", f"{key};", f"{key}=", f"{key} {key}",
        f"{key}, Bearer {key}", f"a,{key}", f"token={key}", "null", "undefined", "*", "%",
        "' OR '1'='1", "../../etc/passwd", "\u00e4\u00f6\u00fc", "\u00e9" * 42, "\x7f", "a" * 8_000,
    ]  # fmt: skip
    unknown = [made_of(f"{n:032}") for n in range(120)]
    separators = ["\t", "", ":", "="]
    return [
        "",
        key,
        *[f"{scheme} {key}" for scheme in schemes],
        *[f"Bearer{separator}{key}" for separator in separators],
        *[f"Bearer {text}" for text in (*keys, *mistyped(key), *unknown)],
    ]


def mistyped(key: str) -> list[str]:
    """The key with each of its characters changed once."""
    return [key[:n] + ("a" if key[n] != "a" else "b") + key[n + 1 :] for n in range(len(key))]


def made_of(random: str) -> str:
    """The well-formed key of these 32 characters, its checksum written after the contract."""
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number, digits = crc32(f"rfk_{random}".encode()), ""
    while len(digits) < 6:
        number, digit = divmod(number, 62)
        digits = alphabet[digit] + digits
    return f"rfk_{random}{digits}"


def test_the_example_of_the_contract_is_well_formed():
    assert made_of("0123456789ABCDEFGHIJKLMNOPQRSTUV") == WELL_FORMED


def test_whatever_is_wrong_with_a_key_the_answer_is_the_same(api: Api):
    headers = wrong_headers(api.key or "")
    assert len(headers) > 200
    answers = [api.list(authorization=header, x_request_id="one") for header in headers]
    answers.append(api.list(authorization=[f"Bearer {api.key}"] * 2, x_request_id="one"))
    assert {(a.status, a.content, a.headers["www-authenticate"]) for a in answers} == {
        (401, answers[0].content, INVALID)
    }
    missing = api.bearing(None).list(x_request_id="one")
    assert missing.content == answers[0].content
    assert missing.headers["www-authenticate"] == REALM


def test_the_answer_says_that_a_valid_key_is_required(stand: Stand):
    answer = stand.client().list()
    assert answer.outcome == (401, "unauthorized")
    assert "valid API key is required" in answer.error["message"]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "])
def test_the_scheme_is_case_insensitive(api: Api, scheme: str):
    assert api.list(authorization=f"{scheme} {api.key}").status == 200


@pytest.mark.parametrize("name", ["api_key", "access_token", "key", "token", "authorization"])
def test_a_key_in_the_query_is_never_read(api: Api, name: str):
    answer = api.bearing(None).send("GET", f"{FIELDS}?{name}={api.key}")
    assert answer.told == api.bearing(None).list().told


@pytest.mark.parametrize("header", ["x_api_key", "api_key", "cookie", "proxy_authorization"])
def test_a_key_in_another_header_is_never_read(api: Api, header: str):
    assert api.bearing(None).list(**{header: f"Bearer {api.key}"}).status == 401


def test_a_key_is_for_its_organization(api: Api, brewery: Api, city):
    assert (api.list().keys, brewery.list().keys) == (["city"], [])


def test_an_organization_has_several_keys(stand: Stand, api: Api, bakery: OrganizationId, city):
    assert stand.bearer(bakery).list().keys == ["city"]


def test_a_revoked_key_is_refused_at_once(stand: Stand, bakery: OrganizationId):
    issued = stand.issue(bakery)
    client = stand.client().bearing(issued.plain.reveal())
    assert client.list().status == 200
    stand.administration.revoke_key(bakery, issued.api_key.id)
    assert client.list().outcome == (401, "unauthorized")


def test_a_key_is_valid_until_it_expires(stand: Stand, bakery: OrganizationId, clock: Clock):
    client = stand.bearer(bakery, lifetime=timedelta(hours=1))
    clock.move(minutes=59, seconds=59, milliseconds=999)
    assert client.list().status == 200
    clock.move(milliseconds=1)
    assert client.list().outcome == (401, "unauthorized")


def test_a_key_may_never_expire(stand: Stand, bakery: OrganizationId, clock: Clock):
    client = stand.bearer(bakery, lifetime=None)
    clock.move(days=365_000)
    assert client.list().status == 200


def test_a_replaced_key_lives_on_for_its_grace(stand: Stand, bakery: OrganizationId, clock: Clock):
    issued = stand.issue(bakery)
    successor, _ = stand.administration.rotate_key(
        bakery, issued.api_key.id, grace=timedelta(hours=1)
    )
    old, new = (stand.client().bearing(key.plain.reveal()) for key in (issued, successor))
    assert (old.list().status, new.list().status) == (200, 200)
    clock.move(hours=1)
    assert (old.list().status, new.list().status) == (401, 200)


def test_revoked_expired_and_unknown_keys_are_answered_alike(
    stand: Stand, bakery: OrganizationId, clock: Clock
):
    revoked = stand.issue(bakery)
    stand.administration.revoke_key(bakery, revoked.api_key.id)
    expired = stand.issue(bakery, lifetime=timedelta(seconds=1))
    clock.move(seconds=1)
    keys = [revoked.plain.reveal(), expired.plain.reveal(), WELL_FORMED]
    told = [stand.client().bearing(key).list().told for key in keys]
    assert told == [told[0]] * 3


def test_using_a_key_is_noted_once_a_minute(
    stand: Stand, api: Api, bakery: OrganizationId, clock: Clock
):
    def noted() -> list[object]:
        return [key.last_used_at for key in stand.administration.list_keys(bakery)]

    began = clock()
    assert noted() == [None]
    api.list()
    clock.move(seconds=59)
    api.list()
    assert noted() == [began]
    clock.move(seconds=1)
    api.list()
    assert noted() == [clock()]


def test_a_read_only_key_is_refused_before_the_body_is_looked_at(reader: Api):
    answer = reader.send("POST", FIELDS, "not JSON", content_type="text/plain")
    assert answer.refusal == (403, "forbidden", "insufficient_scope")


class TestWhileTheKeysCanNotBeRead:
    """The organization's keys are in a storage that is closed."""

    @pytest.fixture
    def client(self, stand: Stand, closed, api: Api) -> Api:
        validator = StoredKeyValidator(closed.api_keys, stand.clock)
        return stand.client(validator=validator).bearing(api.key)

    @pytest.mark.parametrize(("method", "path"), PLACES)
    def test_a_request_is_answered_503(self, api: Api, client: Api, city, method: str, path: str):
        before = api.state()
        assert client.send(method, path, BODY).status == 503
        assert api.state() == before

    def test_the_answer_says_that_authentication_is_unavailable(self, client: Api):
        answer = client.list()
        assert answer.outcome == (503, "api_key_validation_unavailable")
        assert "Authentication is temporarily unavailable" in answer.error["message"]
        assert int(answer.headers["retry-after"]) > 0
        assert "www-authenticate" not in answer.headers

    @pytest.mark.parametrize(
        "header", [None, "", "Bearer", "Basic a", f"Bearer {WELL_FORMED[:-1]}B"]
    )
    def test_what_is_no_key_is_401_even_then(self, client: Api, header: str | None):
        assert client.list(authorization=header).outcome == (401, "unauthorized")

    def test_a_mistyped_key_is_401_even_then(self, client: Api):
        for typed in mistyped(client.key or ""):
            assert client.list(authorization=f"Bearer {typed}").outcome == (401, "unauthorized")

    def test_what_is_not_under_the_api_is_answered(self, client: Api):
        assert client.send("GET", "/healthz").status == 200
        assert client.send("GET", "/nothing").status == 404


def test_no_key_is_ever_logged_or_answered(
    stand: Stand, bakery: OrganizationId, closed, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    key = stand.issue(bakery, access=Access.READ_ONLY).plain.reveal()
    down = StoredKeyValidator(closed.api_keys, stand.clock)
    broken = stand.client(service=stand.service_over(None)).bearing(key)
    answers: list[Answer] = [broken.list(), broken.send("POST", FIELDS, BODY)]
    answers += [stand.client(validator=down).bearing(key).list()]
    answers += [broken.list(authorization=f"Bearer {key[:-1]}"), broken.send("GET", f"/{key}")]
    assert answers[0].status == 500
    assert not any(key[8:-8] in answer.content.decode() for answer in answers)
    assert not re.search(key[8:-8], caplog.text)
