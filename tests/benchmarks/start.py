"""Cold starts: from the command to the first responses."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from http import HTTPStatus
from statistics import median
from time import perf_counter, sleep

from ..support.command_line import environment_with
from ..support.network import free_port
from ..support.waiting import TIMEOUT
from .data import Database
from .measuring import Bench
from .reports import Report, table
from .servers import serve_command
from .traffic import READ_HEALTH, read_field, send_once

MAX_SECONDS = 0.7

_INTERVAL = 0.005


def start(bench: Bench) -> Report:
    """Measure the time from the command to the first responses."""
    with bench.database() as database:
        [organization] = database.add_organizations(1, fields=100)
        field = read_field(organization, database.field_id(organization))
        rounds = bench.rounds_of(lambda: _start(database, field))
    alive, ready = (median(times) for times in zip(*(r for (r,) in rounds), strict=True))
    mark = "✓" if alive <= MAX_SECONDS else "✗"
    rows = [
        ("`/healthz`", f"{alive:.2f}", f"≤ {MAX_SECONDS} {mark}"),
        ("one field, with a key", f"{ready:.2f}", ""),
    ]
    return Report(table(("First response", "s after `serve`", "goal"), rows))


def _start(database: Database, field: str) -> tuple[float, float]:
    """Return the times of the first responses."""
    address = f"127.0.0.1:{free_port()}"
    command = serve_command(database.url, "--listen", address)
    started = perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment_with({})) as process:
        try:
            alive = _first_response(f"http://{address}", READ_HEALTH)
            ready = _first_response(f"http://{address}", field)
        finally:
            process.terminate()
    return alive - started, ready - started


def _first_response(url: str, request: str) -> float:
    """Return the time of the first response with status 200."""
    deadline = perf_counter() + TIMEOUT
    while perf_counter() < deadline:
        with suppress(ConnectionRefusedError):
            assert send_once(url, request).status == HTTPStatus.OK
            return perf_counter()
        sleep(_INTERVAL)
    raise AssertionError("the service does not start")
