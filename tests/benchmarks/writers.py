"""Eight concurrent writers in one organization, and in eight organizations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .data import FIRST_KEY, Database, Organization
from .measuring import Bench, Measured, typical
from .reports import Report, microseconds, milliseconds, rate, table
from .servers import Server, service
from .traffic import CONNECTIONS, Load, change_field, create_field

_FIELDS = 100


def writers(bench: Bench) -> Report:
    """Measure writers, which wait for each other if they share an organization."""
    with bench.database() as database, service(database.url) as server:
        runs: dict[str, Callable[[], Measured]] = {}
        for where, count in (("one organization", 1), ("eight organizations", CONNECTIONS)):
            organizations = database.add_organizations(count, fields=_FIELDS)
            runs[f"create, {where}"] = partial(_create, bench, database, server, organizations)
            runs[f"change, {where}"] = partial(_change, bench, server, organizations)
        for run in runs.values():
            run()
        rounds = bench.rounds_of(*runs.values())
    rows = [_row(name, typical(r)) for name, r in zip(runs, zip(*rounds, strict=True), strict=True)]
    return Report(table(_HEAD, rows))


def _create(
    bench: Bench, database: Database, server: Server, organizations: tuple[Organization, ...]
) -> Measured:
    database.remove_created(organizations)
    database.vacuum()
    requests = tuple(create_field(organization) for organization in organizations)
    return bench.measure(server, Load(requests=requests, status=201))


def _change(bench: Bench, server: Server, organizations: tuple[Organization, ...]) -> Measured:
    requests = tuple(change_field(organization, FIRST_KEY) for organization in organizations)
    return bench.measure(server, Load(requests=requests))


def _row(name: str, measured: Measured) -> list[str]:
    return [
        name,
        rate(measured.rate),
        milliseconds(measured.p50),
        milliseconds(measured.p99),
        microseconds(measured.cpu),
    ]


_HEAD = ("8 writers", "Requests/s", "p50, ms", "p99, ms", "CPU per request, µs")
