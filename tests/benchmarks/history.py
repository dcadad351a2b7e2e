"""The cost of the history: the service with it, and the same service without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import median

from attrs import frozen

from .data import Database
from .goals import CHANGING, emptied
from .measuring import Bench, Measured, typical
from .reports import Report, microseconds, table
from .servers import WithPostgres, service, unrecorded_service
from .traffic import CONNECTIONS, Load, create_field, read_field, read_list

MAX_COST_OF_CREATION = 1.15
MAX_COST_OF_READS = 1.1
"""The goal is the same cost. Two services with the same code differ by several percent."""


@frozen(kw_only=True)
class Scenario:
    """A kind of request, and its goal: the maximum CPU time as a ratio to that without history."""

    name: str
    load: Load
    goal: float
    during: Callable[[], AbstractContextManager[None]] = nullcontext


@frozen
class Side:
    """A service, whose CPU time includes that of PostgreSQL, and its scenarios."""

    server: WithPostgres
    scenarios: tuple[Scenario, ...]


def history(bench: Bench) -> Report:
    """Measure a creation and reads with and without history, in turns."""
    with _side(bench, recording=False) as without, _side(bench, recording=True) as recording:
        pairs = zip(without.scenarios, recording.scenarios, strict=True)
        rows = [_row(bench, (without.server, a), (recording.server, b)) for a, b in pairs]
    return Report(table(_HEAD, rows))


@contextmanager
def _side(bench: Bench, *, recording: bool) -> Iterator[Side]:
    """Run a service with its own database."""
    run = service if recording else unrecorded_service
    with bench.database() as database, run(database.url) as server:
        scenarios = tuple(_scenarios(database))
        yield Side(WithPostgres(server, database.postmaster()), scenarios)


def _scenarios(database: Database) -> Iterator[Scenario]:
    creating = database.add_organizations(CONNECTIONS, fields=100)
    changing = database.add_organizations(CHANGING, fields=100)
    organization = changing[0]
    yield Scenario(
        name="create",
        load=Load(requests=tuple(map(create_field, creating)), status=201),
        goal=MAX_COST_OF_CREATION,
        during=lambda: emptied(database, creating),
    )
    yield Scenario(
        name="list of 100, changed each time",
        load=Load(requests=tuple(map(read_list, changing)), changing=True),
        goal=MAX_COST_OF_READS,
        during=lambda: database.changing(changing),
    )
    yield Scenario(
        name="one field",
        load=Load(requests=(read_field(organization, database.field_id(organization)),)),
        goal=MAX_COST_OF_READS,
    )


def _row(bench: Bench, *sides: tuple[WithPostgres, Scenario]) -> list[str]:
    def run(server: WithPostgres, scenario: Scenario) -> Measured:
        with scenario.during():
            return bench.measure(server, scenario.load)

    for server, scenario in sides:
        with scenario.during():
            bench.warm(server, scenario.load)
    rounds = bench.rounds_of(lambda: run(*sides[0]), lambda: run(*sides[1]))
    without, recording = (typical(runs) for runs in zip(*rounds, strict=True))
    cost = median(recording.cpu / without.cpu for without, recording in rounds)
    goal = sides[0][1].goal
    return [
        sides[0][1].name,
        microseconds(without.cpu),
        microseconds(recording.cpu),
        f"**{cost:.2f}**",
        f"≤ {goal:g} {'✓' if cost <= goal else '✗'}",
    ]


_HEAD = (
    "Request",
    "Without history, µs",
    "With history, µs",
    "With ÷ without",
    "goal",
)
