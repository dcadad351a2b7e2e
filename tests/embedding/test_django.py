"""The Django example with PostgreSQL: its own tests, and its server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from ..support.postgres import execute, new_database
from .conftest import EXAMPLES, TIMEOUT, Site, served

pytestmark = pytest.mark.slow

TOKEN = "a" * 32
LOG_IN = """
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from campaigns.tests import a_team
ada = a_team().members.get()
session = SessionStore()
session[SESSION_KEY] = str(ada.pk)
session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = ada.get_session_auth_hash()
session.save()
print(session.session_key)
"""


@pytest.fixture
def database(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        yield url


@pytest.fixture
def environment(database: str) -> Mapping[str, str]:
    """Return the environment variables with which libpq finds the database."""
    url = urlsplit(database)
    return {
        **os.environ,
        "PGHOST": str(url.hostname),
        "PGPORT": str(url.port),
        "PGUSER": unquote(url.username or ""),
        "PGPASSWORD": unquote(url.password or ""),
        "PGDATABASE": url.path.removeprefix("/"),
        "PGDATESTYLE": "ISO",  # Django reads no others, which the server of the tests has.
        "PYTHONWARNINGS": "error",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES / "django_project", tmp_path / "project")
    return tmp_path / "project"


def manage(project: Path, environment: Mapping[str, str], *arguments: str) -> str:
    """Run `manage.py` and return its output."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIMEOUT * 5,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_tests_of_the_example_pass(project: Path, environment: Mapping[str, str]) -> None:
    said = manage(project, environment, "test", "--noinput")
    assert "Ran 8 tests" in said
    assert "\nOK\n" in said


def test_the_models_of_the_example_have_a_migration(
    project: Path, environment: Mapping[str, str]
) -> None:
    manage(project, environment, "makemigrations", "--check")
    manage(project, environment, "check", "--fail-level", "WARNING")


def test_repeated_migration_creates_the_tables_once_in_their_schema(
    project: Path, environment: Mapping[str, str], database: str
) -> None:
    for _ in range(2):
        manage(project, environment, "migrate")
    assert execute(
        database, "SELECT tablename FROM pg_tables WHERE schemaname = 'recipient_fields' ORDER BY 1"
    ) == [
        (name,)
        for name in (
            "administrator_forms",
            "administrator_invitations",
            "administrator_links",
            "administrator_memberships",
            "administrator_sessions",
            "administrators",
            "api_keys",
            "esp_connections",
            "integrations",
            "organizations",
            "recipient_field_changes",
            "recipient_field_values",
            "recipient_fields",
            "schema_migrations",
            "sign_in_attempts",
        )
    ]


def test_a_member_starts_a_campaign_over_http(
    project: Path, environment: Mapping[str, str], database: str
) -> None:
    manage(project, environment, "migrate")
    session = manage(project, environment, "shell", "-c", LOG_IN).split()[-1]
    command = ("manage", "runserver", "--noreload", "127.0.0.1:{port}")

    with served(command, project, ready="/fields", environment=environment) as site:
        assert start(site, session, "title=Spring&question=Shoe+size") == 201
        assert start(site, session, "title=Summer&question=Shoe+size") == 409
        assert start(site, session, "title=Spring&question=City") == 500
        assert start(site, session, "title=Summer&question=Town") == 201

    keys = execute(database, "SELECT key FROM recipient_fields.recipient_fields ORDER BY id")
    assert keys == [("shoe_size",), ("town",)]
    assert execute(database, "SELECT title FROM campaigns_campaign ORDER BY id") == [
        ("Spring",),
        ("Summer",),
    ]


def start(site: Site, session: str, form: str) -> int:
    """Submit a form as the session's user, and return the status."""
    connection = HTTPConnection("127.0.0.1", site.port, timeout=TIMEOUT)
    try:
        headers = {
            "Cookie": f"sessionid={session}; csrftoken={TOKEN}",
            "X-CSRFToken": TOKEN,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        connection.request("POST", "/campaigns", form, headers)
        return connection.getresponse().status
    finally:
        connection.close()
