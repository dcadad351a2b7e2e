"""One process on whatever CPUs the system gives it, and staying on one, as it does by default."""

from __future__ import annotations

from statistics import median

from .goals import Scenario, scenarios
from .measuring import Bench, Measured, typical
from .reports import Report, microseconds, rate, table
from .servers import Server, service

_SHOWN = frozenset({"list of 100, unchanged", "one field", "create"})


def affinity(bench: Bench) -> Report:
    """What it saves to stay on one CPU; nothing where the system can't hold a process to one."""
    with (
        bench.database() as database,
        service(database.url, "--any-cpu") as free,
        service(database.url, "--one-cpu") as held,
    ):
        shown = [each for each in scenarios(database, free.url) if each.name in _SHOWN]
        assert len(shown) == len(_SHOWN)
        return Report(table(_HEAD, [_row(bench, scenario, free, held) for scenario in shown]))


def _row(bench: Bench, scenario: Scenario, free: Server, held: Server) -> list[str]:
    def run(server: Server) -> Measured:
        with scenario.meanwhile():
            return bench.measure(server, scenario.load)

    for server in (free, held):
        with scenario.meanwhile():
            bench.warm(server, scenario.load)
    rounds = bench.rounds_of(lambda: run(free), lambda: run(held))
    anywhere, pinned = (typical(runs) for runs in zip(*rounds, strict=True))
    gain = median(pinned.rate / anywhere.rate for anywhere, pinned in rounds)
    cost = median(pinned.cpu / anywhere.cpu for anywhere, pinned in rounds)
    return [
        scenario.name,
        *(rate(anywhere.rate), rate(pinned.rate), f"{gain:.2f}"),
        *(microseconds(anywhere.cpu), microseconds(pinned.cpu), f"{cost:.2f}"),
    ]


_HEAD = (
    "Request",
    *("Requests/s, any CPU", "one CPU", "ratio"),
    *("µs of CPU, any CPU", "one CPU", "ratio"),
)
