"""The PostgreSQL that the suite starts itself, a watch that no log ever shows a key, and waits."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from recipient_fields.adapters.postgres import migrate

from .support.postgres import (
    EMPTY,
    PostgresServer,
    execute,
    new_database,
    require_reachable_temporary_folder,
)
from .support.redaction import KeyDetector

_keys = KeyDetector()


def pytest_sessionstart() -> None:
    """Check what every test of PostgreSQL needs, and log everything that could show a key."""
    require_reachable_temporary_folder()
    logging.getLogger().addHandler(_keys)
    for name in ("recipient_fields", "waitress"):
        logging.getLogger(name).setLevel(logging.DEBUG)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fail whatever test has made a log show a key."""
    found, _keys.found = _keys.found, []
    assert found == []


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server to make databases on."""
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
    execute(shared_database, EMPTY)
    return shared_database
