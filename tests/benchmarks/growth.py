"""The cost of a list by the size of the catalog, and by the number of organizations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from attrs import evolve

from .data import Database, Organization
from .measuring import Bench, Measured, typical
from .plot import Curves, Panel, plot
from .reports import Report, microseconds, table
from .servers import Server, ceiling, service
from .traffic import Load, read_list, send_once

PLOT = "growth.svg"

_FIELDS = 100
_MANY, _FEW = 128, 16
"""The number of organizations that change during the requests. Long lists require fewer."""
_WARMING_EACH = 0.001
"""Seconds of warm-up per organization, so that it includes a request for each."""


def growth(bench: Bench) -> Report:
    """Measure the cost of a list by its length, and by the number of organizations."""
    with bench.database() as database, service(database.url) as server:
        lengths = {n: _length(bench, database, server, n) for n in _sizes(10, bench.largest)}
    with bench.database() as database, service(database.url) as server:
        organizations = dict(_organizations(bench, database, server))
    panels = (
        Panel("fields in the list", _curves(lengths)),
        Panel(f"organizations of {_FIELDS} fields", _curves(organizations)),
    )
    tables = (_table("Fields", lengths), _table("Organizations", organizations))
    return Report("\n\n".join(tables), {PLOT: plot("µs of CPU for a list", panels)})


def _length(bench: Bench, database: Database, server: Server, fields: int) -> dict[str, float]:
    organizations = database.add_organizations(_MANY if fields <= _FIELDS else _FEW, fields=fields)
    same = Load(requests=(read_list(organizations[0]),))
    changing = Load(requests=tuple(map(read_list, organizations)), changing=True)

    def changed() -> Measured:
        with database.changing(organizations):
            return bench.measure(server, changing)

    with ceiling(send_once(server.url, same.requests[0])) as limit:
        for warmed in (limit, server):
            bench.warm(warmed, same)
        rounds = bench.rounds_of(
            lambda: bench.measure(limit, same), lambda: bench.measure(server, same), changed
        )
    costs = (typical(runs).cpu for runs in zip(*rounds, strict=True))
    return dict(zip(("ceiling", "unchanged", "changed each time"), costs, strict=True))


def _organizations(
    bench: Bench, database: Database, server: Server
) -> Iterator[tuple[int, dict[str, float]]]:
    organizations: tuple[Organization, ...] = ()
    for count in _sizes(1, bench.largest):
        organizations += database.add_organizations(count - len(organizations), fields=_FIELDS)
        load = Load(requests=tuple(map(read_list, organizations)))
        database.mark_keys_as_used()
        evolve(bench, warming=bench.warming + count * _WARMING_EACH).warm(server, load)
        rounds = bench.rounds_of(partial(bench.measure, server, load))
        yield count, {"unchanged": typical([run for (run,) in rounds]).cpu}


def _sizes(smallest: int, largest: int) -> Iterator[int]:
    while smallest <= largest:
        yield smallest
        smallest *= 10


def _curves(costs: Mapping[int, Mapping[str, float]]) -> Curves:
    names = next(iter(costs.values()))
    return {name: [(n, cost[name] * 1e6) for n, cost in costs.items()] for name in names}


def _table(unit: str, costs: Mapping[int, Mapping[str, float]]) -> str:
    head = (unit, *(f"{name}, µs" for name in next(iter(costs.values()))))
    return table(head, [(f"{n:,}", *map(microseconds, c.values())) for n, c in costs.items()])
