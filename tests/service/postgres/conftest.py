"""Service processes on a PostgreSQL server that the tests break."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from recipient_fields.adapters.postgres import migrate
from recipient_fields.application import Core
from recipient_fields.domain import Organization
from recipient_fields.entrypoints.service.selection import open_core

from ...support.command_line import environment_with
from ...support.postgres import PostgresServer, new_database
from ...support.redaction import log_lines_with_secrets
from ...support.service import StreamReader

collect_ignore = [] if "RECIPIENT_FIELDS_TEST_FULL_DISK" in os.environ else ["test_full_disk.py"]
"""Only root can mount a small disk: for `make test-disk`."""

COMMAND = Path(sys.executable).with_name("recipient-fields")
MANY_FIELDS = ("--field-limit", "100000")
"""The option of a service whose clients create fields for as long as a test takes. They reach the
default limit on a fast machine, and the service then responds with 409."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer.create() as server:
        yield server


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    with new_database(server.url()) as url:
        migrate(url)
        yield url


@pytest.fixture
def core(database: str) -> Iterator[Core]:
    """Create the use cases on the same database, in this process."""
    core = open_core(database)
    yield core
    core.storage.close()


@pytest.fixture
def acme(core: Core) -> Organization:
    return core.administration.create_organization("Acme")


@pytest.fixture
def key(core: Core, acme: Organization) -> str:
    lifetime = timedelta(days=1)
    return core.administration.issue_key(acme.id, name="Test", lifetime=lifetime).plain.reveal()


@pytest.fixture
def serve(database: str) -> Iterator[Callable[..., str]]:
    """Return a function that starts a service on the database and returns its URL."""
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(serving(database, *options))


@contextmanager
def serving(database: str, *options: str) -> Iterator[str]:
    environment = environment_with({"RECIPIENT_FIELDS_STORAGE": database})
    with subprocess.Popen(
        [COMMAND, "serve", "--listen", "127.0.0.1:0", *MANY_FIELDS, *options],
        env=environment,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        first_line = process.stderr.readline().decode()
        match = re.search(r'http://[^\s"]+', first_line)
        assert match is not None, first_line + process.stderr.read().decode()
        log = StreamReader(process.stderr)
        try:
            yield match[0]
        finally:
            process.terminate()
            process.wait(timeout=20)
            log.join()
    assert process.returncode == 0
    assert "Traceback" not in log.text
    assert "s3cret" not in log.text
    assert log_lines_with_secrets(log.text) == []
