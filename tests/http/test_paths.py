"""Paths: digits are an id, and anything else is a key."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen
from falcon.testing import TestClient

from .api import FIELDS, enveloped

STORAGES = ("memory",)  # These requests do not reach the storage.

NO_IDS = [
    "0", "01", "00", "+1", "-1", "%2B1", "1_0", "1_", "1%20", "%201", "1%0A", "1%09", "%C2%A01",
    "%D9%A1", "%EF%BC%91", "1%D9%A1", "9223372036854775808", "9223372036854775807",
    "18446744073709551616", "10000000000000000", "9" * 1_000,
]  # fmt: skip
"""Numbers that are not valid ids. `%D9%A1` is the Arabic digit 1."""

NO_ROUTES = [
    "/", "/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/recipient_fields", "/api/v1/fields",
    "/API/v1/recipient_fields", "/api/v1/Recipient_Fields", "/api/v1/recipient_field",
    f"{FIELDS}/", f"{FIELDS}//", f"{FIELDS}/city/", f"{FIELDS}/1/", f"{FIELDS}/city/name",
    f"{FIELDS}//city", f"/{FIELDS}", f"{FIELDS}%2F", f"{FIELDS}%2Fcity", f"{FIELDS}/city%2F",
    f"{FIELDS}/city%2f", f"{FIELDS}/%2Fcity", "/api%2Fv1/recipient_fields", "/healthz/",
    "//healthz", "/healthz%2F",
    "/Healthz", "/readyz/", f"{FIELDS}/./city", f"{FIELDS}/../recipient_fields",
    f"{FIELDS};a=1",
]  # fmt: skip

BODY = enveloped({"name": "Town", "data_type": "text"})
VERBS = ("GET", "HEAD", "PATCH", "PUT", "DELETE")


@pytest.mark.parametrize("verb", VERBS)
def test_text_that_only_resembles_an_id_is_not_found(api, city, verb):
    assert city["id"] == 1  # A lenient parser would find this field for some of them.
    before = api.state()
    statuses = {text: api.send(verb, f"{FIELDS}/{text}", BODY).status for text in NO_IDS}
    assert statuses == dict.fromkeys(NO_IDS, 404)
    assert api.state() == before


@frozen
class FailsIfCalled:
    """A repository that must not be called."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"`{name}` was called")


@pytest.mark.parametrize("verb", ["GET", "HEAD", "PATCH", "DELETE"])
def test_impossible_ids_and_keys_do_not_reach_the_storage(harness, api, verb):
    client = harness.client(fields=harness.service_with(FailsIfCalled())).with_key(api.key)
    texts = [*NO_IDS, "City", "type", "%00", "a" * 64]
    statuses = {text: client.send(verb, f"{FIELDS}/{text}", BODY).status for text in texts}
    assert statuses == dict.fromkeys(texts, 404)


def test_other_paths_are_not_found(api, city):
    before = api.state()
    for verb in (*VERBS, "POST", "OPTIONS"):
        statuses = {path: api.send(verb, path, BODY).status for path in NO_ROUTES}
        assert statuses == dict.fromkeys(NO_ROUTES, 404)
    assert api.state() == before


def test_a_trailing_slash_is_named(api):
    message = api.send("GET", f"{FIELDS}/").error["message"]
    assert message == "The path must not end with a slash. Remove it."


@pytest.mark.parametrize("path", [f"/{FIELDS}", "/nothing", "/", "/healthz%2F"])
def test_other_paths_outside_of_the_api_get_404_without_a_key(harness, path):
    assert harness.client().send("GET", path).status_and_code == (404, "not_found")


def test_a_path_can_be_percent_encoded(api, city):
    assert api.get("%63ity").field == city
    assert api.send("GET", "/%61pi/v1/recipient%5Ffields/city").field == city


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("/healthz", 200),
        ("/healthz?next=//a%2Fb", 400),
        ("http://example.com/healthz", 200),
        ("//healthz", 404),
        ("/%2fhealthz", 404),
        ("/healthz%2F", 404),
        ("HTTP://EXAMPLE.COM//healthz", 404),
        ("http://example.com/healthz%2f", 404),
    ],
)
def test_the_path_is_checked_as_sent_if_the_server_provides_it(harness, sent, status):
    query = sent.partition("?")[2]
    get = TestClient(harness.app()).simulate_get
    for name in ("REQUEST_URI", "RAW_URI"):
        response = get("/healthz", query_string=query, extras={name: sent})
        assert response.status_code == status


@pytest.mark.parametrize("path", [f"{FIELDS}?", f"{FIELDS}/city?", "/healthz?", "/readyz?"])
def test_an_empty_query_is_ignored(api, city, path):
    assert api.send("GET", path).status == 200


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("GET", FIELDS),
        ("HEAD", FIELDS),
        ("POST", FIELDS),
        ("OPTIONS", FIELDS),
        *[(verb, f"{FIELDS}/city") for verb in (*VERBS, "OPTIONS")],
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    ],
)
def test_an_unknown_parameter_is_rejected(api, city, verb, path):
    before = api.state()
    for query in ("nonsense=1", "nonsense", "Source=api", "a=1&a=1", "%FF=%FF"):
        assert api.send(verb, f"{path}?{query}", BODY).status == 400
    assert api.state() == before


def test_the_rejection_of_a_parameter_repeats_its_name_and_not_its_value(api):
    response = api.send("GET", f"{FIELDS}?zanzibar=okapi")
    assert response.status_and_code == (400, "invalid_parameter")
    assert "`zanzibar`" in response.error["message"]
    assert b"okapi" not in response.content
