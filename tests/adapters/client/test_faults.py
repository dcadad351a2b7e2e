"""The client, when the service or a proxy fails or sends invalid responses."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic, sleep
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.adapters.client import RecipientFieldsClient, RetryPolicy
from recipient_fields.application import RecipientFields, render_field
from recipient_fields.domain import (
    API,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldQuery,
    KeyValidationUnavailable,
    OrganizationId,
    StorageUnavailable,
    epoch_milliseconds,
)
from recipient_fields.domain.content import parse_content
from recipient_fields.domain.esp import Esp
from recipient_fields.testing.examples import NOW, in_pairs

from ...support.http_server import (
    HANG,
    RESET,
    ReceivedRequest,
    StubResponse,
    always,
    in_turn,
    stub_server,
)
from . import live_server

ORGANIZATION = OrganizationId(1)
KEY = "rfk_secret"
CITY = FieldKey("city")
SHORT_DEADLINE = RetryPolicy(deadline=2, connect_timeout=1, backoff=0.001)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

DRAFT = FieldDraft(name="City", key="city", data_type=DataType.TEXT)
FIELD = evolve(DRAFT.define(by=API, at=NOW).with_id(FieldId(7), ORGANIZATION), version=0)
DOCUMENT = render_field(FIELD)
TAG = f'"7-{epoch_milliseconds(NOW):x}"'
RESPONSE = StubResponse.json({"recipient_field": DOCUMENT}, ETag=TAG)

READS: Mapping[str, Callable[[RecipientFields], object]] = {
    "list": lambda client: client.list_fields(ORGANIZATION),
    "publish": lambda client: client.publish_fields(ORGANIZATION),
    "find": lambda client: client.find_fields(ORGANIZATION, FieldQuery(limit=1)),
    "get": lambda client: client.get_field(ORGANIZATION, CITY),
}
WRITES: Mapping[str, Callable[[RecipientFields], object]] = {
    "create": lambda client: client.create_field(ORGANIZATION, DRAFT),
    "update": lambda client: client.update_field(ORGANIZATION, CITY, FieldChanges()),
    "replace": lambda client: client.replace_or_create_field(
        ORGANIZATION, FieldDraft(name="City", data_type="text")
    ),
    "delete": lambda client: client.delete_field(ORGANIZATION, CITY),
}
CALLS = {**READS, **WRITES}
each_write = pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def valid_response(request: ReceivedRequest) -> StubResponse:
    """Return the response of a service that works."""
    if request.method == "DELETE":
        return StubResponse(204)
    if request.method == "GET" and not request.path.endswith("/city"):
        return list_response(DOCUMENT, Total_Count="1")
    return evolve(RESPONSE, status=201) if request.method == "POST" else RESPONSE


def error_response(status: int, code: str, **headers: str) -> StubResponse:
    error = {"code": code, "message": "Not now.", "request_id": "a1"}
    return evolve(StubResponse.json({"error": error}, **headers), status=status)


def unavailable(code: str = "service_unavailable", after: str = "0") -> StubResponse:
    return error_response(503, code, **{"Retry-After": after})


stub_service = partial(live_server.stub_service, keys={ORGANIZATION: KEY}, policy=SHORT_DEADLINE)


def error_message(call: Callable[[RecipientFields], object], client: RecipientFields) -> str:
    """Return the message of the call's StorageUnavailable, without the key and the field."""
    with pytest.raises(StorageUnavailable) as error:
        call(client)
    assert KEY not in repr(error.value)
    assert "City" not in str(error.value)
    assert error.value.__cause__ is None
    return str(error.value)


@each_call
def test_a_successful_call_sends_one_request(call):
    with stub_service(valid_response) as (server, client):
        call(client)
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept"] == "application/json"
    assert request.headers["user-agent"].startswith("recipient-fields-client/")
    assert ("content-type" in request.headers) is bool(request.body)


FAILURES: dict[str, Any] = {
    "unavailable": unavailable(),
    "overloaded": unavailable("overloaded"),
    "keys can't be checked": unavailable("api_key_validation_unavailable"),
    "a proxy without a service": StubResponse(502, b"<html>", {"Content-Type": "text/html"}),
    "a proxy that timed out": StubResponse(504),
    "a proxy that limits the rate": StubResponse(429, b"", {"Retry-After": "0"}),
    "reset": RESET,
    "half a response": StubResponse(200, b"{", content_length=100),
    "an empty response": (b"",),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n",),
}


@in_pairs(call=READS, failure=FAILURES)
def test_a_read_is_retried_until_it_succeeds(call, failure):
    with stub_service(in_turn([failure] * 2, valid_response)) as (server, client):
        call(client)
    assert len(server.requests) == 3


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_an_export_is_retried_like_a_read(failure):
    exported = {"content": "Hello", "surface": "text", "warnings": [], "fields": []}
    succeeding = always(StubResponse.json(exported))
    with stub_service(in_turn([failure, failure], succeeding)) as (server, client):
        content = client.export_content(ORGANIZATION, parse_content("Hello"), Esp("braze"))
    first, *others = server.requests
    assert (content.content, others) == ("Hello", [first] * 2)


@in_pairs(call=WRITES, code=["overloaded", "api_key_validation_unavailable"])
def test_a_write_that_the_service_has_not_started_is_retried(call, code):
    with stub_service(in_turn([unavailable(code)] * 2, valid_response)) as (server, client):
        call(client)
    first, *others = server.requests
    assert others == [first] * 2


@in_pairs(
    call=WRITES,
    failure={
        name: failure
        for name, failure in FAILURES.items()
        if name not in {"overloaded", "keys can't be checked"}
    },
)
def test_a_write_that_may_be_stored_is_not_retried(call, failure):
    with stub_service(in_turn([failure], valid_response)) as (server, client):
        error_message(call, client)
    assert len(server.requests) == 1


@each_call
def test_a_refused_connection_is_retried_with_backoff(call, waits):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    client = RecipientFieldsClient(
        f"http://127.0.0.1:{port}", keys={ORGANIZATION: KEY}, retry_policy=SHORT_DEADLINE
    )
    with client:
        message = error_message(call, client)
    assert message == "The service can't be reached: no connection can be opened."
    assert len(waits) == SHORT_DEADLINE.attempts - 1
    assert 0 < waits[0] <= 0.001 < waits[2] <= 0.004


def test_the_number_of_attempts_is_limited():
    with stub_service(always(unavailable())) as (server, client):
        error_message(READS["get"], client)
    assert len(server.requests) == SHORT_DEADLINE.attempts


def test_a_retry_waits_as_long_as_retry_after_says():
    with stub_service(in_turn([unavailable(after="1")], valid_response)) as (server, client):
        started = monotonic()
        READS["get"](client)
    assert monotonic() - started >= 1
    assert len(server.requests) == 2


@in_pairs(call=CALLS, after=["3", "100000", "9" * 400, "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_retry_after_beyond_the_deadline_fails_immediately(call, after, waits):
    with stub_service(always(unavailable("overloaded", after))) as (server, client):
        assert error_message(call, client) == "Not now."
    assert len(server.requests) == 1
    assert waits == []


@pytest.mark.parametrize("after", ["", "soon", "-1", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_an_invalid_or_past_retry_after_is_ignored(after):
    with stub_service(in_turn([unavailable(after=after)], valid_response)) as (server, client):
        READS["get"](client)
    assert len(server.requests) == 2


def test_a_failed_key_validation_has_its_own_error():
    handler = always(unavailable("api_key_validation_unavailable"))
    with stub_service(handler) as (_, client), pytest.raises(KeyValidationUnavailable):
        client.list_fields(ORGANIZATION)


@each_call
def test_a_service_that_does_not_respond_times_out_at_the_deadline(call):
    policy = evolve(SHORT_DEADLINE, deadline=0.4)
    with stub_service(always(HANG), policy=policy) as (server, client):
        assert error_message(call, client) == "The service did not respond in time."
    assert len(server.requests) == 1


def test_a_response_above_the_size_limit_is_an_error():
    policy = evolve(SHORT_DEADLINE, max_response=100)
    with stub_service(valid_response, policy=policy) as (server, client):
        assert "more than 100 bytes" in error_message(READS["list"], client)
    assert len(server.requests) == 1


@in_pairs(call=CALLS, status=[301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(call, status):
    with stub_server(always(StubResponse(200))) as target:
        headers = {"Location": f"{target.url}/api/v1/recipient_fields"}
        with stub_service(always(StubResponse(status, b"", headers))) as (server, client):
            error_message(call, client)
    assert len(server.requests) == 1
    assert target.requests == []


def field_response_with(name: str, value: Any) -> StubResponse:
    return StubResponse.json({"recipient_field": {**DOCUMENT, name: value}}, ETag=TAG)


def field_response_without(name: str) -> StubResponse:
    members = {k: v for k, v in DOCUMENT.items() if k != name}
    return StubResponse.json({"recipient_field": members}, ETag=TAG)


INVALID_VALUES: dict[str, list[object]] = {
    "id": ["7", 7.0, True, None, 0, -1, 2**53],
    "name": [5, None, "", "a\nb", []],
    "key": [5, None, "", "Not a key", "id"],
    "data_type": [5, None, "string", []],
    "allowed_values": [[], ["a", "a"], [5], "a", {}, [None]],
    "insertable": [None, 0, "true"],
    "source": ["manual ", None, 5, "integration"],
    "integration_id": [5, "5"],
    "esp_field_name": ["CITY", 5],
    "custom_insertion_code": ["", 5, "\0"],
    "custom_value_expression": ["", "a" * 2_001, False],
    "created_at": [None, 0, "2026-11-20", "2026-11-20T09:15:00Z"],
    "updated_at": [None, "2026-11-20T09:15:00.123+00:00", "0001-01-01T00:00:00.000+23:00"],
}
INVALID_FIELD_RESPONSES = {
    "HTML": StubResponse(200, b"<html>", {"Content-Type": "text/html"}),
    "an empty body": StubResponse(200),
    "invalid JSON": StubResponse(200, b"{", {"Content-Type": "application/json", "ETag": TAG}),
    "NaN": StubResponse(200, b"NaN", {"Content-Type": "application/json", "ETag": TAG}),
    "nested too deep": StubResponse(200, b"[" * 10**6, {"Content-Type": "application/json"}),
    "an array": StubResponse.json([], ETag=TAG),
    "another object": StubResponse.json({"field": DOCUMENT}, ETag=TAG),
    "an array instead of the field": StubResponse.json({"recipient_field": [DOCUMENT]}, ETag=TAG),
    "no ETag": StubResponse.json({"recipient_field": DOCUMENT}),
    "an ETag without quotes": StubResponse.json({"recipient_field": DOCUMENT}, ETag=TAG.strip('"')),
    "the ETag of another version": StubResponse.json({"recipient_field": DOCUMENT}, ETag='"7-1"'),
    **{f"without {name}": field_response_without(name) for name in DOCUMENT},
    **{
        f"{name} is {value!r}": field_response_with(name, value)
        for name, values in INVALID_VALUES.items()
        for value in values
    },
}  # fmt: skip


@pytest.mark.parametrize("response", INVALID_FIELD_RESPONSES.values(), ids=INVALID_FIELD_RESPONSES)
def test_an_invalid_field_raises_storage_unavailable(response):
    with stub_service(always(response)) as (server, client):
        assert "does not match its contract" in error_message(READS["get"], client)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [201, 202, 203, 204, 206, 304])
def test_an_unexpected_successful_status_raises_storage_unavailable(status):
    def handler(request: ReceivedRequest) -> StubResponse:
        return evolve(valid_response(request), status=status, body=b"")

    with stub_service(handler) as (_, client):
        assert str(status) in error_message(READS["get"], client)


def list_response(*fields: object, etag: str | None = '"1-19c"', **headers: str) -> StubResponse:
    """Return a list. Underscores in the names of headers are hyphens."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    tag = {} if etag is None else {"ETag": etag}
    return StubResponse.json({"recipient_fields": fields}, **tag, **sent)


INVALID_LIST_RESPONSES = {
    "no ETag": list_response(DOCUMENT, etag=None, Total_Count="1"),
    "an ETag that is not that of a catalog": list_response(DOCUMENT, etag='"a"', Total_Count="1"),
    "no Total-Count": list_response(DOCUMENT),
    "an invalid Total-Count": list_response(DOCUMENT, Total_Count="-1"),
    "no array": StubResponse.json({"recipient_fields": {}}, ETag='"1-19c"', **{"Total-Count": "0"}),
    "items that are not objects": list_response(5, Total_Count="1"),
    **{
        f"the id {number}": list_response({**DOCUMENT, "id": number}, Total_Count="1")
        for number in (0, -1, 2**53)
    },
    "no recipient_fields": StubResponse.json({}, ETag='"1-19c"', **{"Total-Count": "0"}),
}
INVALID_CATALOG_RESPONSES = {
    "fewer fields than Total-Count": list_response(DOCUMENT, Total_Count="2"),
    "one field twice": list_response(DOCUMENT, DOCUMENT, Total_Count="2"),
}
INVALID_PAGE_RESPONSES = {
    "a link that is not next": list_response(DOCUMENT, Total_Count="2", Link='</x>; rel="prev"'),
    "a link without a cursor": list_response(
        DOCUMENT, Total_Count="2", Link='</x?limit=1>; rel="next"'
    ),
    "a next page after an empty one": list_response(
        Total_Count="2", Link='</x?cursor=a>; rel="next"'
    ),
}


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *[(name, fault) for name in ("list", "find") for fault in INVALID_LIST_RESPONSES],
        *[("list", fault) for fault in INVALID_CATALOG_RESPONSES],
        *[("find", fault) for fault in INVALID_PAGE_RESPONSES],
    ],
)
def test_an_invalid_list_raises_storage_unavailable(name, fault):
    responses = INVALID_LIST_RESPONSES | INVALID_CATALOG_RESPONSES | INVALID_PAGE_RESPONSES
    with stub_service(always(responses[fault])) as (_, client):
        assert "does not match its contract" in error_message(READS[name], client)


INTEGRATION = {
    "id": 1,
    "name": "Main list",
    "esp": "mailchimp",
    "last_synced_at": None,
    "created_at": "2026-11-20T09:15:00.123Z",
    "names": [{"field_id": 2, "esp_field_name": "SHOP", "custom": False}],
    "refused_names": [],
}
SECOND_INTEGRATION = {**INTEGRATION, "id": 2}


@pytest.mark.parametrize(
    "integrations",
    [
        *([{**INTEGRATION, "esp": esp}] for esp in ("N/A", None)),
        *([{**INTEGRATION, "names": [{"field_id": number}]}] for number in (0, "2")),
        [{name: value for name, value in INTEGRATION.items() if name != "names"}],
        [{**INTEGRATION, "name": ""}],
        [INTEGRATION, INTEGRATION],
        [SECOND_INTEGRATION, INTEGRATION],
    ],
)
def test_an_invalid_list_of_integrations_raises_storage_unavailable(integrations):
    response = StubResponse.json({"integrations": integrations})
    with (
        stub_service(always(response)) as (_, client),
        pytest.raises(StorageUnavailable, match=r"does not match its contract: .* another version"),
    ):
        client.list_integrations(ORGANIZATION)


UNUSUAL_RESPONSES = {
    "unknown members": StubResponse.json(
        {"recipient_field": {**DOCUMENT, "color": "red"}, "more": 1}, ETag=TAG
    ),
    "an unknown header": evolve(RESPONSE, headers={**RESPONSE.headers, "X-New": "1"}),
    "a compressed body": evolve(
        RESPONSE,
        body=gzip.compress(RESPONSE.body),
        headers={**RESPONSE.headers, "Content-Encoding": "gzip"},
    ),
    "a weak ETag": StubResponse.json({"recipient_field": DOCUMENT}, ETag=f"W/{TAG}"),
}


@pytest.mark.parametrize("response", UNUSUAL_RESPONSES.values(), ids=UNUSUAL_RESPONSES)
def test_an_unusual_response_is_read(response):
    with stub_service(always(response)) as (_, client):
        field = client.get_field(ORGANIZATION, CITY)
    assert (field, field.version_tag) == (FIELD, TAG.strip('"'))


def test_the_client_reads_the_whole_list_if_the_service_rejects_the_cursor():
    documents = [{**DOCUMENT, "id": n, "key": f"k{n}"} for n in (7, 8)]

    def handler(request: ReceivedRequest) -> StubResponse:
        if "cursor" in request.query:
            return error_response(400, "invalid_parameter")
        if "limit" in request.query:
            link = '</api/v1/recipient_fields?limit=1&cursor=a>; rel="next"'
            return list_response(documents[0], Total_Count="2", Link=link)
        return list_response(*documents, Total_Count="2")

    query = FieldQuery(limit=1)
    with stub_service(handler) as (server, client):
        first = client.find_fields(ORGANIZATION, query)
        second = client.find_fields(ORGANIZATION, evolve(query, after=first.next))
    assert [field.id for field in (*first.fields, *second.fields)] == [7, 8]
    assert (second.total, second.next) == (2, None)
    assert [request.query.get("cursor") for request in server.requests] == [None, "a", None]


def test_a_query_that_is_too_long_for_a_url_is_not_sent():
    keys = frozenset(FieldKey(f"key_{n}") for n in range(1_000))
    with stub_service(valid_response) as (server, client):
        assert client.find_fields(ORGANIZATION, FieldQuery(keys=keys)).fields == ()
    (request,) = server.requests
    assert request.query == {}


@each_write
def test_a_write_does_not_use_a_connection_that_the_service_has_closed(call):
    head = HEAD + f"ETag: {TAG}\r\nContent-Length: {len(RESPONSE.body)}\r\n\r\n".encode()
    with stub_service(in_turn([(head, RESPONSE.body)], valid_response)) as (server, client):
        client.get_field(ORGANIZATION, CITY)
        while server.connections:
            sleep(0.001)
        call(client)
    assert len(server.requests) == 2


def test_calls_share_a_connection():
    with stub_service(valid_response) as (server, client):
        for call in CALLS.values():
            call(client)
            assert server.connections == 1


@each_call
def test_a_call_of_a_closed_client_raises_storage_unavailable(call):
    with stub_service(valid_response) as (server, client):
        client.close()
        client.close()
        message = error_message(call, client)
    assert message == "The service can't be reached: the connections to it were closed."
    assert server.requests == []


@pytest.mark.parametrize(
    "limit", ["deadline", "connect_timeout", "attempts", "backoff", "max_response"]
)
def test_a_retry_policy_rejects_a_negative_number(limit):
    with pytest.raises(ValueError, match=limit):
        RetryPolicy(**{limit: -1})
