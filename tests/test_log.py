"""The log of the service: levels, buffering, formats and redaction."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from recipient_fields.application import AUDIT
from recipient_fields.domain import PlainKey, redact_keys
from recipient_fields.entrypoints.service.log import (
    BufferedHandler,
    LineFormatter,
    json_formatter,
    start_log,
    text_formatter,
)


@contextmanager
def unconfigured_logging() -> Iterator[None]:
    """Remove the configuration of `logging`, and restore it after the block."""
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
def test_the_level_selects_the_records_that_are_logged_and_audit_records_always_are(
    level: str, ours: list[str], theirs: list[str]
):
    """During an outage, the pool would warn of each attempt to connect. The storage logs it."""
    pool = theirs if level == "debug" else ["error"]
    stream = StringIO()

    with unconfigured_logging():
        start_log(level, "json", stream)
        for name in ("recipient_fields.application", "psycopg", "psycopg.pool"):
            for severity in ("debug", "info", "warning", "error"):
                getattr(logging.getLogger(name), severity)("x")
        logging.getLogger(AUDIT).info("x")

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["logger"], line["level"]) for line in lines] == [
        *(("recipient_fields.application", severity) for severity in ours),
        *(("psycopg", severity) for severity in theirs),
        *(("psycopg.pool", severity) for severity in pool),
        (AUDIT, "info"),
    ]


class BlockedStream(StringIO):
    """A stream that blocks until `unblocked` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.unblocked = Event()

    def write(self, text: str) -> int:
        assert self.unblocked.wait(10)
        return super().write(text)


def test_log_or_drop_never_blocks_and_the_queue_is_bounded():
    stream = BlockedStream()
    handler = BufferedHandler(stream, json_formatter())
    before = monotonic()
    for number in range(5_000):
        handler.log_or_drop("x", logging.INFO, "request", {"number": number})
    assert monotonic() - before < 5
    stream.unblocked.set()
    handler.flush()

    numbers = [json.loads(line)["number"] for line in stream.getvalue().splitlines()]
    assert 1_000 <= len(numbers) <= 2_000
    assert numbers == sorted(set(numbers))
    handler.close()


def test_if_the_stream_blocks_only_the_first_warning_waits_and_the_queue_is_bounded():
    stream = BlockedStream()
    handler = BufferedHandler(stream, json_formatter())
    before = monotonic()
    for number in range(3_000):
        handler.handle(record("%d", number, levelno=logging.WARNING))
    handler.close()
    assert monotonic() - before < 3
    stream.unblocked.set()
    while stream.getvalue().count("\n") < 1_000 and monotonic() < before + 10:
        sleep(0.01)

    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert events == [str(number) for number in range(len(events))]
    assert 1_000 <= len(events) <= 1_001


class SlowStream(StringIO):
    """A stream that takes 0.7 s for each write."""

    def write(self, text: str) -> int:
        sleep(0.7)
        return super().write(text)


def test_close_waits_for_a_slow_stream():
    stream = SlowStream()
    handler = BufferedHandler(stream, json_formatter())
    handler.log_or_drop("x", logging.INFO, "request", {"number": 0})
    sleep(0.3)  # The thread has begun to write.
    for number in range(1, 60):
        handler.log_or_drop("x", logging.INFO, "request", {"number": number})
    handler.close()

    numbers = [json.loads(line)["number"] for line in stream.getvalue().splitlines()]
    assert numbers == list(range(60))


def test_a_line_whose_facts_can_not_be_formatted_is_logged_without_them():
    class Unprintable:
        def __repr__(self) -> str:
            raise RuntimeError

    stream = StringIO()
    handler = BufferedHandler(stream, json_formatter())
    for fact in (1, Unprintable(), 3):
        handler.log_or_drop("x", logging.INFO, "request", {"fact": fact})
        handler.flush()

    first, second, third = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["fact"], third["fact"]) == (1, 3)
    assert second["event"] == "request"
    assert second["error"] == "The facts can't be formatted: RuntimeError"


def test_the_timestamp_is_the_time_of_the_call_and_not_of_the_write():
    stream = StringIO()
    handler = BufferedHandler(stream, json_formatter(), interval=0.3)
    before = datetime.now(UTC)
    handler.log("x", logging.INFO, "request", {})
    after = datetime.now(UTC)
    sleep(0.2)
    handler.close()

    timestamp = datetime.fromisoformat(json.loads(stream.getvalue())["timestamp"])
    assert before - timedelta(milliseconds=1) <= timestamp <= after


def record(message: str, *arguments: object, **more: Any) -> logging.LogRecord:
    parts = {"name": "a.library", "msg": message, "args": arguments, "levelname": "WARNING"}
    return logging.makeLogRecord({**parts, **more})


@pytest.mark.parametrize("formatter", [json_formatter(), text_formatter(colors=True)])
def test_an_api_key_in_a_record_of_a_library_is_redacted(formatter: LineFormatter):
    key = PlainKey.generate().reveal()
    error = ValueError(key)
    exc_info = (ValueError, error, None)

    line = formatter.format(
        record("Exception while serving /%s", key, exc_info=exc_info, facts={"path": key})
    )

    assert key[8:-8] not in line
    assert line.count("[API key]") == 3


def test_the_display_form_of_a_key_is_not_redacted():
    plain = PlainKey.generate()

    assert redact_keys(plain.display) == plain.display
    assert redact_keys(f"<{plain.reveal()}>") == "<[API key]>"
    assert redact_keys(plain.reveal()[:9]) == "[API key]"


def test_records_of_libraries_have_the_same_format():
    line = json.loads(json_formatter().format(record("broken: %s", "pipe\nand\x1b more")))

    assert line.pop("timestamp").endswith("Z")
    expected = {"level": "warning", "logger": "a.library", "event": "broken: pipe\nand\x1b more"}
    assert line == expected


def test_a_value_that_is_not_json_is_formatted_by_repr():
    line = json.loads(json_formatter().format(record("x", facts={"data": b"\xff"})))

    assert line["data"] == "b'\\xff'"


def test_timestamps_are_truncated_to_milliseconds():
    formatter = json_formatter()
    instants = [0.0, 0.9995, 1.0015, 1_795_166_100.123_9, 1_795_166_100.5, 1_795_166_101.0]

    timestamps = [
        json.loads(formatter.format(record("x", created=at)))["timestamp"] for at in instants
    ]

    assert timestamps == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.999Z",
        "1970-01-01T00:00:01.001Z",
        "2026-11-20T09:15:00.123Z",
        "2026-11-20T09:15:00.500Z",
        "2026-11-20T09:15:01.000Z",
    ]
