"""A PostgreSQL server that rejects the service, at its start and later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from time import monotonic
from urllib.parse import urlsplit

import psycopg
import pytest

from ...support.command_line import Script
from ...support.postgres import PASSWORD, PostgresServer, execute, new_database
from ...support.service import FIELDS, Client
from ...support.waiting import eventually
from .conftest import serving
from .load import MAX_RESPONSE_TIME

pytestmark = pytest.mark.slow

ROLE = "refused"


@pytest.fixture
def role_url(server: PostgresServer, database: str) -> Iterator[str]:
    """Return the URL of the database for a role with access to every row."""
    execute(server.url(), f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
    execute(server.url(), f"GRANT pg_read_all_data, pg_write_all_data TO {ROLE}")
    yield database.replace("//postgres:", f"//{ROLE}:")
    execute(server.url(), f"DROP ROLE {ROLE}")


def succeeds(client: Client, path: str) -> bool:
    return client("GET", path).status == 200


def refusal(url: str) -> str:
    return Script(url)("serve", "--listen", "127.0.0.1:0").failure()


def test_a_service_that_can_not_connect_reports_it_on_one_line_and_exits(
    server: PostgresServer, database: str
) -> None:
    with new_database(server.url()) as empty, ExitStack() as taken:
        assert "password authentication failed" in refusal(database.replace(PASSWORD, "wrong"))
        assert 'database "nowhere" does not exist' in refusal(server.url("nowhere"))
        assert refusal(empty).endswith("Run recipient-fields migrate.")
        while server.accepts():
            taken.enter_context(psycopg.connect(server.url()))
        assert "too many clients" in refusal(database)


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("ROLE {role} PASSWORD 'changed'", f"ROLE {{role}} PASSWORD '{PASSWORD}'"),
        ("ROLE {role} CONNECTION LIMIT 0", "ROLE {role} CONNECTION LIMIT -1"),
        ("ROLE {role} SET search_path = nowhere", "ROLE {role} RESET search_path"),
        ("DATABASE {name} ALLOW_CONNECTIONS false", "DATABASE {name} ALLOW_CONNECTIONS true"),
    ],
    ids=["password", "too many connections", "no tables", "no database"],
)
def test_a_service_that_can_no_longer_connect_responds_503_until_it_can(
    server: PostgresServer, database: str, role_url: str, key: str, broken: str, mended: str
) -> None:
    def alter(what: str) -> None:
        execute(server.url(), "ALTER " + what.format(role=ROLE, name=urlsplit(database).path[1:]))
        server.terminate_backends()

    with serving(role_url) as url:
        client = Client(url, key)
        assert client.fields() == []
        alter(broken)
        for path in (FIELDS, "/readyz", FIELDS):
            began = monotonic()
            response = client("GET", path)
            assert response.status == 503
            assert "Retry-After" in response.headers
            assert monotonic() - began < MAX_RESPONSE_TIME
        alter(mended)
        for path in (FIELDS, "/readyz"):
            eventually(partial(succeeds, client, path), within=2.5)
