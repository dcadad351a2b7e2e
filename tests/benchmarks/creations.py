"""The CPU time of PostgreSQL for a creation, by the number of fields of the organization."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import count, cycle
from statistics import median
from time import monotonic

import psutil
from attrs import frozen

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.domain import API, Author, DataType, FieldDraft, OrganizationId
from recipient_fields.testing.field_changes import add_field

from .data import Database, Organization
from .measuring import TICK, Bench
from .reports import Report, microseconds, table
from .servers import postgres_cpu_seconds

MAX_GROWTH = 1.1
"""The maximum CPU time at 1,000 fields, as a ratio to that at 10."""

_SIZES = (10, 1_000, 10_000)
_ORGANIZATIONS = {10: 128, 1_000: 128, 10_000: 16}
_LIMIT = 1_000_000
_AUTHOR = Author(API, name="Benchmark")


@frozen
class _Creations:
    """Creations of one process, without the service."""

    bench: Bench
    database: Database
    storage: PostgresStorage
    postmaster: psutil.Process

    def measure(self, organizations: Sequence[Organization]) -> float:
        """Return the CPU time per creation in seconds, and remove the created fields."""
        numbers = count()
        for organization in organizations:
            self._create(organization, next(numbers))
        started, ends, created = self._cpu_seconds(), monotonic() + self.bench.seconds, 0
        for organization in cycle(organizations):
            self._create(organization, next(numbers))
            created += 1
            if monotonic() > ends:
                break
        used = max(self._cpu_seconds() - started, TICK)
        self.database.remove_created(organizations)
        self.database.vacuum()
        return used / created

    def _create(self, organization: Organization, number: int) -> None:
        draft = FieldDraft(name=f"Created {number}", data_type=DataType.TEXT)
        definition = draft.define(by=API, at=datetime.now(UTC))
        organization_id = OrganizationId(organization.id)
        add_field(self.storage.fields, organization_id, definition, limit=_LIMIT, author=_AUTHOR)

    def _cpu_seconds(self) -> float:
        return postgres_cpu_seconds(self.postmaster)


def creations(bench: Bench) -> Report:
    """Measure creations in organizations of different sizes, in turns."""
    sizes = [size for size in _SIZES if size <= bench.largest]
    with bench.database() as database, closing(PostgresStorage(database.url)) as storage:
        side = _Creations(bench, database, storage, database.postmaster())
        runs = [
            partial(side.measure, database.add_organizations(_ORGANIZATIONS[size], fields=size))
            for size in sizes
        ]
        for run in runs:
            run()
        rounds = bench.rounds_of(*runs)
    return Report(table(_HEAD, [_row(rounds, place, size) for place, size in enumerate(sizes)]))


def _row(rounds: Sequence[tuple[float, ...]], place: int, size: int) -> list[str]:
    growth = median(costs[place] / costs[0] for costs in rounds)
    goal = f"≤ {MAX_GROWTH:g} {'✓' if growth <= MAX_GROWTH else '✗'}" if place else ""
    cost = microseconds(median(costs[place] for costs in rounds))
    return [f"{size:,}", cost, f"**{growth:.2f}**", goal]


_HEAD = ("Fields", "CPU of PostgreSQL, µs", "CPU ÷ CPU at 10 fields", "goal")
