"""`docs/deploy/roles.sql`, and the statements of `docs/operating/storage.md` for a restore."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.testing.examples import NOW

from ...support.postgres import PASSWORD, execute

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "operating" / "storage.md").read_text("utf-8")
ROLES = (DOCS / "deploy/roles.sql").read_text("utf-8")
(ADVANCE,) = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
DATABASE = "recipient_fields"
OWNER, SERVICE = f"{DATABASE}_owner", f"{DATABASE}_service"


@pytest.fixture
def roles(server_url: str) -> Iterator[tuple[str, str]]:
    """Run the statements that create roles and a database. Return the URL of each role."""
    server = urlsplit(server_url)
    host = server.netloc.rpartition("@")[2]
    try:
        statements = re.sub(r":'\w+_password'", f"'{PASSWORD}'", ROLES)
        create, _, grant = re.sub(r"(?m)^\\(?!connect).*|^--.*", "", statements).partition(
            f"\\connect {DATABASE}\n"
        )
        for statement in create.rstrip().removesuffix(";").split(";\n"):
            execute(server_url, statement)
        execute(server._replace(path=f"/{DATABASE}").geturl(), grant)
        owner, service = (
            server._replace(netloc=f"{role}:{PASSWORD}@{host}", path=f"/{DATABASE}").geturl()
            for role in (OWNER, SERVICE)
        )
        migrate(owner)
        yield owner, service
    finally:
        execute(server_url, f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        execute(server_url, f"DROP ROLE IF EXISTS {OWNER}, {SERVICE}")


def test_the_role_of_the_service_can_change_rows_and_no_tables(roles):
    _, service = roles

    assert _new_organization(service) == 1
    assert execute(service, "SHOW statement_timeout") == [("2500ms",)]
    for statement in ("CREATE TABLE more ()", "DROP TABLE api_keys", "TRUNCATE api_keys"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(service, statement)


def test_the_sequences_skip_the_ids_that_were_assigned_since_a_dump(roles):
    owner, service = roles
    before = _new_organization(service)

    execute(owner, ADVANCE)

    assert _new_organization(service) > before + 100_000


def _new_organization(url: str) -> int:
    with closing(PostgresStorage(url)) as storage:
        return storage.organizations.add("Acme", NOW).id
