"""The statements of the repositories are valid in both databases, and all of them are used."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from importlib.resources import files
from typing import Any

import psycopg
import pytest

from recipient_fields import adapters
from recipient_fields.adapters.postgres import dialect as postgres_dialect
from recipient_fields.adapters.postgres.citus.api_keys import CITUS_SQL
from recipient_fields.adapters.postgres.dialect import MANY, POSTGRES
from recipient_fields.adapters.postgres.fields import POSTGRES_SQL
from recipient_fields.adapters.relational.changes import UpdateFields
from recipient_fields.adapters.relational.fields import SelectPage
from recipient_fields.adapters.relational.history import SelectRecords
from recipient_fields.adapters.relational.organizations import delete_rows
from recipient_fields.adapters.relational.repositories import COPIED, OWNED
from recipient_fields.adapters.relational.statements import SQL, Statement, Statements, render
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.adapters.sqlite.dialect import SQLITE, provide_functions
from recipient_fields.domain import FIELD_MEMBERS, SortKey

VALUE = re.compile(r":([a-z_]+)|%\(([a-z_]+)\)s")
STATEMENT = re.compile(r"(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b")
"""The beginning of a statement. Other texts are parts of some."""


def whole(statements: Statements) -> list[Statement]:
    """Return the texts that are whole statements without variable columns."""
    return [
        each
        for each in statements.by_name.values()
        if STATEMENT.match(each.template) and "(columns" not in each.template
    ]


def built() -> Iterator[Statement]:
    """Yield the statements of queries, with each filter, all and none, and those with columns."""
    lists = ("sources", "data_types", "keys", "integration_ids")
    filters = [(name,) for name in (*lists, "insertable", "text")]
    for used in [(), *filters, tuple(name for (name,) in filters)]:
        yield SelectPage(used, SortKey.NAME, False, True, True)
    for sort in SortKey:
        yield SelectPage((), sort, True, True, False)
    columns = ("field_id", "key", "source", "operation")
    for flag in (False, True):
        yield SelectRecords(tuple((column, flag) for column in columns), flag, True, flag)
    yield SelectRecords((), False, False, True)
    yield from map(delete_rows, OWNED)
    yield from COPIED.values()
    yield UpdateFields(SQL.update_fields, ("id", *(each.name for each in FIELD_MEMBERS[1:])))


SHARED = [*whole(SQL), *built()]
UPDATE = UpdateFields(POSTGRES_SQL.update_field, ("id", "name", "folded_name", "allowed_values"))


def name_of(statement: object) -> str:
    return str(getattr(statement, "name", statement))


def nulls(sql: str) -> dict[str, None]:
    """Return NULL for each value of the statement."""
    return dict.fromkeys(map("".join, VALUE.findall(sql)))


def refusals(connection: Any, statements: Iterable[str]) -> dict[str, str]:
    """Return the statements that the database can't execute, each with the reason."""
    found = {}
    for sql in statements:
        try:
            assert connection.execute(f"EXPLAIN {sql}", nulls(sql)).fetchall()
        except (sqlite3.Error, psycopg.Error) as error:
            found[sql] = str(error)
    return found


@pytest.fixture(scope="module")
def sqlite_connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("statements") / "fields.db"
    SqliteStorage(path).close()
    with closing(sqlite3.connect(path)) as connection:
        provide_functions(connection)
        yield connection


def test_sqlite_can_execute_each_statement(sqlite_connection):
    assert refusals(sqlite_connection, (render(each, SQLITE) for each in SHARED)) == {}


@pytest.mark.parametrize(
    "statement", [SQL.delete_fields, UpdateFields(SQL.update_fields, ("id", "name"))], ids=name_of
)
def test_sqlite_finds_a_changed_field_by_its_id(sqlite_connection, statement):
    """And does not search the fields of the organization for it."""
    sql = render(statement, SQLITE)
    plan = sqlite_connection.execute(f"EXPLAIN QUERY PLAN {sql}", nulls(sql)).fetchall()
    searches = [detail for *_, detail in plan if detail.startswith(("SEARCH", "SCAN recipient"))]
    assert [each.partition("USING ")[2] for each in searches] == ["INTEGER PRIMARY KEY (rowid=?)"]


@pytest.mark.parametrize("dialect", [POSTGRES, MANY], ids=["one", "many"])
def test_postgresql_can_execute_each_statement(shared_database, dialect):
    statements = [*SHARED, *whole(POSTGRES_SQL), UPDATE]
    with psycopg.connect(shared_database, autocommit=True) as connection:
        rendered = (postgres_dialect.render(each, dialect) for each in statements)
        assert refusals(connection, rendered) == {}


def test_each_text_has_its_own_name_and_is_used() -> None:
    named = [name for each in (SQL, POSTGRES_SQL, CITUS_SQL) for name in each.by_name]
    assert len(named) == len(set(named)) > 80
    assert set(used()) == set(named)


def used() -> Iterator[str]:
    """Yield the names of texts in the modules and in the texts of all databases."""
    for package in ("relational", "sqlite", "postgres", "postgres/citus"):
        for path in (files(adapters) / package).iterdir():
            if path.name.endswith(".py"):
                yield from re.findall(r"\b(?:\w+_)?SQL\.(\w+)", path.read_text("utf-8"))
            elif path.name.endswith(".sql"):
                yield from re.findall(r"\{(\w+)\}", path.read_text("utf-8"))
