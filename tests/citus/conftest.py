"""A cluster of Citus for these tests, instead of one PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from recipient_fields.adapters.postgres import PostgresStorage

from ..support.citus import CITUS
from ..support.citus_build import MISSING


@pytest.fixture(scope="session", autouse=True)
def require_citus() -> None:
    if CITUS not in os.environ:
        pytest.exit(MISSING, returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture
def storage(emptied_database: str) -> Iterator[PostgresStorage]:
    with closing(PostgresStorage(emptied_database)) as storage:
        yield storage
