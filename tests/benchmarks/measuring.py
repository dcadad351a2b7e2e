"""The CPU time and the latency of requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TypeVar

from attrs import frozen

from recipient_fields.adapters.postgres import migrate

from ..support.postgres import new_database
from .clients import Client, bundled
from .data import Database
from .servers import Measurable
from .traffic import Load

T = TypeVar("T")

TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds. The resolution of the CPU time of a process."""
_REPEATED_AT_MOST = 0.02
_TRIES = 3


@frozen(kw_only=True)
class Measured:
    """The result of one run, or the medians of several. Times are in seconds."""

    cpu: float
    """User and system time of the server per request."""
    rate: float
    """Requests per second."""
    p50: float
    p99: float


@frozen(kw_only=True)
class Bench:
    """The conditions of the measurements."""

    postgres: str
    client: Client
    seconds: float
    warming: float
    rounds: int
    largest: int
    """Maximum number of fields of a catalog, and of organizations."""

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Create a migrated database for the block."""
        with new_database(self.postgres) as url:
            migrate(url)
            yield Database(url)

    def warm(self, server: Measurable, load: Load) -> None:
        """Open connections, prepare statements and fill caches."""
        if self.warming:
            bundled(server.url, load, self.warming)

    def measure(self, server: Measurable, load: Load) -> Measured:
        """Run the load, and repeat the run if the data changed too slowly."""
        for _ in range(_TRIES):
            started = server.cpu_seconds
            result = self.client(server.url, load, self.seconds)
            used = max(server.cpu_seconds - started, TICK)
            if not load.changing or result.repeated <= _REPEATED_AT_MOST * result.requests:
                return Measured(
                    cpu=used / result.requests,
                    rate=result.requests / result.seconds,
                    p50=result.p50,
                    p99=result.p99,
                )
        raise AssertionError(f"the data changed too slowly: {result}")

    def rounds_of(self, *runs: Callable[[], T]) -> list[tuple[T, ...]]:
        """Return the results of each round: A, B, A, B, …, so that noise affects all equally."""
        return [tuple(run() for run in runs) for _ in range(self.rounds)]


def typical(measured: Sequence[Measured]) -> Measured:
    """Return the medians."""
    return Measured(
        cpu=median(m.cpu for m in measured),
        rate=median(m.rate for m in measured),
        p50=median(m.p50 for m in measured),
        p99=median(m.p99 for m in measured),
    )
