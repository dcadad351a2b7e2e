"""The options of the adapter in a storage URL."""

from __future__ import annotations

from contextlib import closing

import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate, migrate_new
from recipient_fields.adapters.postgres.connection import parse_options, parse_url
from recipient_fields.domain import InvalidStorageUrl, StorageUnavailable

from .databases import rows

URL = "postgresql://alice@127.0.0.1/fields"


@pytest.mark.parametrize(
    ("query", "options", "parameters"),
    [
        ("", {}, {}),
        ("?pool_size=8", {"pool_size": "8"}, {}),
        ("?prepare=false&sslmode=require", {"prepare": "false"}, {"sslmode": "require"}),
        (
            "?sslmode=require&pool_size=8&connect_timeout=5&prepare=true",
            {"pool_size": "8", "prepare": "true"},
            {"sslmode": "require", "connect_timeout": "5"},
        ),
    ],
)
def test_options_of_the_adapter_and_parameters_of_libpq_are_separated(query, options, parameters):
    assert parse_options(URL + query) == options
    assert parse_url(URL + query) == {**parse_url(URL), **parameters}


@pytest.mark.parametrize(
    "query", ["?pool_size", "?prepare", "?pool_size=8&pool_size=9", "?prepare=true&prepare=true"]
)
def test_an_option_needs_one_value(query):
    with pytest.raises(InvalidStorageUrl, match=query[1:8]):
        PostgresStorage(URL + query)


@pytest.mark.parametrize("value", ["", "0", "-1", "1001", "eight", "8.0", "%38"])
def test_a_pool_size_is_a_number_from_1_to_1000(value):
    with pytest.raises(InvalidStorageUrl, match="from 1 to 1000"):
        PostgresStorage(f"{URL}?pool_size={value}")


@pytest.mark.parametrize("value", ["", "no", "1", "False"])
def test_prepare_is_true_or_false(value):
    with pytest.raises(InvalidStorageUrl, match="use `true` or `false`"):
        PostgresStorage(f"{URL}?prepare={value}")


@pytest.mark.parametrize("option", ["poolsize=8", "Pool_size=8", "pool%5Fsize=8"])
def test_an_unknown_option_is_rejected_by_libpq(option):
    with pytest.raises(StorageUnavailable, match="can't be read"):
        PostgresStorage(f"{URL}?{option}")


def test_the_pool_has_8_connections_unless_the_caller_or_the_url_states_another_number(database):
    with closing(PostgresStorage(database)) as storage:
        assert storage.pool_size == 8
    with closing(PostgresStorage(database, pool_size=3)) as storage:
        assert storage.pool_size == 3
    with closing(PostgresStorage(f"{database}?pool_size=2", pool_size=3)) as storage:
        assert storage.pool_size == 2


@pytest.mark.parametrize(("query", "limit"), [("", "1s"), ("?prepare=false", "0")])
def test_prepare_decides_whether_sessions_are_configured(database, query, limit):
    with closing(PostgresStorage(database + query)) as storage:
        show = rows("SELECT current_setting('lock_timeout')")
        assert storage._database.read(show) == [(limit,)]


def test_migrations_accept_a_url_with_options(empty_database):
    url = f"{empty_database}?pool_size=2&prepare=false"
    migrate_new(url)
    assert migrate(url) == 0
    PostgresStorage(url).close()
