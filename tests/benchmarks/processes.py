"""One process and two processes with the same storage and the same two clients."""

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
    """CPU time of all server processes per request."""
    busy: float
    """Number of cores that the server processes used."""
    idle: float
    """Number of idle cores."""


def processes(bench: Bench) -> Report:
    """Measure how much faster two processes are than one."""
    with bench.database() as database, ExitStack() as running:
        [organization] = database.add_organizations(1, fields=100)
        load = Load(requests=(read_list(organization),), connections=CONNECTIONS // _CLIENTS)
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
        f"Two processes serve {gain:.2f} times as many requests as one (goal: {LEAST_GAIN})"
        f" {'✓' if gain >= LEAST_GAIN else '✗'}. A request costs {cost:.2f} times the CPU time."
        f" With idle cores, they serve up to {2 / cost:.2f} times as many."
    )


def _run(bench: Bench, load: Load, *servers: Server) -> Shared:
    """Send the load to each server from its own client. A server passed twice has two clients."""
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
