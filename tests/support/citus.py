"""A coordinator and workers of Citus on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from .postgres import PostgresServer, execute

CITUS = "RECIPIENT_FIELDS_TEST_CITUS"
"""The environment variable with the folder of Citus's source. If it is set, tests of PostgreSQL
that use `shared_database` or `migrated_database` run on Citus."""
SHARDS = 4

# TRUNCATE takes 20 times as long on distributed tables.
_EMPTY = [
    "SELECT setval(pg_get_serial_sequence('integrations', 'id'), 1, false)",
    *(
        f"DELETE FROM {table}"
        for table in (
            *(
                "recipient_field_changes",
                "recipient_field_values",
                "recipient_fields",
                "integrations",
                "api_keys",
            ),
            *("api_key_owners", "organizations", "administrators", "administrator_memberships"),
            *("administrator_invitations", "sign_in_attempts"),
        )
    ),
]

_SETTINGS = """
shared_preload_libraries = 'citus'
max_connections = 200
max_prepared_transactions = 200
wal_level = logical
citus.max_background_task_executors_per_node = 1
"""
# Nodes connect to each other without a password.
_TRUST = """
local all all trust
host all all 127.0.0.1/32 trust
"""


class CitusCluster:
    """Servers in a trusted network: the first one is the coordinator, the others are workers."""

    def __init__(self, workers: int) -> None:
        self.servers = [_new_server() for _ in range(1 + workers)]

    @property
    def coordinator(self) -> PostgresServer:
        return self.servers[0]

    @property
    def workers(self) -> list[PostgresServer]:
        return self.servers[1:]

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """Create an empty database with Citus on each server, and return its URL for the block."""
        name = f"test_{uuid4().hex}"
        for server in self.servers:
            create(server, name)
        execute(self.coordinator.url(), f"ALTER DATABASE {name} SET citus.shard_count = {SHARDS}")
        url = self.coordinator.url(name)
        port = self.coordinator.port
        execute(url, f"SELECT citus_set_coordinator_host('127.0.0.1', {port})")
        for worker in self.workers:
            add_worker(url, worker)
        try:
            yield url
        finally:
            for server in self.servers:
                execute(server.url(), f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def add_server(self, database_url: str) -> PostgresServer:
        """Start another worker, and add it to the database."""
        server = _new_server()
        self.servers.append(server)
        create(server, urlsplit(database_url).path[1:])
        add_worker(database_url, server)
        return server

    def worker_of(self, database_url: str, organization_id: int) -> PostgresServer:
        """Return the worker that holds the organization."""
        [(port,)] = execute(
            database_url,
            "SELECT nodeport FROM citus_shards WHERE shardid ="
            f" get_shard_id_for_distribution_column('organizations', {organization_id})",
        )
        return next(server for server in self.servers if server.port == port)

    def remove(self) -> None:
        for server in self.servers:
            server.remove()


@contextmanager
def distributed_database_emptier(url: str) -> Iterator[Callable[[], None]]:
    """Return a function that deletes all rows. Its sessions on all servers stay open."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET citus.multi_shard_modify_mode = 'sequential'")

        def empty() -> None:
            with connection.transaction():
                for statement in _EMPTY:
                    connection.execute(statement.encode())

        yield empty


def create(server: PostgresServer, database: str) -> None:
    execute(server.url(), f"CREATE DATABASE {database}")
    execute(server.url(database), "CREATE EXTENSION citus")


def add_worker(database_url: str, worker: PostgresServer) -> None:
    execute(database_url, f"SELECT citus_add_node('127.0.0.1', {worker.port})")


def _new_server() -> PostgresServer:
    server = PostgresServer.create()
    server.stop()
    server.configure(_SETTINGS)
    (server.data / "pg_hba.conf").write_text(_TRUST)
    server.start()
    return server
