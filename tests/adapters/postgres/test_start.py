"""Errors when a storage is opened: one line each, without the password."""

from __future__ import annotations

import logging
import traceback
from contextlib import ExitStack, closing

import psycopg
import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.domain import StorageUnavailable

from ...support.network import free_port
from ...support.postgres import PASSWORD, execute, new_database
from ...support.waiting import eventually

SECRET = "hunter2"

UNREADABLE = (
    "postgresql://user:hunt@er2@127.0.0.1/db",
    "postgresql://user:hunter2/@127.0.0.1/db",
    "postgresql://user:hunter2?@127.0.0.1/db",
    "postgresql://user:%hunter2@127.0.0.1/db",
    "postgresql://user:hunter2/db",
    "postgresql://127.0.0.1/db?nonsense=hunter2",
    "postgresql://127.0.0.1/hunter2@db",
    "postgresql://user:hunter2@[::1/db",
    "postgresql+psycopg://user:hunter2@127.0.0.1/db",
    "mysql://user:hunter2@127.0.0.1/db",
    "host=127.0.0.1 password=hunter2",
    "",
)


def refusal(url: str) -> str:
    """Return the one line of the error for that URL."""
    with pytest.raises(StorageUnavailable) as raised:
        PostgresStorage(url)
    output = "".join(traceback.format_exception(raised.value))
    for secret in (SECRET, "hunt@er2", PASSWORD):
        assert secret not in output
    line = str(raised.value)
    assert "\n" not in line
    assert len(line) < 700
    return line


@pytest.mark.parametrize("url", UNREADABLE)
def test_a_malformed_url_is_not_shown(url):
    assert "percent-encoded" in refusal(url)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_both_schemes_are_accepted(database, scheme):
    with closing(PostgresStorage(f"{scheme}:{database.partition(':')[2]}")) as storage:
        storage.check()


def test_a_missing_server_is_reported(caplog):
    caplog.set_level(logging.DEBUG)
    line = refusal(f"postgresql://user:{SECRET}@127.0.0.1:{free_port()}/db")
    assert "Connection refused" in line
    assert SECRET not in caplog.text


def test_several_missing_servers_are_reported_on_one_line() -> None:
    one, other = free_port(), free_port()
    line = refusal(f"postgresql://user:{SECRET}@127.0.0.1:{one},127.0.0.1:{other}/db")
    assert "Connection refused" in line


def test_a_wrong_password_is_reported_but_not_shown(server):
    line = refusal(server.url().replace(PASSWORD, SECRET))
    assert line.count('password authentication failed for user "postgres"') == 1
    assert "Check the user and the password in the URL of the storage" in line


def test_a_missing_database_is_reported(server):
    line = refusal(server.url("nowhere"))
    assert 'database "nowhere" does not exist. Create the database, or correct its name' in line


def test_a_missing_password_is_reported_with_where_to_set_it(server):
    line = refusal(server.url().replace(f":{PASSWORD}", ""))
    assert "no password supplied. Check the user and the password" in line


def test_missing_tables_are_reported_with_the_command_to_run(empty_database):
    assert refusal(empty_database) == (
        "The PostgreSQL schema is behind this version. Run recipient-fields migrate."
    )


def test_a_dropped_table_is_reported(empty_database):
    migrate(empty_database)
    execute(empty_database, "DROP TABLE api_keys")
    assert refusal(empty_database) == "The PostgreSQL schema lacks the table api_keys."


def test_a_schema_of_a_newer_version_is_reported(empty_database):
    migrate(empty_database)
    execute(empty_database, "INSERT INTO schema_migrations (name) VALUES ('9999_from_later')")
    assert "newer version" in refusal(empty_database)
    with pytest.raises(StorageUnavailable, match="newer version"):
        migrate(empty_database)


def test_a_running_process_stays_ready_when_a_newer_version_migrates(empty_database):
    migrate(empty_database)
    with closing(PostgresStorage(empty_database)) as storage:
        execute(empty_database, "INSERT INTO schema_migrations (name) VALUES ('9999_from_later')")
        storage.check()


def test_a_server_without_a_free_connection_is_reported(server):
    with ExitStack() as stack:
        for _ in range(100):
            try:
                stack.enter_context(psycopg.connect(server.url()))
            except psycopg.OperationalError:
                break
        assert "too many clients" in refusal(server.url())


def test_a_database_that_can_not_store_every_text_is_rejected(server):
    options = ("ENCODING 'LATIN1'", "TEMPLATE template0", "LC_COLLATE 'C'", "LC_CTYPE 'C'")
    with new_database(server.url(), *options) as url:
        assert "UTF8" in refusal(url)


def test_the_pure_python_driver_is_rejected_with_what_to_install(database, monkeypatch):
    monkeypatch.setattr(psycopg.pq, "__impl__", "python")
    line = refusal(database)
    assert "psycopg[binary]" in line
    assert "psycopg[c]" in line


def test_an_outage_does_not_log_the_password(server, caplog):
    caplog.set_level(logging.DEBUG)
    with new_database(server.url()) as url:
        migrate(url)
        storage = PostgresStorage(url)
        server.stop()
        try:
            with pytest.raises(StorageUnavailable) as raised:
                storage.organizations.all()
            eventually(lambda: "PostgreSQL does not respond" in caplog.text, within=5)
        finally:
            server.start()
            storage.close()
    shown = [caplog.text, str(raised.value), repr(storage), repr(vars(storage))]
    assert PASSWORD not in "".join(shown)
