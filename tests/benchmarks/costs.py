"""The CPU time of each kind of request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TypeAlias

import psutil
from attrs import frozen

from .clients import bundled
from .data import FIRST_KEY, Database, Organization
from .measuring import TICK, Bench
from .servers import Server, postgres_cpu_seconds, service
from .traffic import Load, change_field, create_field, read_field, read_list

CACHED_LIST = "list from the cache"
LIST = "list"
FIELD = "one field"
CHANGE = "change"
CREATION = "creation"

_CACHE_MEBIBYTES = "256"
"""The size of the response cache, which holds all lists that are requested."""


@frozen(kw_only=True)
class Cost:
    """The CPU time of one request, in seconds."""

    service: float
    postgres: float
    """The CPU time of the server that the service connects to."""
    workers: float
    """The CPU time of all workers of Citus together."""

    @property
    def total(self) -> float:
        return self.service + self.postgres + self.workers


Costs: TypeAlias = Mapping[str, Cost]
"""The costs by kind of request."""


@frozen
class _Scenario:
    """A kind of request to one of the services."""

    name: str
    server: Server
    load: Load


def costs_of(
    bench: Bench,
    database: Database,
    organizations: Sequence[Organization],
    workers: Sequence[psutil.Process] = (),
) -> Costs:
    """Send each kind of request for these organizations, and return the medians of the rounds.

    `workers` are the main processes of the workers of Citus.
    """
    with (
        service(database.url, "--cache", _CACHE_MEBIBYTES) as caching,
        service(database.url, "--cache", "0") as server,
    ):
        costs = {}
        for scenario in _scenarios(database, organizations, caching, server):
            runs = []
            for _ in range(1 + bench.rounds):
                # Each run creates the same fields.
                database.remove_created(organizations)
                runs.append(_run(bench, scenario, database.postmaster(), workers))
            costs[scenario.name] = _typical(runs)
        return costs


def _scenarios(
    database: Database, organizations: Sequence[Organization], caching: Server, server: Server
) -> Iterator[_Scenario]:
    lists = Load(requests=tuple(map(read_list, organizations)))
    fields = tuple(
        read_field(organization, database.field_id(organization)) for organization in organizations
    )
    changes = tuple(change_field(each, FIRST_KEY) for each in organizations)
    creations = tuple(map(create_field, organizations))
    yield _Scenario(CACHED_LIST, caching, lists)
    yield _Scenario(LIST, server, lists)
    yield _Scenario(FIELD, server, Load(requests=fields))
    yield _Scenario(CHANGE, server, Load(requests=changes))
    yield _Scenario(CREATION, server, Load(requests=creations, status=201))


def _run(
    bench: Bench,
    scenario: _Scenario,
    postmaster: psutil.Process,
    workers: Sequence[psutil.Process],
) -> Cost:
    """Send the requests with the bundled client, which waits for the last responses."""

    def used() -> tuple[float, ...]:
        return (
            scenario.server.cpu_seconds,
            postgres_cpu_seconds(postmaster),
            sum(map(postgres_cpu_seconds, workers)),
        )

    before = used()
    requests = bundled(scenario.server.url, scenario.load, bench.seconds).requests
    ours, postgres, theirs = (
        max(after - begin, TICK) / requests for begin, after in zip(before, used(), strict=True)
    )
    return Cost(service=ours, postgres=postgres, workers=theirs if workers else 0)


def _typical(runs: Sequence[Cost]) -> Cost:
    """Return the medians without the first run, which opens connections and fills the cache."""
    return Cost(
        service=median(run.service for run in runs[1:]),
        postgres=median(run.postgres for run in runs[1:]),
        workers=median(run.workers for run in runs[1:]),
    )
