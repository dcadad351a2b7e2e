"""A cluster of Citus for these tests, instead of one PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate

from ..support.citus import CitusCluster
from ..support.postgres import execute

WORKERS = 3

# TRUNCATE takes 20 times as long on distributed tables.
EMPTY = [
    f"DELETE FROM {table}"
    for table in (
        *("recipient_field_changes", "recipient_fields", "integrations", "api_keys"),
        *("api_key_owners", "organizations", "administrators", "administrator_memberships"),
        "sign_in_attempts",
    )
]


@pytest.fixture(scope="session")
def cluster() -> Iterator[CitusCluster]:
    cluster = CitusCluster(WORKERS)
    try:
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture(scope="session")
def shared_database(cluster: CitusCluster) -> Iterator[str]:
    with cluster.new_database() as url:
        migrate(url, distributed=True)
        yield url


@pytest.fixture
def emptied_database(shared_database: str) -> str:
    for statement in EMPTY:
        execute(shared_database, statement)
    return shared_database


@pytest.fixture
def storage(emptied_database: str) -> Iterator[PostgresStorage]:
    with closing(PostgresStorage(emptied_database)) as storage:
        yield storage
