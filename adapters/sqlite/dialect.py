"""The shared statements on a connection to SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache

from recipient_fields.domain import epoch_milliseconds, fold_case

from ..relational.database import NO_VALUES, Connection, Row, Values
from ..relational.dialect import Dialect, Statement


class SqliteDialect(Dialect):
    """The SQL of SQLite, in which times are milliseconds since 1970 and lists are JSON."""

    def milliseconds(self, column: str) -> str:
        return column

    def json(self, column: str) -> str:
        return column

    def folded(self, column: str) -> str:
        return f"fold_case({column})"

    def contains(self, text: str, part: str) -> str:
        return f"instr({text}, {part}) > 0"

    def same(self, left: str, right: str) -> str:
        return f"{left} IS {right}"

    def one_of(self, column: str, values: str) -> str:
        return f"{column} IN (SELECT value FROM json_each({values}))"

    def stored_bytes(self, column: str) -> str:
        return f"length(CAST({column} AS BLOB))"

    def without(self, document: str, members: Sequence[str]) -> str:
        nulls = ", ".join(f"'$.{each}', NULL" for each in members)
        return f"json_set({document}, {nulls})"

    def text_bytes(self, column: str) -> str:
        return f"length(CAST({column} AS BLOB))"

    def pairs(self, first: str, second: str) -> str:
        return f"""(
            SELECT one.value AS first, two.value AS second
            FROM json_each({first}) AS one JOIN json_each({second}) AS two ON one.key = two.key
        )"""

    def joined(self, text: str) -> str:
        return f"group_concat({text})"

    def lock(self, strength: str) -> str:  # noqa: ARG002 - only one transaction writes at a time
        return ""


SQLITE = SqliteDialect()


def provide_functions(connection: sqlite3.Connection) -> None:
    """Add the functions of the dialect to the connection. SQLite folds ASCII letters only."""
    connection.create_function(
        "fold_case", 1, lambda text: None if text is None else fold_case(text), deterministic=True
    )


class SqliteConnection(Connection):
    """Executes the shared statements on a connection of the driver."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        row: Row | None = self._execute(statement, values).fetchone()
        return row

    def all(self, statement: Statement, values: Values = NO_VALUES, /) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def execute(self, statement: Statement, values: Values = NO_VALUES, /) -> int:
        return self._execute(statement, values).rowcount

    def lock(self, statement: Statement, values: Values, /) -> None:
        """Do nothing: only one transaction writes at a time."""

    def _execute(self, statement: Statement, values: Values) -> sqlite3.Cursor:
        return self._connection.execute(render(statement), stored(values))


@cache
def render(statement: Statement) -> str:
    """Return the SQL of the statement. SQLite also writes placeholders as `:name`."""
    return statement(SQLITE)


def stored(values: Values) -> Mapping[str, object]:
    """Return the values as SQLite stores them."""
    return {name: _stored_value(value) for name, value in values.items()}


def _stored_value(value: object) -> object:
    if isinstance(value, datetime):
        return epoch_milliseconds(value)
    return json.dumps(value) if isinstance(value, list) else value
