"""What the log tells of the process itself: that it answers, that it drains, that it has ended."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ..support.command_line import SCRIPT, Script
from ..support.service import Client, Service
from ..support.waiting import TIMEOUT, eventually
from .test_admin import THREADS, all_workers_busy

pytestmark = pytest.mark.slow

LOGGER = "recipient_fields.service"


def lifetime(service: Service) -> list[dict[str, Any]]:
    """The lines about the process, which are all of level info."""
    lines = [line for line in service.log if line["logger"] == LOGGER]
    assert {line["level"] for line in lines} == {"info"}
    return lines


def on_a_terminal(*options: str, storage: str = "memory:") -> str:
    """What `serve` with these options writes to a terminal until SIGTERM has ended it."""
    ours, theirs = pty.openpty()
    command = [SCRIPT, "--storage", storage, "serve", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stderr=theirs) as process:
        os.close(theirs)
        told = b""
        try:
            while chunk := os.read(ours, 65_536):
                told += chunk
                if b"listening on" in told and process.poll() is None:
                    process.terminate()
                    process.wait(TIMEOUT)
        except OSError:  # The terminal's other side is closed.
            pass
        finally:
            process.kill()
    os.close(ours)
    assert process.returncode == 0
    return told.decode()


def test_the_first_line_tells_what_has_started(start: Callable[..., Service], file: Path) -> None:
    service = start("--threads", "3")

    first = json.loads(service.tells("(.*)\n")[1])

    assert first.pop("timestamp") > "2026"
    assert first == {
        "level": "info",
        "logger": LOGGER,
        "event": f"listening on {service.url}",
        "address": urlsplit(service.url).netloc,
        "reference": f"{service.url}/docs",
        "version": version("recipient-fields"),
        "storage": "sqlite",
        "threads": 3,
        "process_id": service.process_id,
    }
    assert service.anyone("GET", "/healthz").status == 200
    service.stop()
    assert str(file) not in service.told


def test_it_tells_where_operators_are_answered_as_well(start: Callable[..., Service]) -> None:
    service = start("--admin-listen", "127.0.0.1:0")
    service.tells("listening on")

    (first,) = lifetime(service)

    assert first["admin_address"] != first["address"]
    assert Client(f"http://{first['admin_address']}")("GET", "/metrics").status == 200


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_the_last_lines_tell_what_ended_it_and_that_it_has_ended(
    start: Callable[..., Service], by: signal.Signals
) -> None:
    service = start()
    service.tells("listening on")

    asked = time.monotonic()
    assert service.stop(by) == 0
    took = (time.monotonic() - asked) * 1_000

    _, draining, ended = lifetime(service)
    assert (draining["event"], draining["signal"]) == ("draining", by.name)
    assert ended["event"] == "ended"
    assert draining["in_flight"] == ended["in_flight"] == 0
    assert 0 < ended["milliseconds"] <= took
    assert draining["process_id"] == ended["process_id"] == service.process_id


def test_operators_are_told_of_each_line_with_its_facts(start: Callable[..., Service]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `(listening on|draining|ended)[^|]*\|[^|]*\|([^|]*)\|$", page, re.MULTILINE
    )
    service = start("--admin-listen", "127.0.0.1:0")
    service.tells("listening on")
    service.stop()

    told = {line["event"].partition(" http")[0]: list(line)[4:] for line in lifetime(service)}
    assert {event: re.findall("`(\\w+)`", facts) for event, facts in rows} == told


def test_they_tell_how_many_requests_were_answered_meanwhile_and_how_long_that_took(
    start: Callable[..., Service], key: str, file: Path
) -> None:
    service = start("--admin-listen", "127.0.0.1:0", "--threads", str(THREADS))
    service.tells("listening on")
    operator = Client(f"http://{lifetime(service)[0]['admin_address']}")

    with all_workers_busy(service, operator, key, file) as writes:
        os.kill(service.process_id, signal.SIGTERM)
        service.tells('"draining"')
        assert not any(write.done() for write in writes)
        time.sleep(0.3)
    assert service.ended() == 0

    _, draining, ended = lifetime(service)
    assert draining["in_flight"] == ended["in_flight"] == THREADS
    assert ended["milliseconds"] >= 300
    assert service.log[-1] == ended
    assert [line["event"] for line in service.log[-2 - THREADS : -1]].count("request") == THREADS


@pytest.mark.parametrize("level", ["warning", "error"])
def test_they_come_whatever_the_level(start: Callable[..., Service], level: str) -> None:
    service = start("--log-level", level)
    service.tells("listening on")
    service.stop()

    assert [line["event"].partition(" ")[0] for line in service.log] == [
        *("listening", "draining", "ended")
    ]


@pytest.mark.parametrize("style", ["auto", "json"])
def test_nothing_but_json_comes_where_the_log_is_json(
    start: Callable[..., Service], style: str
) -> None:
    service = start("--log-format", style, "--admin-listen", "127.0.0.1:0", "--migrate")
    service.tells("listening on")
    service.stop()

    assert [json.loads(line) for line in service.told.splitlines()] == service.log
    assert service.notes == []


def test_whoever_reads_along_is_told_where_it_answers_once() -> None:
    told = on_a_terminal()

    assert told.count("listening on") == 1
    assert [told.count(word) for word in ("draining", "ended")] == [1, 1]
    assert not told.startswith("{")


def test_a_demonstration_on_a_terminal_tells_it_once_as_well_and_first(tmp_path: Path) -> None:
    storage = f"sqlite:{tmp_path / 'fields.db'}"

    for note in ("The API key, shown this once", "The storage already has data"):
        told = on_a_terminal("--demo", storage=storage)
        assert told.count("listening on") == 1
        assert told.index("listening on") < told.index(note)


def test_the_notes_of_a_demonstration_are_whole_beside_a_log_of_json(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    service = start("--demo", over=f"sqlite:{tmp_path / 'fields.db'}", shows_key=True)
    service.tells('"listening on')

    assert service.notes[0] == f"Recipient Fields is listening on {service.url}"
    assert service.notes[1].startswith("The API key, shown this once: ")
    assert [line["event"] for line in lifetime(service)] == [f"listening on {service.url}"]
    assert service.notes[-1].endswith(f"in a browser, open {service.url}/docs")
    assert service.told.splitlines()[-1].startswith("{")


def test_the_page_that_is_named_at_the_start_is_there(service: Service) -> None:
    service.tells("listening on")
    page = lifetime(service)[0]["reference"]

    opened = service.anyone("GET", "/", Accept="text/html,*/*;q=0.8")
    assert (opened.status, opened.headers["Location"]) == (302, urlsplit(page).path)
    assert service.anyone("GET", urlsplit(page).path, Accept="text/html").status == 200


def test_a_killed_process_has_no_last_line(start: Callable[..., Service]) -> None:
    service = start()
    service.tells("listening on")

    service.kill()

    assert [line["event"] for line in service.log] == [f"listening on {service.url}"]


@pytest.mark.parametrize("style", ["json", "text"])
def test_what_could_not_start_is_one_clear_line_and_has_neither_begun_nor_ended(
    service: Service, script: Script, tmp_path: Path, style: str
) -> None:
    taken = urlsplit(service.url).netloc
    free = ("--listen", "127.0.0.1:0")
    nowhere = f"sqlite:{tmp_path / 'none' / 'fields.db'}"

    told = [
        script("serve", "--listen", taken, "--log-format", style).failure(),
        script("serve", *free, "--admin-listen", taken, "--log-format", style).failure(),
        script("--storage", nowhere, "serve", *free, "--log-format", style).failure(),
    ]

    assert [line.partition(":")[0] for line in told] == [
        *(["Can't listen on 127.0.0.1"] * 2),
        "SQLite",
    ]


@pytest.mark.parametrize("reader", ["gone", "asleep"])
def test_a_log_that_nobody_reads_from_the_start_keeps_it_from_neither_start_nor_end(
    reader: str,
) -> None:
    reading, writing = os.pipe()
    if reader == "gone":
        os.close(reading)
    else:
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4_096)
        os.set_blocking(writing, True)
    command = [SCRIPT, "--storage", "memory:", "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=writing) as process:
        os.close(writing)
        try:
            eventually(lambda: process.poll() is not None or _ends_in_peace(process.pid))
            time.sleep(0.2)  # Now it tells that it answers, or has tried to.
            process.terminate()
            assert process.wait(20) == 0
        finally:
            process.kill()
    if reader == "asleep":
        os.close(reading)


def _ends_in_peace(process_id: int) -> bool:
    """Does the process, by the system's account, handle SIGTERM?"""
    status = Path(f"/proc/{process_id}/status").read_text("ascii")
    (caught,) = [line for line in status.splitlines() if line.startswith("SigCgt")]
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
