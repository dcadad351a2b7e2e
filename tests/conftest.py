"""The PostgreSQL that the suite starts itself, for every test that stores in it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from recipient_fields.adapters.postgres import migrate

from .adapters.postgres.server import PostgresServer, execute, new_database


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


@pytest.fixture(scope="session")
def shared_database(server_url: str) -> Iterator[str]:
    """A migrated database for one test after the other."""
    with new_database(server_url) as url:
        migrate(url)
        yield url


@pytest.fixture
def emptied_database(shared_database: str) -> str:
    """The migrated database without a row."""
    execute(shared_database, "TRUNCATE organizations, recipient_fields, api_keys RESTART IDENTITY")
    return shared_database
