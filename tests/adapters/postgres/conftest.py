"""The servers, databases and storages of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from threading import current_thread
from typing import Any

import psycopg
import pytest

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.domain import OrganizationId
from recipient_fields.testing.examples import NOW

from ...support.postgres import PASSWORD, PostgresServer, execute, new_database
from .statements import Statements


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Start a server that the tests break."""
    with PostgresServer.create() as server:
        yield server


@pytest.fixture
def empty_database(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        yield url


@pytest.fixture
def database(emptied_database: str) -> str:
    return emptied_database


@pytest.fixture
def storage(database: str) -> Iterator[PostgresStorage]:
    storage = PostgresStorage(database)
    try:
        yield storage
    finally:
        storage.close()


@pytest.fixture
def role_of_rows(server_url: str, database: str) -> Iterator[str]:
    """Return the URL of the database for a role that can only read and write rows."""
    name = "only_rows"
    execute(server_url, f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    execute(
        database, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}"
    )
    yield database.replace("//postgres:", f"//{name}:")
    execute(database, f"DROP OWNED BY {name}")
    execute(server_url, f"DROP ROLE {name}")


@pytest.fixture
def ours(storage: PostgresStorage) -> OrganizationId:
    return storage.organizations.add("Ours", NOW).id


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the list of all statements that this thread executes from now on."""
    executed: list[object] = []
    execute = psycopg.Cursor.execute

    def counted(cursor: psycopg.Cursor[Any], query: Any, *values: Any, **options: Any) -> Any:
        if current_thread() is thread:  # The threads of the pool check its connections.
            executed.append(query)
        return execute(cursor, query, *values, **options)

    thread = current_thread()
    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    return executed


@pytest.fixture(scope="session", autouse=True)
def statements() -> Iterator[Statements]:
    """Collect and check every SQL text that a storage executes in these tests."""
    with Statements().collected() as statements:
        yield statements
