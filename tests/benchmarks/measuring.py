"""What a request costs a server, and how fast it is answered."""

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
from .servers import Server
from .traffic import Load

T = TypeVar("T")

_TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds; no finer is a process's use of CPU told."""
_REPEATED_AT_MOST = 0.02
_TRIES = 3


@frozen(kw_only=True)
class Measured:
    """One run against one server, or what is typical of several; times in seconds."""

    cpu: float
    """User and system time of the server process for each request."""
    rate: float
    """Requests per second."""
    p50: float
    p99: float


@frozen(kw_only=True)
class Bench:
    """Where the measuring is done, and how thoroughly."""

    postgres: str
    client: Client
    seconds: float
    warming: float
    rounds: int
    largest: int
    """How many fields, or organizations, the largest catalog or storage has."""

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A migrated database, which lives as long as the block."""
        with new_database(self.postgres) as url:
            migrate(url)
            yield Database(url)

    def warm(self, server: Server, load: Load) -> None:
        """Let connections open, statements be prepared and caches fill."""
        if self.warming:
            bundled(server.url, load, self.warming)

    def measure(self, server: Server, load: Load) -> Measured:
        """One run; made again where the load was not changing as fast as it was asked for."""
        for _ in range(_TRIES):
            begun = server.cpu_seconds
            outcome = self.client(server.url, load, self.seconds)
            used = max(server.cpu_seconds - begun, _TICK)
            if not load.changing or outcome.repeated <= _REPEATED_AT_MOST * outcome.requests:
                return Measured(
                    cpu=used / outcome.requests,
                    rate=outcome.requests / outcome.seconds,
                    p50=outcome.p50,
                    p99=outcome.p99,
                )
        raise AssertionError(f"what should have changed has not: {outcome}")

    def rounds_of(self, *runs: Callable[[], T]) -> list[tuple[T, ...]]:
        """What each run gives in each round: A, B, A, B, …, so that noise meets them alike."""
        return [tuple(run() for run in runs) for _ in range(self.rounds)]


def typical(measured: Sequence[Measured]) -> Measured:
    """The medians."""
    return Measured(
        cpu=median(m.cpu for m in measured),
        rate=median(m.rate for m in measured),
        p50=median(m.p50 for m in measured),
        p99=median(m.p99 for m in measured),
    )
