"""The servers, databases and storages of these tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.domain import OrganizationId

from .examples import NOW
from .server import PostgresServer, execute, new_database
from .statements import Statements


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server to make databases on: RECIPIENT_FIELDS_TEST_POSTGRES, or one of our own."""
    given = os.environ.get("RECIPIENT_FIELDS_TEST_POSTGRES")
    if given:
        yield given
        return
    server = PostgresServer.create()
    try:
        yield server.url()
    finally:
        server.remove()


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that may be broken."""
    server = PostgresServer.create()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def empty_database(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        yield url


@pytest.fixture(scope="session")
def shared_database(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        migrate(url)
        yield url


@pytest.fixture
def database(shared_database: str) -> str:
    """A migrated database without a row."""
    execute(shared_database, "TRUNCATE organizations, recipient_fields, api_keys RESTART IDENTITY")
    return shared_database


@pytest.fixture
def storage(database: str) -> Iterator[PostgresStorage]:
    storage = PostgresStorage(database)
    try:
        yield storage
    finally:
        storage.close()


@pytest.fixture
def ours(storage: PostgresStorage) -> OrganizationId:
    return storage.organizations.add("Ours", NOW).id


@pytest.fixture(scope="session", autouse=True)
def statements() -> Iterator[Statements]:
    """Every SQL text that a storage executes in these tests, each judged as it is executed."""
    with Statements().collected() as statements:
        yield statements
