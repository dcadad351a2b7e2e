"""What the log tells of requests, and what it never shows."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from ipaddress import ip_network
from threading import Event
from time import monotonic, sleep
from typing import Any, TypeAlias

import pytest
from falcon.testing import TestClient

from recipient_fields.application import AUDIT
from recipient_fields.domain import (
    Access,
    Credential,
    OrganizationId,
    PlainKey,
    Rejection,
    RejectionReason,
    StorageUnavailable,
    redact_keys,
)
from recipient_fields.entrypoints.http.client_addresses import ClientAddresses
from recipient_fields.entrypoints.http.request_log import RequestLog
from recipient_fields.entrypoints.server import log as logs
from recipient_fields.entrypoints.server.log import (
    Batches,
    Lines,
    json_lines,
    readable_lines,
    start_log,
)

from .api import FIELDS, Api
from .conftest import Stand

STORAGES = ("memory",)

pytestmark = pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")

Log: TypeAlias = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def log() -> Iterator[Log]:
    """Reads the lines of JSON so far, those for debugging as well."""
    ours = logging.getLogger("recipient_fields")
    level = ours.level
    ours.setLevel(logging.DEBUG)
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(json_lines())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)
    ours.setLevel(level)


def requests(log: Log) -> list[dict[str, Any]]:
    return [line for line in log() if line["logger"] == "recipient_fields.requests"]


def test_a_request_is_one_line_that_tells_who_asked_for_what_and_what_came_of_it(
    api: Api, bakery: OrganizationId, log: Log
):
    api.get("city", x_request_id="find-me")

    (line,) = log()
    assert line.pop("timestamp").endswith("Z")
    assert 0 < line.pop("milliseconds") < 10_000
    assert line == {
        "level": "info",
        "logger": "recipient_fields.requests",
        "event": "request",
        "request_id": "find-me",
        "organization": bakery,
        "key_id": 1,
        "route": "/api/v1/recipient_fields/{id_or_key}",
        "method": "GET",
        "status": 404,
    }


def test_a_foreign_issuer_s_key_sent_as_the_request_s_id_is_not_told(
    stand: Stand, bakery: OrganizationId, log: Log
):
    """It has no form by which one could tell that it is a key."""

    class Anyone:
        def validate(self, _presented: str, /) -> Credential:
            return Credential(bakery, None, Access.READ_ONLY)

    client = stand.client(validator=Anyone())
    client.send("GET", FIELDS, authorization="Bearer secret", x_request_id="secret")
    client.send("GET", FIELDS, authorization="Bearer secret", x_request_id="another")

    assert [line["request_id"] for line in requests(log)] == ["[API key]", "another"]


def test_a_request_has_the_id_in_the_log_that_its_answer_has(api: Api, log: Log):
    answers = [api.list(), api.get("missing"), api.send("GET", "/nothing")]

    assert [line["request_id"] for line in log()] == [a.headers["x-request-id"] for a in answers]


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", FIELDS, ("/api/v1/recipient_fields", "GET", 200)),
        ("POST", FIELDS, ("/api/v1/recipient_fields", "POST", 415)),
        ("HEAD", f"{FIELDS}/city", ("/api/v1/recipient_fields/{id_or_key}", "HEAD", 404)),
        ("GET", "/docs/secret", ("/docs/{file}", "GET", 404)),
        ("GET", "/secret", ("unrouted", "GET", 404)),
        ("GET", f"{FIELDS}?secret=1", ("/api/v1/recipient_fields", "GET", 400)),
        ("BREW", FIELDS, ("/api/v1/recipient_fields", "other", 405)),
        ("WEBSOCKET", FIELDS, ("unrouted", "other", 400)),
    ],
)
def test_route_and_method_are_of_few_whatever_is_asked_for(
    api: Api, log: Log, method: str, path: str, expected: tuple[str, str, int]
):
    api.send(method, path, content_type=None)

    (line,) = requests(log)
    assert (line["route"], line["method"], line["status"]) == expected
    assert "secret" not in str(line)


REASONS = ("missing", "malformed", "unknown", "expired", "revoked")


@pytest.fixture
def rejected(stand: Stand, bakery: OrganizationId) -> dict[str, tuple[str | None, int | None]]:
    """For each reason an `Authorization` header, and the id of its key if there is one."""
    expired = stand.issue(bakery, lifetime=timedelta(seconds=1))
    revoked = stand.issue(bakery)
    stand.administration.revoke_key(bakery, revoked.api_key.id)
    stand.clock.move(seconds=1)
    return {
        "missing": (None, None),
        "malformed": (f"Bearer {revoked.plain.reveal()}0", None),
        "unknown": (f"Bearer {PlainKey.generate().reveal()}", None),
        "expired": (f"Bearer {expired.plain.reveal()}", expired.api_key.id),
        "revoked": (f"Bearer {revoked.plain.reveal()}", revoked.api_key.id),
    }


@pytest.mark.parametrize("reason", REASONS)
def test_the_line_of_a_401_has_its_reason_and_the_id_of_a_known_key(
    stand: Stand, rejected: dict[str, tuple[str | None, int | None]], log: Log, reason: str
):
    header, key_id = rejected[reason]
    stand.client().list(authorization=header)

    (line,) = requests(log)
    assert line["status"] == 401
    assert (line["reason"], line["key_id"], line["organization"]) == (reason, key_id, None)
    assert header is None or header[20:-4] not in str(log())


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Basic dTpw", "Bearer a b", "Bearer null", ["Bearer a", "Bearer b"]]
)
def test_a_header_that_holds_no_api_key_is_malformed(
    stand: Stand, log: Log, header: str | list[str]
):
    stand.client().list(authorization=header)

    (line,) = requests(log)
    assert (line["status"], line["reason"]) == (401, "malformed")


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("GET", FIELDS, FIELDS),
        ("BREW", FIELDS, FIELDS),
        ("DELETE", f"{FIELDS}/secret", f"{FIELDS}/{{id_or_key}}"),
        ("GET", f"{FIELDS}/secret?secret=1", f"{FIELDS}/{{id_or_key}}"),
        ("GET", "/api/secret", "unrouted"),
        ("GET", f"{FIELDS}/secret/", "unrouted"),
        ("GET", f"{FIELDS}/a%2Fsecret", "unrouted"),
    ],
)
def test_the_line_of_a_401_has_the_route_that_a_valid_key_would_have_met(
    stand: Stand, api: Api, log: Log, method: str, path: str, route: str
):
    stand.client().send(method, path, content_type=None)
    api.send(method, path, content_type=None)

    rejected, accepted = requests(log)
    assert (rejected["status"], rejected["route"]) == (401, route)
    assert accepted["route"] == route
    assert "secret" not in str(rejected)


def test_only_the_line_of_a_401_has_a_reason(api: Api, reader: Api, log: Log):
    api.list()
    api.get("missing")
    reader.post({"name": "City", "data_type": "text"})

    assert [(line["status"], "reason" in line) for line in requests(log)] == [
        *((200, False), (404, False), (403, False))
    ]


def test_a_validator_that_knows_its_keys_by_another_name_has_that_in_the_line(
    stand: Stand, log: Log
):
    class Ended:
        def validate(self, _presented: str, /) -> Rejection:
            return Rejection(RejectionReason.EXPIRED, "backend")

    stand.client(validator=Ended()).list(authorization="Bearer a-token")

    (line,) = requests(log)
    assert (line["status"], line["reason"], line["key_id"]) == (401, "expired", "backend")


def test_a_validator_that_still_returns_none_rejects_without_a_reason(stand: Stand, log: Log):
    class Former:
        def validate(self, _presented: str, /) -> None:
            return None

    answer = stand.client(validator=Former()).list(authorization="Bearer a-token")

    (line,) = requests(log)
    assert answer.outcome == (401, "unauthorized")
    assert "reason" not in line


def test_the_client_s_address_is_in_every_line_if_asked_for(stand: Stand, api: Api, log: Log):
    by_default = RequestLog()
    asked = RequestLog(client_addresses=ClientAddresses((ip_network("127.0.0.0/8"),)))
    for request_log in (by_default, asked):
        ask = TestClient(stand.app(request_log=request_log)).simulate_get
        key = {"Authorization": f"Bearer {api.key}"}
        for path, headers in (
            (FIELDS, {**key, "X-Forwarded-For": "203.0.113.9"}),
            (FIELDS, {"Forwarded": "for=203.0.113.9"}),
            ("/secret", {"X-Forwarded-For": f"{api.key}, unknown"}),
        ):
            ask(path, headers=headers, remote_addr="127.0.0.1")

    lines = requests(log)
    assert [line.get("client_address") for line in lines] == [
        *([None] * 3),
        *("203.0.113.9", "203.0.113.9", "127.0.0.1"),
    ]
    assert ["client_address" in line for line in lines] == [False] * 3 + [True] * 3
    assert (api.key or "")[8:-8] not in str(lines)


def test_probes_are_worth_a_line_only_where_they_fail(stand: Stand, log: Log):
    def down() -> None:
        raise StorageUnavailable("down")

    client = stand.client(check=down)
    client.send("GET", "/healthz")
    client.send("GET", "/readyz")

    assert [(line["level"], line["route"]) for line in requests(log)] == [
        ("debug", "/healthz"),
        ("info", "/readyz"),
    ]


def test_a_failing_storage_is_told_under_the_requests_id(stand: Stand, api: Api, log: Log):
    class Down:
        def __getattr__(self, name: str):
            raise StorageUnavailable("the disk is full")

    stand.client(service=stand.service_over(Down())).bearing(api.key).list(x_request_id="find-me")

    told, line = log()
    assert (told["level"], told["event"]) == ("warning", "request find-me: the disk is full")
    assert (line["request_id"], line["status"]) == ("find-me", 503)


class Careless:
    """A repository with a defect, in the presence of a secret."""

    def __getattr__(self, name: str):
        secret = "a value".replace("value", "secret")
        raise ZeroDivisionError(f"of {len(secret)}")


@pytest.mark.parametrize("lines", [json_lines(), readable_lines(colors=False)])
def test_an_unexpected_error_is_told_with_its_traceback_and_without_values(
    stand: Stand, api: Api, caplog: pytest.LogCaptureFixture, lines: Lines
):
    client = stand.client(service=stand.service_over(Careless())).bearing(api.key)
    client.list(x_request_id="find-me")

    (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    told = lines.format(record)
    assert "find-me" in told
    assert "Traceback (most recent call last)" in told
    assert "ZeroDivisionError: of 8" in told
    assert "a secret" not in told


def test_a_traceback_stays_on_the_line_of_its_error(stand: Stand, api: Api, log: Log):
    stand.client(service=stand.service_over(Careless())).bearing(api.key).list()

    told, line = log()
    assert told["exception"].startswith("Traceback")
    assert line["request_id"] in told["event"]


def test_a_key_is_not_logged_wherever_a_client_puts_it(api: Api, log: Log):
    key = api.key or ""
    api.list(x_request_id=key)
    api.list(authorization=key)
    api.list(authorization=f"Bearer {key}0")
    api.list(cookie=key, user_agent=key, referer=key)
    api.send("GET", f"{FIELDS}/{key}?key={key}")
    api.send("GET", f"/{key}")
    api.send(key.upper(), FIELDS)
    api.post({"name": key, "data_type": key})

    assert [line["event"] for line in log()] == ["request"] * 8
    assert key[8:-8] not in str(log())
    assert log()[0]["request_id"] == "[API key]"


@contextmanager
def nobody_listening() -> Iterator[None]:
    """As in a new process; afterwards everybody logs as before."""
    loggers = [
        logging.getLogger(name)
        for name in (None, "psycopg", "psycopg.pool", "recipient_fields", AUDIT)
    ]
    before = [(logger.handlers[:], logger.level) for logger in loggers]
    loggers[0].handlers.clear()
    yield
    for logger, (handlers, level) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)


@pytest.mark.parametrize(
    ("level", "ours", "theirs"),
    [
        ("debug", ["debug", "info", "warning", "error"], ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"], ["warning", "error"]),
        ("warning", ["warning", "error"], ["warning", "error"]),
        ("error", ["error"], ["error"]),
    ],
)
def test_a_level_tells_who_is_heard_and_the_audit_always_is(
    level: str, ours: list[str], theirs: list[str]
):
    """The pool would warn of each attempt to connect in an outage, which the storage logs."""
    pool = theirs if level == "debug" else ["error"]
    stream = StringIO()

    with nobody_listening():
        start_log(level, "json", stream)
        for name in ("recipient_fields.application", "psycopg", "psycopg.pool"):
            for grave in ("debug", "info", "warning", "error"):
                getattr(logging.getLogger(name), grave)("x")
        logging.getLogger(AUDIT).info("x")

    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["logger"], line["level"]) for line in told] == [
        *(("recipient_fields.application", grave) for grave in ours),
        *(("psycopg", grave) for grave in theirs),
        *(("psycopg.pool", grave) for grave in pool),
        (AUDIT, "info"),
    ]


class Stuck(StringIO):
    """A stream that takes nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.taking = Event()

    def write(self, text: str) -> int:
        assert self.taking.wait(10)
        return super().write(text)


def test_who_must_not_wait_for_the_log_does_not_and_the_log_stays_small():
    stream = Stuck()
    handler = Batches(stream, json_lines())
    before = monotonic()
    for number in range(5_000):
        handler.offer("x", logging.INFO, "request", {"number": number})
    assert monotonic() - before < 5
    stream.taking.set()
    handler.flush()

    told = [json.loads(line)["number"] for line in stream.getvalue().splitlines()]
    assert 1_000 <= len(told) <= 2_000
    assert told == sorted(set(told))
    handler.close()


def test_of_many_warnings_that_nobody_reads_only_the_first_is_waited_for_and_few_are_kept():
    stream = Stuck()
    handler = Batches(stream, json_lines())
    before = monotonic()
    for number in range(3_000):
        handler.handle(record("%d", number, levelno=logging.WARNING))
    handler.close()
    assert monotonic() - before < 3
    stream.taking.set()
    while stream.getvalue().count("\n") < 1_000 and monotonic() < before + 10:
        sleep(0.01)

    told = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert told == [str(number) for number in range(len(told))]
    assert 1_000 <= len(told) <= 1_001


class Slow(StringIO):
    """A stream that takes most of a second for whatever it is given."""

    def write(self, text: str) -> int:
        sleep(0.7)
        return super().write(text)


def test_who_reads_slowly_is_waited_for():
    stream = Slow()
    handler = Batches(stream, json_lines())
    handler.offer("x", logging.INFO, "request", {"number": 0})
    sleep(0.3)  # By now it is being written.
    for number in range(1, 60):
        handler.offer("x", logging.INFO, "request", {"number": number})
    handler.close()

    told = [json.loads(line)["number"] for line in stream.getvalue().splitlines()]
    assert told == list(range(60))


def test_a_line_that_can_not_be_spelled_costs_no_other():
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError

    stream = StringIO()
    handler = Batches(stream, json_lines())
    for fact in (1, Mute(), 3):
        handler.offer("x", logging.INFO, "request", {"fact": fact})
        handler.flush()

    assert [json.loads(line)["fact"] for line in stream.getvalue().splitlines()] == [1, 3]


def test_a_line_tells_when_it_was_logged_and_not_when_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(logs, "_BATCH_SECONDS", 0.3)
    stream = StringIO()
    handler = Batches(stream, json_lines())
    logged = datetime.now(UTC)
    handler.log("x", logging.INFO, "request", {})
    sleep(0.2)
    handler.close()

    told = datetime.fromisoformat(json.loads(stream.getvalue())["timestamp"])
    assert abs(told - logged) < timedelta(seconds=0.1)


def record(message: str, *arguments: object, **more: Any) -> logging.LogRecord:
    parts = {"name": "a.library", "msg": message, "args": arguments, "levelname": "WARNING"}
    return logging.makeLogRecord({**parts, **more})


@pytest.mark.parametrize("lines", [json_lines(), readable_lines(colors=True)])
def test_a_key_that_a_library_speaks_of_is_taken_out(lines: Lines):
    key = PlainKey.generate().reveal()
    error = ValueError(key)
    exc_info = (ValueError, error, None)

    told = lines.format(
        record("Exception while serving /%s", key, exc_info=exc_info, facts={"path": key})
    )

    assert key[8:-8] not in told
    assert told.count("[API key]") == 3


def test_what_may_be_shown_of_a_key_stays():
    plain = PlainKey.generate()

    assert redact_keys(plain.display) == plain.display
    assert redact_keys(f"<{plain.reveal()}>") == "<[API key]>"
    assert redact_keys(plain.reveal()[:9]) == "[API key]"


def test_libraries_speak_through_the_same_lines():
    line = json.loads(json_lines().format(record("broken: %s", "pipe\nand\x1b more")))

    assert line.pop("timestamp").endswith("Z")
    expected = {"level": "warning", "logger": "a.library", "event": "broken: pipe\nand\x1b more"}
    assert line == expected


def test_what_is_no_json_is_told_as_python_shows_it():
    line = json.loads(json_lines().format(record("x", facts={"data": b"\xff"})))

    assert line["data"] == "b'\\xff'"


def test_records_are_told_with_the_millisecond_they_were_made_in():
    lines = json_lines()
    made = [0.0, 0.9995, 1.0015, 1_795_166_100.123_9, 1_795_166_100.5, 1_795_166_101.0]

    told = [json.loads(lines.format(record("x", created=at)))["timestamp"] for at in made]

    assert told == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.999Z",
        "1970-01-01T00:00:01.001Z",
        "2026-11-20T09:15:00.123Z",
        "2026-11-20T09:15:00.500Z",
        "2026-11-20T09:15:01.000Z",
    ]
