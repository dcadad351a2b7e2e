"""The cost of requests on Citus, before and after the tables are distributed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from time import perf_counter

from recipient_fields.adapters.postgres import migrate

from ..support.citus import CitusCluster
from .capacity import citus_limits
from .costs import Costs, costs_of
from .data import Database
from .measuring import Bench
from .reports import Report, microseconds, table
from .scaling import PAGE

_WORKERS = 2
_ORGANIZATIONS = 1_000
_REQUESTED = 128
_FIELDS = 20


def citus(bench: Bench) -> Report:
    """Measure all kinds of requests on one server, and then on the same one as a coordinator.

    The programs in RECIPIENT_FIELDS_TEST_POSTGRES must include Citus.
    """
    cluster = CitusCluster(_WORKERS)
    try:
        with cluster.new_database() as url:
            migrate(url)
            database = Database(url)
            database.add_crowd(_ORGANIZATIONS, fields=_FIELDS)
            organizations = database.add_keys(_REQUESTED)
            database.vacuum()
            alone = costs_of(bench, database, organizations)
            started = perf_counter()
            migrate(url, distributed=True)
            duration = perf_counter() - started
            database.vacuum()
            workers = [Database(each.url()).postmaster() for each in cluster.workers]
            distributed = costs_of(bench, database, organizations, workers)
    finally:
        cluster.remove()
    conversion = (
        f"`migrate --distributed` took {duration:.1f} s with {_ORGANIZATIONS:,} organizations of"
        f" {_FIELDS} fields. Measured on {datetime.now(UTC).date()}."
    )
    sections = (table(_HEAD, _rows(alone, distributed)), citus_limits(distributed), conversion)
    return Report("\n\n".join(sections), page=PAGE)


def _rows(alone: Costs, distributed: Costs) -> Iterator[tuple[str, ...]]:
    for name, cost in distributed.items():
        before = alone[name]
        parts = (before.service, before.postgres, cost.service, cost.postgres, cost.workers)
        yield name, *map(microseconds, parts)


_HEAD = (
    *("CPU of one request", "Service, one server, µs", "PostgreSQL, one server, µs"),
    *("Service, Citus, µs", "Coordinator, µs", f"{_WORKERS} workers, µs"),
)
