"""The cost of requests by the number of organizations, and by the fields of an organization."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import psutil
import psycopg
from attrs import frozen

from recipient_fields.adapters.postgres import migrate

from ..support.postgres import new_database, programs
from .data import FIRST_KEY, Database, Tenant
from .measuring import Bench, Measured, typical
from .plot import Curves, Panel, plot
from .reports import Report, microseconds, table
from .servers import MEBIBYTE, Measurable, Server, postgres_cpu_seconds, service
from .traffic import Load, change_field, create_field, read_field, read_list

PAGE = "scaling.md"
PLOT = "scaling.svg"

_FIELDS = 20
"""The fields of each organization, if the number of organizations varies."""
_ORGANIZATIONS = (10, 1_000, 100_000, 1_000_000)
_CATALOGS = (10, 100, 1_000, 10_000)
_ORGANIZATIONS_PER_FIELD = 100
"""The largest number of organizations, as a ratio to the largest number of fields."""
_REQUESTED = 128
"""Organizations that receive requests."""
_SETTLE_SECONDS = 0.3
"""Seconds until the service has completed the requests that the client abandoned."""

Costs = Mapping[str, tuple[float, float]]
"""The CPU time of the service and of PostgreSQL per request, in seconds, by kind of request."""


@frozen
class PostgresAlone(Measurable):
    """The PostgreSQL server of a service, without the service."""

    service: Server
    postmaster: psutil.Process

    @property
    def url(self) -> str:
        return self.service.url

    @property
    def cpu_seconds(self) -> float:
        return postgres_cpu_seconds(self.postmaster)


@frozen
class Scenario:
    """A kind of request to one of the services."""

    name: str
    server: Server
    load: Load
    during: Callable[[], AbstractContextManager[None]] = nullcontext


@frozen(kw_only=True)
class Maintenance:
    """The size on disk in bytes, and durations in seconds."""

    size: int
    migration: float
    dump: float
    restoration: float


def scaling(bench: Bench) -> Report:
    """Measure all kinds of requests with few and many organizations and fields."""
    most = bench.largest * _ORGANIZATIONS_PER_FIELD
    organizations: dict[int, Costs] = {}
    maintenance: dict[int, Maintenance] = {}
    for count in (each for each in _ORGANIZATIONS if each <= most):
        with new_database(bench.postgres) as url:
            database = Database(url)
            migration = _crowd(database, count)
            organizations[count] = _costs(bench, database, database.add_keys(_REQUESTED))
            maintenance[count] = _maintenance(bench, database, migration)
    catalogs: dict[int, Costs] = {}
    for fields in (each for each in _CATALOGS if each <= bench.largest):
        with bench.database() as database:
            tenants = database.add_tenants(_REQUESTED, fields=fields)
            catalogs[fields] = _costs(bench, database, tenants)
    tables = (
        _costs_table("Organizations", organizations),
        _maintenance_table(maintenance),
        _costs_table("Fields", catalogs),
        f"Measured on {datetime.now(UTC).date()}.",
    )
    panels = (
        Panel(f"organizations of {_FIELDS} fields", _curves(organizations)),
        Panel("fields of each organization", _curves(catalogs)),
    )
    pictures = {PLOT: plot("µs of CPU of the service and PostgreSQL", panels)}
    return Report("\n\n".join(tables), pictures, PAGE)


def _crowd(database: Database, organizations: int) -> float:
    """Fill the schema of the first migration, and return the duration of all later ones."""
    migrate(database.url)
    _return_to_first_migration(database.url)
    database.add_crowd(organizations, fields=_FIELDS)
    started = perf_counter()
    migrate(database.url)
    duration = perf_counter() - started
    database.vacuum()
    return duration


def _return_to_first_migration(url: str) -> None:
    folder = files("recipient_fields.adapters.postgres") / "migrations"
    first = min(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    with psycopg.connect(url) as connection:
        connection.execute(
            "DELETE FROM schema_migrations WHERE name <> %s", [first.removesuffix(".sql")]
        )
        names = connection.execute(
            "SELECT string_agg(tablename, ', ') FROM pg_tables"
            " WHERE schemaname = 'public' AND tablename <> 'schema_migrations'"
        ).fetchone()
        assert names is not None
        connection.execute(f"DROP TABLE {names[0]} CASCADE".encode())
        connection.execute((folder / first).read_bytes())


def _costs(bench: Bench, database: Database, tenants: Sequence[Tenant]) -> Costs:
    with service(database.url) as caching, service(database.url, "--cache", "0") as server:
        scenarios = _scenarios(database, tenants, caching, server)
        return {each.name: _cost(bench, each, database.postmaster()) for each in scenarios}


def _scenarios(
    database: Database, tenants: Sequence[Tenant], caching: Server, server: Server
) -> Iterator[Scenario]:
    lists = Load(requests=tuple(map(read_list, tenants)))
    fields = tuple(read_field(tenant, database.field_id(tenant)) for tenant in tenants)
    changes = tuple(change_field(tenant, FIRST_KEY) for tenant in tenants)
    creations = Load(requests=tuple(map(create_field, tenants)), status=201)
    yield Scenario("key lookup", caching, lists)
    yield Scenario("list", server, lists)
    yield Scenario("one field", server, Load(requests=fields))
    yield Scenario("change", server, Load(requests=changes))
    yield Scenario("creation", server, creations, partial(_without_created, database, tenants))


@contextmanager
def _without_created(database: Database, tenants: Sequence[Tenant]) -> Iterator[None]:
    sleep(_SETTLE_SECONDS)
    database.remove_created(tenants)
    yield


def _cost(bench: Bench, scenario: Scenario, postmaster: psutil.Process) -> tuple[float, float]:
    def run(server: Measurable) -> Measured:
        with scenario.during():
            return bench.measure(server, scenario.load)

    with scenario.during():
        bench.warm(scenario.server, scenario.load)
    postgres = PostgresAlone(scenario.server, postmaster)
    rounds = bench.rounds_of(lambda: run(scenario.server), lambda: run(postgres))
    ours, theirs = (typical(runs).cpu for runs in zip(*rounds, strict=True))
    return ours, theirs


def _maintenance(bench: Bench, database: Database, migration: float) -> Maintenance:
    with TemporaryDirectory() as folder, new_database(bench.postgres) as copy:
        archive = Path(folder, "dump")
        dump = _duration("pg_dump", "--format", "custom", "--file", archive, database.url)
        restoration = _duration("pg_restore", "--exit-on-error", "--dbname", copy, archive)
    return Maintenance(
        size=database.size(), migration=migration, dump=dump, restoration=restoration
    )


def _duration(program: str, *arguments: str | Path) -> float:
    started = perf_counter()
    subprocess.run([programs() / program, *arguments], check=True)
    return perf_counter() - started


def _costs_table(unit: str, costs: Mapping[int, Costs]) -> str:
    names = next(iter(costs.values()))
    head = (unit, *(f"{name}, µs" for name in names))
    rows = [
        (f"{n:,}", *(" + ".join(map(microseconds, cost)) for cost in row.values()))
        for n, row in costs.items()
    ]
    return table(head, rows)


def _maintenance_table(maintenance: Mapping[int, Maintenance]) -> str:
    head = ("Organizations", "Size, MiB", "`migrate`, s", "`pg_dump`, s", "`pg_restore`, s")
    rows = [
        (
            f"{n:,}",
            f"{each.size / MEBIBYTE:,.0f}",
            f"{each.migration:.2f}",
            f"{each.dump:.1f}",
            f"{each.restoration:.1f}",
        )
        for n, each in maintenance.items()
    ]
    return table(head, rows)


def _curves(costs: Mapping[int, Costs]) -> Curves:
    names = next(iter(costs.values()))
    return {name: [(n, sum(cost[name]) * 1e6) for n, cost in costs.items()] for name in names}
