"""The PostgreSQL server of the tests, and the check that no log contains a key."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from signal import SIG_DFL, SIG_IGN, SIGHUP, SIGINT, default_int_handler, getsignal, signal

import pytest
from hypothesis import settings

from recipient_fields.adapters.postgres import migrate

from .support.postgres import (
    EMPTY,
    PostgresServer,
    execute,
    new_database,
    require_reachable_temporary_folder,
)
from .support.redaction import KeyDetector

# The time of an example depends on what else the machine does.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

_keys = KeyDetector()


def pytest_sessionstart() -> None:
    """Check the requirements of PostgreSQL, and enable all log records that could contain a key."""
    _stop_ignoring_signals()
    require_reachable_temporary_folder()
    logging.getLogger().addHandler(_keys)
    for name in ("recipient_fields", "waitress"):
        logging.getLogger(name).setLevel(logging.DEBUG)


def _stop_ignoring_signals() -> None:
    """Let signals have their effect, also if `nohup` or a shell has started the tests with `&`.

    The processes that the tests start would inherit that these signals are ignored.
    """
    for number, action in ((SIGHUP, SIG_DFL), (SIGINT, default_int_handler)):
        if getsignal(number) is SIG_IGN:
            signal(number, action)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fail the test if a log record contains a key."""
    found, _keys.found = _keys.found, []
    assert found == []


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """Run a PostgreSQL server for new databases."""
    server = PostgresServer.create()
    try:
        yield server.url()
    finally:
        server.remove()


@pytest.fixture(scope="session")
def shared_database(server_url: str) -> Iterator[str]:
    """Create a migrated database, which the tests share one after the other."""
    with new_database(server_url) as url:
        migrate(url)
        yield url


@pytest.fixture
def emptied_database(shared_database: str) -> str:
    """Return the URL of the migrated database, without rows."""
    execute(shared_database, EMPTY)
    return shared_database
