"""Cold starts: from the command to the first answers."""

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
from .traffic import READ_HEALTH, ask, read_field

MOST_SECONDS = 0.7

_ASK_EVERY = 0.005


def start(bench: Bench) -> Report:
    """How soon a service answers after it is started."""
    with bench.database() as database:
        [tenant] = database.add_tenants(1, fields=100)
        field = read_field(tenant, database.field_id(tenant))
        rounds = bench.rounds_of(lambda: _start(database, field))
    alive, ready = (median(times) for times in zip(*(r for (r,) in rounds), strict=True))
    mark = "✓" if alive <= MOST_SECONDS else "✗"
    rows = [
        ("`/healthz`", f"{alive:.2f}", f"≤ {MOST_SECONDS} {mark}"),
        ("one field, with a key", f"{ready:.2f}", ""),
    ]
    return Report(table(("First answer", "s after `serve`", "goal"), rows))


def _start(database: Database, field: str) -> tuple[float, float]:
    """The times of the first answers."""
    address = f"127.0.0.1:{free_port()}"
    command = serve_command(database.url, "--listen", address)
    begun = perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment_with({})) as process:
        try:
            alive = _first_answer(f"http://{address}", READ_HEALTH)
            ready = _first_answer(f"http://{address}", field)
        finally:
            process.terminate()
    return alive - begun, ready - begun


def _first_answer(url: str, request: str) -> float:
    """When the request is answered 200 for the first time."""
    deadline = perf_counter() + TIMEOUT
    while perf_counter() < deadline:
        with suppress(ConnectionRefusedError):
            assert ask(url, request).status == HTTPStatus.OK
            return perf_counter()
        sleep(_ASK_EVERY)
    raise AssertionError("the service does not start")
