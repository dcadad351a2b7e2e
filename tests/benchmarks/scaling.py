"""The cost of requests by the number of organizations, and by the fields of an organization."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import psycopg
from attrs import frozen

from recipient_fields.adapters.postgres import migrate

from ..support.postgres import execute, new_database, programs
from .capacity import Disk, capacity
from .costs import Cost, Costs, costs_of
from .data import Database
from .measuring import Bench
from .plot import Curves, Panel, plot
from .reports import Report, microseconds, section, table
from .servers import MEBIBYTE

PAGE = "scaling.md"
PLOT = "scaling.svg"

_FIELDS = 20
"""The fields of each organization, if the number of organizations varies."""
_ORGANIZATIONS = (10, 1_000, 100_000, 1_000_000)
_CATALOGS = {10: 128, 100: 128, 1_000: 128, 10_000: 16}
"""The number of organizations, by the fields of each. All receive requests."""
_ORGANIZATIONS_PER_FIELD = 100
"""The largest number of organizations, as a ratio to the largest number of fields."""
_REQUESTED = 128
"""The maximum number of organizations that receive requests, if their number varies."""


@frozen(kw_only=True)
class Maintenance:
    """Sizes on disk in bytes, and durations in seconds."""

    size: int
    migration: float
    dump: float
    dump_size: int
    restoration: float


def scaling(bench: Bench) -> Report:
    """Measure all kinds of requests with few and many organizations and fields."""
    organizations: dict[int, Costs] = {}
    maintenance: dict[int, Maintenance] = {}
    record_size = 0
    for count in _ORGANIZATIONS:
        if count <= bench.largest * _ORGANIZATIONS_PER_FIELD:
            with new_database(bench.postgres) as url:
                database = Database(url)
                migration = _crowd(database, count)
                maintenance[count] = _maintenance(bench, database, migration)
                organizations[count] = costs_of(bench, database, database.add_keys(_REQUESTED))
                record_size = database.history_record_size()
    catalogs: dict[int, Costs] = {}
    for fields, count in _CATALOGS.items():
        if fields <= bench.largest:
            with bench.database() as database:
                created = database.add_organizations(count, fields=fields)
                catalogs[fields] = costs_of(bench, database, created)
    disk = Disk(field=_field_size(maintenance), record=record_size)
    sections = (
        section("Requests by organizations", _costs_table("Organizations", organizations)),
        section("Requests by fields", _costs_table("Fields", catalogs)),
        section("Size and maintenance by organizations", _maintenance_table(maintenance)),
        capacity(organizations[max(organizations)], disk),
        f"Measured on {datetime.now(UTC).date()}.",
    )
    panels = (
        Panel(f"organizations of {_FIELDS} fields", _curves(organizations)),
        Panel("fields of each organization", _curves(catalogs)),
    )
    pictures = {PLOT: plot("µs of CPU of the service and PostgreSQL", panels)}
    return Report("\n\n".join(sections), pictures, PAGE)


def _crowd(database: Database, organizations: int) -> float:
    """Fill the schema of the first migration, and return the duration of all later ones."""
    migrate(database.url)
    _return_to_first_migration(database.url)
    database.add_crowd(organizations, fields=_FIELDS)
    started = perf_counter()
    migrate(database.url)
    duration = perf_counter() - started
    database.vacuum()
    # Otherwise, the server writes the new pages to the disk during the requests.
    execute(database.url, "CHECKPOINT")
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


def _maintenance(bench: Bench, database: Database, migration: float) -> Maintenance:
    size = database.size()
    with TemporaryDirectory() as folder, new_database(bench.postgres) as copy:
        archive = Path(folder, "dump")
        dump = _duration("pg_dump", "--format", "custom", "--file", archive, database.url)
        restoration = _duration("pg_restore", "--exit-on-error", "--dbname", copy, archive)
        dump_size = archive.stat().st_size
    return Maintenance(
        size=size, migration=migration, dump=dump, dump_size=dump_size, restoration=restoration
    )


def _duration(program: str, *arguments: str | Path) -> float:
    started = perf_counter()
    subprocess.run([programs() / program, *arguments], check=True)
    return perf_counter() - started


def _field_size(maintenance: Mapping[int, Maintenance]) -> float:
    """Return the bytes per field, with its part of the indexes, the organization and its API key.

    The difference of two databases does not contain the size of an empty one.
    """
    few, many = min(maintenance), max(maintenance)
    return (maintenance[many].size - maintenance[few].size) / ((many - few) * _FIELDS)


def _costs_table(unit: str, costs: Mapping[int, Costs]) -> str:
    few, many = min(costs), max(costs)
    head = (unit, *(f"{name}, µs" for name in costs[few]))
    rows = [(f"{n:,}", *map(_cost_cell, row.values())) for n, row in costs.items()]
    ratios = (_ratio_cell(costs[few][name], cost) for name, cost in costs[many].items())
    return table(head, [*rows, (f"{many:,} ÷ {few:,}", *ratios)])


def _cost_cell(cost: Cost) -> str:
    return f"{microseconds(cost.service)} + {microseconds(cost.postgres)}"


def _ratio_cell(few: Cost, many: Cost) -> str:
    return f"{many.service / few.service:.2f}, {many.postgres / few.postgres:.2f}"


def _maintenance_table(maintenance: Mapping[int, Maintenance]) -> str:
    head = (
        *("Organizations", "Size, MiB", "`migrate`, s"),
        *("`pg_dump`, s", "Backup, MiB", "`pg_restore`, s"),
    )
    rows = [
        (
            f"{n:,}",
            f"{each.size / MEBIBYTE:,.0f}",
            f"{each.migration:.2f}",
            f"{each.dump:.1f}",
            f"{each.dump_size / MEBIBYTE:,.1f}",
            f"{each.restoration:.1f}",
        )
        for n, each in maintenance.items()
    ]
    return table(head, rows)


def _curves(costs: Mapping[int, Costs]) -> Curves:
    names = next(iter(costs.values()))
    return {name: [(n, cost[name].total * 1e6) for n, cost in costs.items()] for name in names}
