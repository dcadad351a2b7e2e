"""A cluster of Citus for these tests, instead of one PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate

from ..support.citus import CitusCluster
from .build import build

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
    source = Path(os.environ.get("RECIPIENT_FIELDS_TEST_CITUS", "build/citus-source"))
    programs = build(source.resolve(), Path("build/citus").resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECIPIENT_FIELDS_TEST_POSTGRES", str(programs))
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


@pytest.fixture(scope="session")
def emptier(shared_database: str) -> Iterator[psycopg.Connection]:
    """Open a connection that deletes rows. The workers' sessions stay open with it."""
    with psycopg.connect(shared_database, autocommit=True) as connection:
        connection.execute("SET citus.multi_shard_modify_mode = 'sequential'")
        yield connection


@pytest.fixture
def emptied_database(shared_database: str, emptier: psycopg.Connection) -> str:
    with emptier.transaction():
        for statement in EMPTY:
            emptier.execute(statement.encode())
    return shared_database


@pytest.fixture
def storage(emptied_database: str) -> Iterator[PostgresStorage]:
    with closing(PostgresStorage(emptied_database)) as storage:
        yield storage
