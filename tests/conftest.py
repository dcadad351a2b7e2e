"""The PostgreSQL server of the tests, and the check that no log contains a secret."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from signal import SIG_DFL, SIG_IGN, SIGHUP, SIGINT, default_int_handler, getsignal, signal
from time import tzset

import pytest
from hypothesis import HealthCheck, settings

from recipient_fields.adapters.postgres import migrate

from .support.citus import CITUS, CitusCluster, distributed_database_emptier
from .support.citus_build import build
from .support.postgres import (
    EMPTY,
    NewDatabase,
    PostgresServer,
    execute,
    new_database,
    require_reachable_temporary_folder,
)
from .support.redaction import SecretDetector

# The time of an example, and of its generation, depends on what else the machine does. A run judges
# a commit, so that each has the same examples. `make test-long` searches for new ones.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("brief", settings.get_profile("suite"), max_examples=25)
settings.register_profile("new", settings.get_profile("suite"), derandomize=False)
settings.load_profile("suite")

_secrets = SecretDetector()


def pytest_sessionstart() -> None:
    """Check the requirements of PostgreSQL, and enable log records that could contain a secret."""
    _forget_python_variables()
    _stop_ignoring_signals()
    _leave_utc()
    require_reachable_temporary_folder()
    logging.getLogger().addHandler(_secrets)
    for name in ("recipient_fields", "waitress"):
        logging.getLogger(name).setLevel(logging.DEBUG)


def _forget_python_variables() -> None:
    """Start processes as an ordinary user does, who has not set PYTHONUNBUFFERED, for example."""
    for variable in [each for each in os.environ if each.startswith("PYTHON")]:
        del os.environ[variable]


def _leave_utc() -> None:
    """Let the machine, and the processes that the tests start, have another date than UTC.

    Both the current date and that of the clocks in the tests, which are in the morning, differ.
    """
    os.environ["TZ"] = "<-23>+23" if datetime.now(UTC).hour < 12 else "<+23>-23"
    tzset()


def _stop_ignoring_signals() -> None:
    """Let signals have their effect, also if `nohup` or a shell has started the tests with `&`.

    The processes that the tests start would inherit that these signals are ignored.
    """
    for number, action in ((SIGHUP, SIG_DFL), (SIGINT, default_int_handler)):
        if getsignal(number) is SIG_IGN:
            signal(number, action)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fail the test if a log record contains a secret."""
    found, _secrets.found = _secrets.found, []
    assert found == []


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """Run a PostgreSQL server for new databases."""
    with PostgresServer.create() as server:
        yield server.url()


@pytest.fixture(scope="session")
def cluster() -> Iterator[CitusCluster]:
    """Build Citus unless it is built, and run a coordinator and three workers."""
    programs = build(Path(os.environ[CITUS]).resolve(), Path("build/citus").resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECIPIENT_FIELDS_TEST_POSTGRES", str(programs))
        cluster = CitusCluster(workers=3)
        try:
            yield cluster
        finally:
            cluster.remove()


@pytest.fixture(scope="session")
def migrated_database(request: pytest.FixtureRequest) -> NewDatabase:
    """Return a function that creates a migrated database for a block, and returns its URL.

    It is distributed if RECIPIENT_FIELDS_TEST_CITUS is set, as in `make test-citus`.
    """
    distributed = CITUS in os.environ

    @contextmanager
    def create() -> Iterator[str]:
        if distributed:
            database = request.getfixturevalue("cluster").new_database()
        else:
            database = new_database(request.getfixturevalue("server_url"))
        with database as url:
            migrate(url, distributed=distributed)
            yield url

    return create


@pytest.fixture(scope="session")
def shared_database(migrated_database: NewDatabase) -> Iterator[str]:
    """Create a migrated database, which the tests share one after the other."""
    with migrated_database() as url:
        yield url


@pytest.fixture(scope="session")
def empty(shared_database: str) -> Iterator[Callable[[], object]]:
    """Return a function that deletes all rows of that database."""
    if CITUS in os.environ:
        with distributed_database_emptier(shared_database) as empty:
            yield empty
    else:
        yield lambda: execute(shared_database, EMPTY)


@pytest.fixture
def emptied_database(shared_database: str, empty: Callable[[], object]) -> str:
    """Return the URL of the migrated database, without rows."""
    empty()
    return shared_database
