"""What a number of requests per second needs, calculated from measured costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

from attrs import frozen

from .costs import CACHED_LIST, CHANGE, CREATION, FIELD, LIST, Cost, Costs
from .reports import rate, section, table

_RATES = (10, 1_000, 100_000)
"""Requests per second."""
_WRITES = {CHANGE: 0.01, CREATION: 0.01}
_MIXES = {
    "none": {LIST: 0.9, FIELD: 0.08, **_WRITES},
    "all": {CACHED_LIST: 0.98, **_WRITES},
}
"""The shares of the kinds of requests, by the reads that the cache serves."""
_UTILIZATION = 0.5
"""The part of each core that requests use. The other part is for peaks and failed machines."""
_LARGE_SERVER = 64
"""The cores of a large server."""
_LEAST_PROCESSES = 2
"""One serves while the other one restarts."""
_CONNECTIONS = 10
"""Connections per process: `pool_size` plus two."""
_STORED = (1_000_000, 20_000_000, 1_000_000_000)
"""Numbers of fields."""

_DAY = 24 * 60 * 60
_GIBIBYTE = 1024**3


@frozen(kw_only=True)
class Disk:
    """Sizes on disk in bytes, with the indexes."""

    field: float
    record: float
    """The size of a record of the history. Each change and each creation stores one."""


def capacity(costs: Costs, disk: Disk) -> str:
    """Return sections: what rates need, the largest rates, and the sizes on disk."""
    sections = (
        section("Requirements", table(_REQUIREMENTS, _requirements(costs, disk))),
        section("Limits", table(_LIMITS, _limits(costs))),
        section("Size on disk", table(_SIZES, _sizes(disk))),
    )
    return "\n\n".join(sections)


def _requirements(costs: Costs, disk: Disk) -> Iterator[tuple[str, ...]]:
    for requests in _RATES:
        for name, shares in _MIXES.items():
            cost = _mean(costs, shares)
            processes = max(_LEAST_PROCESSES, _cores(requests * cost.service))
            writes = requests * sum(_WRITES.values())
            growth = requests * shares[CREATION] * disk.field + writes * disk.record
            yield (
                *(rate(requests), name, rate(processes), rate(processes * _CONNECTIONS)),
                *(rate(_cores(requests * cost.postgres)), f"{writes:,g}"),
                _about(growth * _DAY / _GIBIBYTE),
            )


_REQUIREMENTS = (
    *("Requests/s", "Reads from the cache", "Processes of the service", "Connections"),
    *("Cores of PostgreSQL", "Commits/s", "Growth on disk, GiB per day"),
)


def _limits(costs: Costs) -> Iterator[tuple[str, ...]]:
    for name, shares in _MIXES.items():
        cost, writes = _mean(costs, shares), _mean(costs, _WRITES)
        primary = _LARGE_SERVER * _UTILIZATION / cost.postgres
        yield "one primary", name, _about(primary), rate(_cores(primary * cost.service)), "1"
        written = _LARGE_SERVER * _UTILIZATION / writes.postgres
        replicas = ceil(
            written * (cost.postgres - writes.postgres) / (_LARGE_SERVER * _UTILIZATION)
        )
        processes = rate(_cores(written * cost.service))
        yield "reads from replicas", name, _about(written), processes, f"1 + {replicas}"


_LIMITS = (
    *("Design", "Reads from the cache", "Requests/s", "Processes of the service"),
    f"Servers of {_LARGE_SERVER} cores",
)


def citus_limits(costs: Costs) -> str:
    """Return a table: the largest rates of one coordinator."""
    return table(_CITUS_LIMITS, _citus_limits(costs))


def _citus_limits(costs: Costs) -> Iterator[tuple[str, ...]]:
    for name, shares in _MIXES.items():
        cost = _mean(costs, shares)
        largest = _LARGE_SERVER * _UTILIZATION / cost.postgres
        workers = _cores(largest * cost.workers)
        yield name, _about(largest), rate(_cores(largest * cost.service)), rate(workers)


_CITUS_LIMITS = (
    *("Reads from the cache", f"Requests/s of a coordinator with {_LARGE_SERVER} cores"),
    *("Processes of the service", "Cores of all workers"),
)


def _sizes(disk: Disk) -> Iterator[tuple[str, ...]]:
    yield "one record of the history", f"{disk.record:,.0f} bytes"
    yield "one field", f"{disk.field:,.0f} bytes"
    for fields in _STORED:
        yield f"{fields:,} fields", f"{_about(fields * disk.field / _GIBIBYTE)} GiB"


_SIZES = ("Stored", "Size with indexes")


def _mean(costs: Costs, shares: Mapping[str, float]) -> Cost:
    """Return the cost of these kinds of requests in a mean request."""
    return Cost(
        service=sum(share * costs[name].service for name, share in shares.items()),
        postgres=sum(share * costs[name].postgres for name, share in shares.items()),
        workers=sum(share * costs[name].workers for name, share in shares.items()),
    )


def _cores(used: float) -> int:
    return ceil(used / _UTILIZATION)


def _about(number: float) -> str:
    """Return the number with two significant digits."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
