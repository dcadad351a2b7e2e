"""The same reads under waitress and under Granian."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from statistics import median

from .measuring import Bench
from .reports import Report, microseconds, rate, table
from .servers import granian, service
from .traffic import Load, read_field, read_list

MIN_GAIN = 1.3
"""The goal: requests per second under Granian ÷ under waitress, with the same threads."""


def hosts(bench: Bench) -> Report:
    """Return the requests per second and the CPU per request of each read under both servers."""
    with bench.database() as database, ExitStack() as running:
        [hundred] = database.add_organizations(1, fields=100)
        [thousand] = database.add_organizations(1, fields=1_000)
        servers = [
            running.enter_context(service(database.url)),
            running.enter_context(granian(database.url)),
        ]
        loads = {
            "list of 100": Load(requests=(read_list(hundred),)),
            "list of 1,000": Load(requests=(read_list(thousand),)),
            "one field": Load(requests=(read_field(hundred, database.field_id(hundred)),)),
        }
        rows = []
        for name, load in loads.items():
            for server in servers:
                bench.warm(server, load)
            rounds = bench.rounds_of(
                partial(bench.measure, servers[0], load), partial(bench.measure, servers[1], load)
            )
            gain = median(granian.rate / waitress.rate for waitress, granian in rounds)
            row = [name]
            for runs in zip(*rounds, strict=True):
                row += [rate(median(run.rate for run in runs))]
                row += [microseconds(median(run.cpu for run in runs))]
            rows.append(
                [*row, f"**{gain:.2f}**", f"≥ {MIN_GAIN} {'✓' if gain >= MIN_GAIN else '✗'}"]
            )
    return Report(table(_HEAD, rows))


_HEAD = (
    "Read",
    "Waitress, requests/s",
    "CPU, µs",
    "Granian, requests/s",
    "CPU, µs",
    "Requests/s, Granian ÷ waitress",
    "goal",
)
