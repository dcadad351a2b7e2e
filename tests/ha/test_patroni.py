"""The service on a cluster of Patroni: faults of the primary lose no acknowledged write.

The figures are logged: `make test-ha` shows them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic, sleep

import pytest

from recipient_fields.domain import StorageUnavailable
from recipient_fields.entrypoints.service.selection import open_core

from ..service.postgres.conftest import serving
from ..service.postgres.writers import (
    Writer,
    acknowledged_since,
    all_requests,
    require_nothing_lost_or_duplicated,
    writing,
)
from ..support.postgres import PASSWORD
from ..support.service import Client, require_statuses
from ..support.waiting import eventually
from .cluster import ADDRESSES, Cluster, running_cluster

THREADS = 4
ROUTES = {
    "haproxy": f"postgresql://fields:{PASSWORD}@127.0.0.1:5000/recipient_fields",
    "pgbouncer": f"postgresql://fields:{PASSWORD}@127.0.0.1:6432/recipient_fields?prepare=false",
    "hosts": f"postgresql://fields:{PASSWORD}@{','.join(ADDRESSES)}/recipient_fields"
    "?target_session_attrs=read-write",
}
"""The storage URLs. In the last one, the service selects the primary itself."""

Fault = Callable[[Cluster], None]

_log = logging.getLogger(__name__)


def switchover(cluster: Cluster) -> None:
    cluster.switch_over()


def killed_server(cluster: Cluster) -> None:
    cluster.leader().server.kill()


def killed_node(cluster: Cluster) -> None:
    leader = cluster.leader()
    leader.kill()
    require_another_leader(cluster, leader.name)


def killed_patroni(cluster: Cluster) -> None:
    leader = cluster.leader()
    leader.kill_patroni()
    require_another_leader(cluster, leader.name)
    assert leader.server.is_running()  # Two primaries, for PostgreSQL.


def require_another_leader(cluster: Cluster, name: str) -> None:
    eventually(lambda: cluster.leader_name() not in {None, name}, within=60)


FAULTS: dict[Fault, float] = {
    switchover: 20.0,
    killed_server: 20.0,
    killed_node: 45.0,
    killed_patroni: 45.0,
}
"""The maximum number of seconds without a successful write. The lease of a primary lasts 20 s."""


@pytest.fixture(scope="module")
def started_cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def cluster(started_cluster: Cluster) -> Cluster:
    started_cluster.repair()
    return started_cluster


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("route", ROUTES)
def test_a_fault_of_the_primary_loses_no_acknowledged_write(
    cluster: Cluster, route: str, fault: Fault
) -> None:
    eventually(lambda: accepts_writes(ROUTES[route]), within=30)
    keys = new_keys(ROUTES[route])
    with serving(ROUTES[route]) as url:
        with writing([Client(url, key) for key in keys]) as writers:
            sleep(2)
            began = monotonic()
            fault(cluster)
            over = monotonic()
            eventually(lambda: acknowledged_since(over, writers), within=FAULTS[fault])
            sleep(5)
        require_nothing_lost_or_duplicated(writers)
    requests = all_requests(writers)
    gap = longest_gap(writers)
    _log.info(
        "%s, %s: longest time without a successful write %.1f s (fault after %.1f s);"
        " of %d requests, %d received 503; %d fields acknowledged, 0 lost",
        *(route, fault.__name__, gap, over - began, len(requests)),
        sum(each.status == 503 for each in requests),
        sum(len(writer.acknowledged) for writer in writers),
    )
    require_statuses(requests, 200, 201, 409, 503)
    assert gap < FAULTS[fault]


def accepts_writes(url: str) -> bool:
    try:
        core = open_core(url)
    except StorageUnavailable:
        return False
    core.storage.close()
    return True


def new_keys(url: str) -> list[str]:
    """Return keys of new organizations, one per writer."""
    core = open_core(url)
    number = len(core.administration.list_organizations())
    names = [f"Organization {number + n}" for n in range(THREADS)]
    organizations = [core.administration.create_organization(name) for name in names]
    keys = [core.administration.issue_key(each.id, name="Test") for each in organizations]
    core.storage.close()
    return [key.plain.reveal() for key in keys]


def longest_gap(writers: list[Writer]) -> float:
    """Return the longest time in seconds between two successful writes of any client."""
    ends = [each.ended for each in all_requests(writers) if each.status < 300]
    return max(after - before for before, after in pairwise(ends))
