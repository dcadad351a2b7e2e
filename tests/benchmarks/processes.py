"""One process and two on the same storage, asked by the same two clients."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median

import psutil
from attrs import frozen

from .measuring import Bench
from .reports import Report, microseconds, rate, table
from .servers import Server, service
from .traffic import CONNECTIONS, Load, read_list

LEAST_GAIN = 1.6

_CLIENTS = 2
_NAMES = ("one process", "two processes")


@frozen(kw_only=True)
class Shared:
    """One run of two clients."""

    rate: float
    cpu: float
    """Of all server processes, for each request."""
    busy: float
    """Cores that the server processes kept busy."""
    idle: float
    """Cores that nobody used."""


def processes(bench: Bench) -> Report:
    """How much faster two processes are than one."""
    with bench.database() as database, ExitStack() as running:
        [tenant] = database.add_tenants(1, fields=100)
        load = Load(requests=(read_list(tenant),), connections=CONNECTIONS // _CLIENTS)
        one, other = (running.enter_context(service(database.url)) for _ in range(2))
        for server in (one, other):
            bench.warm(server, load)
        rounds = bench.rounds_of(
            lambda: _run(bench, load, one, one), lambda: _run(bench, load, one, other)
        )
    gain = median(two.rate / single.rate for single, two in rounds)
    cost = median(two.cpu / single.cpu for single, two in rounds)
    rows = [_row(name, runs) for name, runs in zip(_NAMES, zip(*rounds, strict=True), strict=True)]
    return Report(
        f"{table(_HEAD, rows)}\n\n"
        f"Two processes answer {gain:.2f} times as much as one (goal: {LEAST_GAIN})"
        f" {'✓' if gain >= LEAST_GAIN else '✗'}, and a request costs {cost:.2f} times the CPU. So"
        f" with cores to spare they answer up to {2 / cost:.2f} times as much."
    )


def _run(bench: Bench, load: Load, *servers: Server) -> Shared:
    """Each server is asked by a client; one that is named twice, by two."""
    distinct = set(servers)
    used, idle = sum(server.cpu_seconds for server in distinct), psutil.cpu_times().idle
    with ThreadPoolExecutor(len(servers)) as pool:
        outcomes = list(pool.map(lambda s: bench.client(s.url, load, bench.seconds), servers))
    used = sum(server.cpu_seconds for server in distinct) - used
    requests, seconds = sum(o.requests for o in outcomes), max(o.seconds for o in outcomes)
    return Shared(
        rate=requests / seconds,
        cpu=used / requests,
        busy=used / seconds,
        idle=(psutil.cpu_times().idle - idle) / seconds,
    )


def _row(name: str, runs: tuple[Shared, ...]) -> list[str]:
    return [
        name,
        rate(median(run.rate for run in runs)),
        microseconds(median(run.cpu for run in runs)),
        f"{median(run.busy for run in runs):.2f}",
        f"{median(run.idle for run in runs):.2f}",
    ]


_HEAD = ("List of 100", "Requests/s", "CPU per request, µs", "Cores of the service", "Idle cores")
