"""The log lines about the process: listening, draining, ended."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ..support.command_line import SCRIPT, Script, environment_with
from ..support.service import Client, Service
from ..support.waiting import TIMEOUT, eventually
from .conftest import Start
from .test_admin import THREADS, all_workers_busy

pytestmark = pytest.mark.slow

LOGGER = "recipient_fields.service"


def lifetime(service: Service) -> list[dict[str, Any]]:
    """Return the log lines about the process, and check that their level is info."""
    lines = [line for line in service.log if line["logger"] == LOGGER]
    assert {line["level"] for line in lines} == {"info"}
    return lines


def terminal_output(*options: str, storage: str = "memory:") -> str:
    """Return the output of `serve` at a terminal, from the start to the end by SIGTERM."""
    terminal, program_end = pty.openpty()
    command = [SCRIPT, "--storage", storage, "serve", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, env=environment_with({}), stderr=program_end) as process:
        os.close(program_end)
        output = b""
        try:
            while chunk := os.read(terminal, 65_536):
                output += chunk
                # The log, since a greeting with the address can come before it.
                if b"recipient_fields.service" in output and process.poll() is None:
                    process.terminate()
                    process.wait(TIMEOUT)
        except OSError:  # EIO: the process has closed the terminal.
            pass
        finally:
            process.kill()
    os.close(terminal)
    assert process.returncode == 0
    return output.decode()


def test_the_first_line_describes_the_process(start: Start, file: Path) -> None:
    service = start("--threads", "3")

    first = json.loads(service.wait_for("(.*)\n")[1])

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
    assert service.anonymous("GET", "/healthz").status == 200
    service.stop()
    assert str(file) not in service.stderr


def test_the_first_line_contains_the_admin_address(start: Start) -> None:
    service = start("--admin-listen", "127.0.0.1:0")
    service.wait_for("listening on")

    (first,) = lifetime(service)

    assert first["admin_address"] != first["address"]
    assert Client(f"http://{first['admin_address']}")("GET", "/metrics").status == 200


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_the_last_lines_contain_the_signal_and_the_end(start: Start, by: signal.Signals) -> None:
    service = start()
    service.wait_for("listening on")

    started = time.monotonic()
    assert service.stop(by) == 0
    took = (time.monotonic() - started) * 1_000

    _, draining, ended = lifetime(service)
    assert (draining["event"], draining["signal"]) == ("draining", by.name)
    assert ended["event"] == "ended"
    assert draining["in_flight"] == ended["in_flight"] == 0
    assert 0 < ended["milliseconds"] <= took
    assert draining["process_id"] == ended["process_id"] == service.process_id


def test_the_page_on_monitoring_lists_each_line_with_its_members(start: Start) -> None:
    page = (Path(__file__).parents[2] / "docs/operating/monitoring.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `(listening on|draining|ended)[^|]*\|[^|]*\|([^|]*)\|$", page, re.MULTILINE
    )
    service = start("--admin-listen", "127.0.0.1:0")
    service.wait_for("listening on")
    service.stop()

    logged = {line["event"].partition(" http")[0]: list(line)[4:] for line in lifetime(service)}
    assert {event: re.findall("`(\\w+)`", facts) for event, facts in rows} == logged


def test_the_last_lines_contain_the_number_of_requests_in_flight_and_the_duration(
    start: Start, key: str, file: Path
) -> None:
    service = start("--admin-listen", "127.0.0.1:0", "--threads", str(THREADS))
    service.wait_for("listening on")
    admin = Client(f"http://{lifetime(service)[0]['admin_address']}")

    with all_workers_busy(service, admin, key, file) as writes:
        os.kill(service.process_id, signal.SIGTERM)
        service.wait_for('"draining"')
        assert not any(write.done() for write in writes)
        time.sleep(0.3)
    assert service.wait() == 0

    _, draining, ended = lifetime(service)
    assert draining["in_flight"] == ended["in_flight"] == THREADS
    assert ended["milliseconds"] >= 300
    assert service.log[-1] == ended
    assert [line["event"] for line in service.log[-2 - THREADS : -1]].count("request") == THREADS


@pytest.mark.parametrize("level", ["warning", "error"])
def test_the_lines_are_logged_at_every_level(start: Start, level: str) -> None:
    service = start("--log-level", level)
    service.wait_for("listening on")
    service.stop()

    assert [line["event"].partition(" ")[0] for line in service.log] == [
        *("listening", "draining", "ended")
    ]


@pytest.mark.parametrize("style", ["auto", "json"])
def test_a_json_log_contains_only_json(start: Start, style: str) -> None:
    service = start("--log-format", style, "--admin-listen", "127.0.0.1:0", "--migrate")
    service.wait_for("listening on")
    service.stop()

    assert [json.loads(line) for line in service.stderr.splitlines()] == service.log
    assert service.messages == []


def test_a_terminal_shows_the_address_once() -> None:
    output = terminal_output()

    assert output.count("listening on") == 1
    assert [output.count(word) for word in ("draining", "ended")] == [1, 1]
    assert not output.startswith("{")


def test_a_demonstration_at_a_terminal_shows_its_greeting_before_the_log(tmp_path: Path) -> None:
    storage = f"sqlite:{tmp_path / 'fields.db'}"

    for message in ("The API key, shown this once", "add --reset"):
        output = terminal_output("--demo", storage=storage)
        assert output.startswith("Recipient Fields is listening on")
        assert output.index(message) < output.index("recipient_fields.service")


def test_the_messages_of_a_demonstration_are_complete_with_a_json_log(
    start: Start, tmp_path: Path
) -> None:
    service = start("--demo", url=f"sqlite:{tmp_path / 'fields.db'}", shows_secrets=True)
    service.wait_for('"listening on')

    assert service.messages[0] == f"Recipient Fields is listening on {service.url}"
    assert f"{service.url}/console/links/" in service.messages[3]
    assert [line["event"] for line in lifetime(service)] == [f"listening on {service.url}"]
    assert service.messages[-2].startswith("The API key, shown this once: ")
    assert service.messages[-1].endswith(f"in a browser, open {service.url}/docs")
    assert service.stderr.splitlines()[-1].startswith("{")


def test_the_reference_page_in_the_first_line_exists(service: Service) -> None:
    service.wait_for("listening on")
    page = lifetime(service)[0]["reference"]

    opened = service.anonymous("GET", "/", Accept="text/html,*/*;q=0.8")
    assert (opened.status, opened.headers["Location"]) == (302, urlsplit(page).path)
    assert service.anonymous("GET", urlsplit(page).path, Accept="text/html").status == 200


def test_a_killed_process_has_no_last_line(start: Start) -> None:
    service = start()
    service.wait_for("listening on")

    service.kill()

    assert [line["event"] for line in service.log] == [f"listening on {service.url}"]


@pytest.mark.parametrize("style", ["json", "text"])
def test_a_failed_start_is_reported_on_one_line_without_log_lines(
    service: Service, script: Script, tmp_path: Path, style: str
) -> None:
    taken = urlsplit(service.url).netloc
    free = ("--listen", "127.0.0.1:0")
    missing = f"sqlite:{tmp_path / 'none' / 'fields.db'}"

    output = [
        script("serve", "--listen", taken, "--log-format", style).failure(),
        script("serve", *free, "--admin-listen", taken, "--log-format", style).failure(),
        script("--storage", missing, "serve", *free, "--log-format", style).failure(),
    ]

    assert [line.partition(":")[0] for line in output] == [
        *(["Can't listen on 127.0.0.1"] * 2),
        "SQLite",
    ]


@pytest.mark.parametrize("reader", ["closed", "blocked"])
def test_an_unread_log_delays_neither_start_nor_shutdown(reader: str) -> None:
    reading, writing = os.pipe()
    if reader == "closed":
        os.close(reading)
    else:
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4_096)
        os.set_blocking(writing, True)
    command = [SCRIPT, "--storage", "memory:", "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, env=environment_with({}), stderr=writing) as process:
        os.close(writing)
        try:
            eventually(lambda: process.poll() is not None or _handles_sigterm(process.pid))
            time.sleep(0.2)  # The process tries to write its first line.
            process.terminate()
            assert process.wait(20) == 0
        finally:
            process.kill()
    if reader == "blocked":
        os.close(reading)


def _handles_sigterm(process_id: int) -> bool:
    """Return whether the process has a handler for SIGTERM."""
    status = Path(f"/proc/{process_id}/status").read_text("ascii")
    (caught,) = [line for line in status.splitlines() if line.startswith("SigCgt")]
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
