"""Each kind of request, compared with a ceiling that sends the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import median
from time import sleep

from attrs import evolve, frozen

from recipient_fields.domain import PlainKey

from .data import Database, Organization
from .measuring import Bench, Measured, typical
from .reports import Report, microseconds, milliseconds, rate, table
from .servers import Server, ceiling, service
from .traffic import CONNECTIONS, Load, create_field, read_field, read_list, send_once

MAX_MEMORY = 60
"""Maximum resident memory of the service in MiB."""

CHANGING = 128
"""Organizations that change during the requests. Each changes between two of its requests, which
the client verifies by the entity tags."""

_SETTLE_SECONDS = 0.3
"""Seconds until the service has completed the requests that the client abandoned."""


@frozen(kw_only=True)
class Scenario:
    """A kind of request, and its goal: the maximum CPU time as a ratio to the ceiling."""

    name: str
    load: Load
    goal: float
    during: Callable[[], AbstractContextManager[None]] = nullcontext


def goals(bench: Bench) -> Report:
    """Measure every kind of request, and the memory of the service after all of them."""
    with bench.database() as database, service(database.url) as server:
        rows = [_row(bench, server, scenario) for scenario in scenarios(database, server.url)]
        resident = server.resident
    mark = "✓" if resident <= MAX_MEMORY else "✗"
    return Report(
        f"{table(_HEAD, rows)}\n\n"
        f"Resident memory of the service after all requests: {resident:.1f} MiB"
        f" (at most {MAX_MEMORY}) {mark}"
    )


def scenarios(database: Database, url: str) -> Iterator[Scenario]:
    """Return the kinds of request, and add their data to the database."""
    [hundred] = database.add_organizations(1, fields=100)
    [thousand] = database.add_organizations(1, fields=1_000)
    changing = database.add_organizations(CHANGING, fields=100)
    creating = database.add_organizations(CONNECTIONS, fields=100)
    unknown = Organization(0, PlainKey.generate().reveal())
    tag = send_once(url, read_list(hundred)).headers["ETag"]

    yield Scenario(
        name="list of 100, unchanged",
        load=Load(requests=(read_list(hundred),)),
        goal=1.6,
    )
    yield Scenario(
        name="list of 1,000, unchanged",
        load=Load(requests=(read_list(thousand),)),
        goal=1.3,
    )
    yield Scenario(
        name="list of 100, changed each time",
        load=Load(requests=tuple(map(read_list, changing)), changing=True),
        goal=2.4,
        during=lambda: database.changing(changing),
    )
    yield Scenario(
        name="one field",
        load=Load(requests=(read_field(hundred, database.field_id(hundred)),)),
        goal=1.7,
    )
    yield Scenario(
        name="create",
        load=Load(requests=tuple(map(create_field, creating)), status=201),
        goal=2.5,
        during=lambda: emptied(database, creating),
    )
    yield Scenario(
        name="401, well-formed unknown key",
        load=Load(requests=(read_list(unknown),), status=401),
        goal=1.5,
    )
    yield Scenario(
        name="304",
        load=Load(requests=(read_list(hundred, **{"If-None-Match": tag}),), status=304),
        goal=1.5,
    )


@contextmanager
def emptied(database: Database, organizations: Sequence[Organization]) -> Iterator[None]:
    """Delete the fields that earlier requests have created for these organizations."""
    sleep(_SETTLE_SECONDS)
    database.remove_created(organizations)
    database.vacuum()
    yield


def _row(bench: Bench, server: Server, scenario: Scenario) -> list[str]:
    load = scenario.load
    with scenario.during():
        constant = send_once(server.url, load.requests[0])
    with ceiling(constant) as limit:

        def run(measured: Server, load: Load) -> Measured:
            with scenario.during():
                return bench.measure(measured, load)

        for warmed in (limit, server):
            with scenario.during():
                bench.warm(warmed, load)
        rounds = bench.rounds_of(
            lambda: run(limit, evolve(load, changing=False)), lambda: run(server, load)
        )
    lowest, ours = (typical(runs) for runs in zip(*rounds, strict=True))
    cost = median(ours.cpu / lowest.cpu for lowest, ours in rounds)
    speed = median(ours.rate / lowest.rate for lowest, ours in rounds)
    return [
        scenario.name,
        microseconds(lowest.cpu),
        microseconds(ours.cpu),
        f"**{cost:.2f}**",
        f"≤ {scenario.goal:g} {'✓' if cost <= scenario.goal else '✗'}",
        f"{speed:.2f}",
        rate(ours.rate),
        milliseconds(ours.p50),
        milliseconds(ours.p99),
    ]


_HEAD = (
    "Request",
    "Ceiling, µs",
    "Service, µs",
    "CPU ÷ ceiling",
    "goal",
    "Requests/s ÷ ceiling",
    "Requests/s",
    "p50, ms",
    "p99, ms",
)
