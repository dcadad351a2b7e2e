"""What a client does when the service, or something before it, misbehaves."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
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
    FieldReplacement,
    KeyValidationUnavailable,
    OrganizationId,
    StorageUnavailable,
    epoch_milliseconds,
)

from ...support.http_server import (
    HANG,
    RESET,
    Heard,
    Play,
    Played,
    Stage,
    always,
    in_turn,
    staged,
)
from ..postgres.examples import NOW

OURS = OrganizationId(1)
KEY = "rfk_secret"
CITY = FieldKey("city")
HASTY = RetryPolicy(deadline=2, connect_timeout=1, backoff=0.001)
CERTIFICATE = Path(__file__).parent.parent / "esp" / "self_signed.pem"

DRAFT = FieldDraft(name="City", key="city", data_type=DataType.TEXT)
FIELD = evolve(DRAFT.define(by=API, at=NOW).with_id(FieldId(7), OURS), version=0)
DOCUMENT = render_field(FIELD)
TAG = f'"7-{epoch_milliseconds(NOW):x}"'

READS: Mapping[str, Callable[[RecipientFields], object]] = {
    "list": lambda client: client.list_fields(OURS),
    "publish": lambda client: client.publish_fields(OURS),
    "find": lambda client: client.find_fields(OURS, FieldQuery(limit=1)),
    "get": lambda client: client.get_field(OURS, CITY),
}
WRITES: Mapping[str, Callable[[RecipientFields], object]] = {
    "create": lambda client: client.create_field(OURS, DRAFT),
    "update": lambda client: client.update_field(OURS, CITY, FieldChanges()),
    "replace": lambda client: client.replace_or_create_field(
        OURS, CITY, FieldReplacement(name="City", data_type="text")
    ),
    "delete": lambda client: client.delete_field(OURS, CITY),
}
CALLS = {**READS, **WRITES}
each_read = pytest.mark.parametrize("call", READS.values(), ids=READS)
each_write = pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def well(heard: Heard) -> Played:
    """What a sound service answers."""
    if heard.method == "DELETE":
        return Played(204)
    if heard.method == "GET" and not heard.path.endswith("/city"):
        listed = {"recipient_fields": [DOCUMENT]}
        return Played.json(listed, ETag='"1-19c"', **{"Total-Count": "1"})
    answer = Played.json({"recipient_field": DOCUMENT}, ETag=TAG)
    return evolve(answer, status=201) if heard.method == "POST" else answer


def refused(status: int, code: str, **headers: str) -> Played:
    error = {"code": code, "message": "Not now.", "request_id": "a1"}
    return evolve(Played.json({"error": error}, **headers), status=status)


def unavailable(code: str = "service_unavailable", after: str = "0") -> Played:
    return refused(503, code, **{"Retry-After": after})


@contextmanager
def playing(
    play: Play, policy: RetryPolicy = HASTY
) -> Iterator[tuple[Stage, RecipientFieldsClient]]:
    with (
        staged(play) as stage,
        RecipientFieldsClient(stage.url, keys={OURS: KEY}, retry_policy=policy) as client,
    ):
        yield stage, client


def failing(call: Callable[[RecipientFields], object], client: RecipientFields) -> str:
    """How the call fails; in time, and without a word of the key or of the field."""
    begun = monotonic()
    with pytest.raises(StorageUnavailable) as failure:
        call(client)
    assert monotonic() - begun < HASTY.deadline + 0.5
    assert KEY not in repr(failure.value)
    assert "City" not in str(failure.value)
    assert failure.value.__cause__ is None
    return str(failure.value)


@each_call
def test_a_sound_service_is_asked_once(call):
    with playing(well) as (stage, client):
        call(client)
    (heard,) = stage.heard
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert heard.headers["accept"] == "application/json"
    assert heard.headers["user-agent"].startswith("recipient-fields-client/")
    assert ("content-type" in heard.headers) is bool(heard.body)


TROUBLES = {
    "unavailable": unavailable(),
    "overloaded": unavailable("overloaded"),
    "keys can't be checked": unavailable("api_key_validation_unavailable"),
    "a proxy without a service": Played(502, b"<html>", {"Content-Type": "text/html"}),
    "a proxy that timed out": Played(504),
    "a proxy that limits the rate": Played(429, b"", {"Retry-After": "0"}),
    "reset": RESET,
    "half an answer": Played(200, b"{", promised=100),
    "nothing": (b"",),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n",),
}


@each_read
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_read_is_repeated_until_it_is_answered(call, trouble):
    with playing(in_turn([trouble, trouble], well)) as (stage, client):
        call(client)
    assert len(stage.heard) == 3


@each_write
@pytest.mark.parametrize("code", ["overloaded", "api_key_validation_unavailable"])
def test_a_write_that_was_not_begun_is_repeated(call, code):
    with playing(in_turn([unavailable(code)] * 2, well)) as (stage, client):
        call(client)
    first, *others = stage.heard
    assert others == [first] * 2


@each_write
@pytest.mark.parametrize(
    "trouble",
    [trouble for name, trouble in TROUBLES.items() if name not in {
        "overloaded", "keys can't be checked"
    }],
    ids=repr,
)  # fmt: skip
def test_a_write_that_may_have_happened_is_not_repeated(call, trouble):
    with playing(in_turn([trouble], well)) as (stage, client):
        failing(call, client)
    assert len(stage.heard) == 1


@each_call
def test_a_service_that_nobody_runs_is_asked_several_times(call, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    waits: list[float] = []
    monkeypatch.setattr("recipient_fields.adapters.client.retries.sleep", waits.append)
    client = RecipientFieldsClient(f"http://127.0.0.1:{port}", keys={OURS: KEY}, retry_policy=HASTY)
    with client:
        assert failing(call, client) == (
            "The service can't be reached: no connection can be opened."
        )
    assert len(waits) == HASTY.attempts - 1
    assert 0 < waits[0] <= 0.001 < waits[2] <= 0.004


def test_attempts_come_to_an_end():
    with playing(always(unavailable())) as (stage, client):
        failing(READS["get"], client)
    assert len(stage.heard) == HASTY.attempts


def test_retry_after_is_waited_for():
    with playing(in_turn([unavailable(after="1")], well)) as (stage, client):
        begun = monotonic()
        READS["get"](client)
    assert monotonic() - begun >= 1
    assert len(stage.heard) == 2


@each_call
@pytest.mark.parametrize("after", ["3", "100000", "9" * 400, "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_wait_beyond_the_deadline_is_not_begun(call, after):
    with playing(always(unavailable("overloaded", after))) as (stage, client):
        begun = monotonic()
        assert failing(call, client) == "Not now."
        assert monotonic() - begun < 0.5
    assert len(stage.heard) == 1


@pytest.mark.parametrize("after", ["", "soon", "-1", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_wait_that_says_nothing_is_none(after):
    with playing(in_turn([unavailable(after=after)], well)) as (stage, client):
        READS["get"](client)
    assert len(stage.heard) == 2


def test_keys_that_can_not_be_checked_are_told_apart():
    play = always(unavailable("api_key_validation_unavailable"))
    with playing(play) as (_, client), pytest.raises(KeyValidationUnavailable):
        client.list_fields(OURS)


@each_call
def test_a_silent_service_is_given_up_in_time(call):
    with playing(always(HANG), evolve(HASTY, deadline=0.3)) as (stage, client):
        begun = monotonic()
        assert failing(call, client) == "The service did not respond in time."
        assert 0.25 < monotonic() - begun < 1
    assert len(stage.heard) == 1


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPPING = {
    "status line": b"",
    "a header": HEAD + b"X-Slow: ",
    "the body": HEAD + b"Content-Length: 1000\r\n\r\n",
    "a body of no length": HEAD + b"Connection: close\r\n\r\n",
    "the size of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "a trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Slow: ",
    "a failure": b"HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n",
}


def dripping(begun: bytes) -> Iterator[bytes]:
    yield begun
    for _ in repeat(None, 60):
        sleep(0.05)
        yield b"0"


@pytest.mark.parametrize("begun", DRIPPING.values(), ids=DRIPPING)
def test_a_call_ends_in_time_wherever_an_answer_drips(begun):
    with playing(lambda _: dripping(begun), evolve(HASTY, deadline=0.3)) as (_, client):
        begun_at = monotonic()
        assert failing(READS["get"], client) == "The service did not respond in time."
        assert 0.25 < monotonic() - begun_at < 1


def test_an_answer_that_stops_late_is_not_waited_for_anew():
    def stopping() -> Iterator[bytes]:
        sleep(0.7)
        yield HEAD
        sleep(1.3)

    with playing(lambda _: stopping(), evolve(HASTY, deadline=1)) as (_, client):
        begun = monotonic()
        assert failing(READS["get"], client) == "The service did not respond in time."
        assert monotonic() - begun < 1.5


def test_an_answer_may_drip_while_there_is_time():
    body = json.dumps({"recipient_field": DOCUMENT}).encode()
    head = HEAD + f"ETag: {TAG}\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    def slowly() -> Iterator[bytes]:
        for start in range(0, len(head + body), 100):
            sleep(0.01)
            yield (head + body)[start : start + 100]

    with playing(lambda _: slowly()) as (_, client):
        assert client.get_field(OURS, CITY) == FIELD


def test_an_answer_that_is_too_large_is_not_read_to_its_end():
    with playing(well, evolve(HASTY, max_response=100)) as (stage, client):
        assert "more than 100 bytes" in failing(READS["list"], client)
    assert len(stage.heard) == 1


REDIRECTIONS = pytest.mark.parametrize("status", [301, 302, 303, 307, 308])


@each_call
@REDIRECTIONS
def test_a_redirection_is_not_followed(call, status):
    elsewhere: list[Heard] = []

    def play(heard: Heard) -> Played:
        elsewhere.append(heard)
        return Played(200)

    with staged(play) as other:
        to = {"Location": f"{other.url}/api/v1/recipient_fields"}
        with playing(always(Played(status, b"", to))) as (stage, client):
            failing(call, client)
    assert len(stage.heard) == 1
    assert elsewhere == []


def spoilt(name: str, value: Any) -> Played:
    return Played.json({"recipient_field": {**DOCUMENT, name: value}}, ETag=TAG)


def without(name: str) -> Played:
    members = {k: v for k, v in DOCUMENT.items() if k != name}
    return Played.json({"recipient_field": members}, ETag=TAG)


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
NOT_A_FIELD = {
    "a page of HTML": Played(200, b"<html>", {"Content-Type": "text/html"}),
    "nothing": Played(200),
    "no JSON": Played(200, b"{", {"Content-Type": "application/json", "ETag": TAG}),
    "not a number": Played(200, b"NaN", {"Content-Type": "application/json", "ETag": TAG}),
    "compressed": Played(
        200,
        gzip.compress(json.dumps({"recipient_field": DOCUMENT}).encode()),
        {"Content-Type": "application/json", "Content-Encoding": "gzip", "ETag": TAG},
    ),
    "nested without end": Played(200, b"[" * 10**6, {"Content-Type": "application/json"}),
    "an array": Played.json([], ETag=TAG),
    "another object": Played.json({"field": DOCUMENT}, ETag=TAG),
    "no object": Played.json({"recipient_field": [DOCUMENT]}, ETag=TAG),
    "no ETag": Played.json({"recipient_field": DOCUMENT}),
    "an ETag without quotes": Played.json({"recipient_field": DOCUMENT}, ETag=TAG.strip('"')),
    "the ETag of another version": Played.json({"recipient_field": DOCUMENT}, ETag='"7-1"'),
    **{f"without {name}": without(name) for name in DOCUMENT},
    **{
        f"{name} is {value!r}": spoilt(name, value)
        for name, values in INVALID_VALUES.items()
        for value in values
    },
}  # fmt: skip


@pytest.mark.parametrize("answer", NOT_A_FIELD.values(), ids=NOT_A_FIELD)
def test_what_is_no_field_is_not_taken_for_one(answer):
    with playing(always(answer)) as (stage, client):
        assert "does not match its contract" in failing(READS["get"], client)
    assert len(stage.heard) == 1


@pytest.mark.parametrize("status", [201, 202, 203, 204, 206, 304])
def test_another_success_is_none(status):
    with playing(lambda heard: evolve(well(heard), status=status, body=b"")) as (_, client):
        assert str(status) in failing(READS["get"], client)


LISTED = {"recipient_fields": [DOCUMENT]}
NOT_A_LIST = {
    "no ETag": Played.json(LISTED, **{"Total-Count": "1"}),
    "the ETag of a field's": Played.json(LISTED, ETag='"a"', **{"Total-Count": "1"}),
    "of another organization": Played.json(LISTED, ETag='"2-19c"', **{"Total-Count": "1"}),
    "no count": Played.json(LISTED, ETag='"1-19c"'),
    "a count that is none": Played.json(LISTED, ETag='"1-19c"', **{"Total-Count": "-1"}),
    "no array": Played.json({"recipient_fields": {}}, ETag='"1-19c"', **{"Total-Count": "0"}),
    "no fields": Played.json({"recipient_fields": [5]}, ETag='"1-19c"', **{"Total-Count": "1"}),
    **{
        f"the id {number}": Played.json(
            {"recipient_fields": [{**DOCUMENT, "id": number}]},
            ETag='"1-19c"',
            **{"Total-Count": "1"},
        )
        for number in (0, -1, 2**53)
    },
    "no list": Played.json({}, ETag='"1-19c"', **{"Total-Count": "0"}),
}
NOT_THE_CATALOG = {
    "a part": Played.json(LISTED, ETag='"1-19c"', **{"Total-Count": "2"}),
    "one field twice": Played.json(
        {"recipient_fields": [DOCUMENT] * 2}, ETag='"1-19c"', **{"Total-Count": "2"}
    ),
}
NOT_A_PAGE = {
    "a link elsewhere": Played.json(
        LISTED, ETag='"1-19c"', **{"Total-Count": "2", "Link": '</x>; rel="prev"'}
    ),
    "a link without a cursor": Played.json(
        LISTED, ETag='"1-19c"', **{"Total-Count": "2", "Link": '</x?limit=1>; rel="next"'}
    ),
    "a page behind an empty one": Played.json(
        {"recipient_fields": []},
        ETag='"1-19c"',
        **{"Total-Count": "2", "Link": '</x?cursor=a>; rel="next"'},
    ),
}


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        *[(READS[name], answer) for name in ("list", "find") for answer in NOT_A_LIST.values()],
        *[(READS["list"], answer) for answer in NOT_THE_CATALOG.values()],
        *[(READS["find"], answer) for answer in NOT_A_PAGE.values()],
    ],
)
def test_what_is_no_list_is_not_taken_for_one(call, answer):
    with playing(always(answer)) as (_, client):
        assert "does not match its contract" in failing(call, client)


def test_members_and_headers_of_later_services_are_passed_over():
    answer = Played.json(
        {"recipient_field": {**DOCUMENT, "color": "red"}, "more": 1}, ETag=TAG, **{"X-New": "1"}
    )
    with playing(always(answer)) as (_, client):
        assert client.get_field(OURS, CITY) == FIELD


def test_an_etag_that_a_proxy_has_weakened_is_still_read():
    with playing(always(Played.json({"recipient_field": DOCUMENT}, ETag=f"W/{TAG}"))) as (_, c):
        assert c.get_field(OURS, CITY).version_tag == TAG.strip('"')


def test_a_service_that_no_longer_knows_a_cursor_is_asked_for_everything():
    documents = [{**DOCUMENT, "id": n, "key": f"k{n}"} for n in (7, 8)]

    def play(heard: Heard) -> Played:
        if "cursor" in heard.query:
            return refused(400, "invalid_parameter")
        if "limit" in heard.query:
            link = '</api/v1/recipient_fields?limit=1&cursor=a>; rel="next"'
            more = {"Total-Count": "2", "Link": link}
            return Played.json({"recipient_fields": documents[:1]}, ETag='"1-19c"', **more)
        listed = {"recipient_fields": documents}
        return Played.json(listed, ETag='"1-19c"', **{"Total-Count": "2"})

    query = FieldQuery(limit=1)
    with playing(play) as (stage, client):
        first = client.find_fields(OURS, query)
        second = client.find_fields(OURS, evolve(query, after=first.next))
    assert [field.id for field in (*first.fields, *second.fields)] == [7, 8]
    assert (second.total, second.next) == (2, None)
    assert [heard.query.get("cursor") for heard in stage.heard] == [None, "a", None]


def test_a_query_that_is_too_long_for_a_url_is_not_sent():
    keys = frozenset(FieldKey(f"key_{n}") for n in range(1_000))
    with playing(well) as (stage, client):
        assert client.find_fields(OURS, FieldQuery(keys=keys)).fields == ()
    (heard,) = stage.heard
    assert heard.query == {}


def test_a_certificate_that_nobody_vouches_for_is_refused():
    with staged(well, certificate=CERTIFICATE) as stage:
        client = RecipientFieldsClient(stage.url, keys={OURS: KEY}, retry_policy=HASTY)
        with client:
            assert "certificate" in failing(READS["get"], client)
    assert stage.heard == []


@each_write
def test_a_connection_that_the_service_has_closed_is_not_written_to(call):
    body = json.dumps({"recipient_field": DOCUMENT}).encode()
    head = HEAD + f"ETag: {TAG}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with playing(in_turn([(head, body)], well)) as (stage, client):
        client.get_field(OURS, CITY)
        while stage.connections:
            sleep(0.001)
        call(client)
    assert len(stage.heard) == 2


def test_calls_share_a_connection():
    with playing(well) as (stage, client):
        for call in CALLS.values():
            call(client)
            assert stage.connections == 1


@each_call
def test_a_closed_client_says_that_it_is(call):
    with playing(well) as (stage, client):
        client.close()
        client.close()
        assert failing(call, client) == ("The service can't be reached: this client is closed.")
    assert stage.heard == []


@pytest.mark.parametrize(
    "limit", ["deadline", "connect_timeout", "attempts", "backoff", "max_response"]
)
def test_a_retry_policy_rejects_a_negative_number(limit):
    with pytest.raises(ValueError, match=limit):
        RetryPolicy(**{limit: -1})
