"""The shared statements are valid in both databases."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from inspect import getmembers, isfunction, signature
from pkgutil import iter_modules

import psycopg
import pytest

from recipient_fields.adapters import relational
from recipient_fields.adapters.postgres import dialect as postgres_dialect
from recipient_fields.adapters.relational.dialect import Statement
from recipient_fields.adapters.relational.fields import CountMatches, SelectPage
from recipient_fields.adapters.relational.history import SelectRecords
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.adapters.sqlite import dialect as sqlite_dialect
from recipient_fields.domain import SortKey

NAME = re.compile(r":([a-z_]+)|%\(([a-z_]+)\)s")


def statements() -> Iterator[Statement]:
    """Yield each function of the package that returns a whole statement."""
    for module in iter_modules(relational.__path__, f"{relational.__name__}."):
        for name, function in getmembers(import_module(module.name), isfunction):
            parameters = signature(function).parameters.values()
            is_statement = [each.annotation for each in parameters] == ["Dialect"]
            is_own = function.__module__ == module.name
            if is_own and is_statement and not name.endswith("_columns"):
                yield function


def pages() -> Iterator[Statement]:
    """Yield the statements of queries: with each filter, with all of them, and without any."""
    lists = ("sources", "data_types", "keys", "integration_ids")
    filters = [(name,) for name in (*lists, "insertable", "text")]
    for used in [(), *filters, tuple(name for (name,) in filters)]:
        yield SelectPage(used, SortKey.NAME, False, True, True)
        yield CountMatches(used)
    for sort in SortKey:
        yield SelectPage((), sort, True, True, False)
    columns = ("field_id", "key", "source", "operation")
    for is_single in (False, True):
        yield SelectRecords(tuple((column, is_single) for column in columns), is_single, True)
    yield SelectRecords((), False, False)


NAMED = list(statements())
STATEMENTS = [*NAMED, *pages()]
each_statement = pytest.mark.parametrize(
    "statement", STATEMENTS, ids=[getattr(each, "__name__", str(each)) for each in STATEMENTS]
)


def nulls(sql: str) -> dict[str, None]:
    """Return NULL for each value of the statement."""
    return dict.fromkeys(map("".join, NAME.findall(sql)))


@pytest.fixture(scope="module")
def sqlite_connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("statements") / "fields.db"
    SqliteStorage(path).close()
    with closing(sqlite3.connect(path)) as connection:
        sqlite_dialect.provide_functions(connection)
        yield connection


@each_statement
def test_sqlite_can_execute_the_statement(
    sqlite_connection: sqlite3.Connection, statement: Statement
) -> None:
    sql = sqlite_dialect.render(statement)
    assert sqlite_connection.execute(f"EXPLAIN {sql}", nulls(sql)).fetchall()


@each_statement
def test_postgresql_can_execute_the_statement(shared_database: str, statement: Statement) -> None:
    sql = postgres_dialect.render(statement)
    with psycopg.connect(shared_database) as connection:
        assert connection.execute(f"EXPLAIN {sql}", nulls(sql)).fetchall()


def test_each_statement_has_its_own_name() -> None:
    names = [each.__name__ for each in NAMED]
    assert len(names) == len(set(names)) > 50
