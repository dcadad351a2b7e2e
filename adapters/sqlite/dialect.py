"""The shared statements on a connection to SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from recipient_fields.domain import epoch_milliseconds, fold_case

from ..relational.database import NO_VALUES, Connection, Row, RowLock, Values
from ..relational.dialect import Dialect
from ..relational.statements import Statement, render
from ..row_mapping import FIELD_COLUMNS, LARGE_MEMBERS


class SqliteDialect(Dialect):
    """The SQL of SQLite, in which times are milliseconds since 1970 and lists are JSON."""

    def milliseconds(self, column: str) -> str:
        return column

    def instant(self, name: str) -> str:
        return f":{name}"

    def json(self, column: str) -> str:
        return column

    def small(self, document: str) -> str:
        nulls = ", ".join(f"'$.{each}', NULL" for each in LARGE_MEMBERS)
        return f"json_set({document}, {nulls})"

    def by_id(self) -> str:
        return "NOT INDEXED"  # SQLite assumes that an organization has few rows.

    def any(self, column: str, values: str) -> str:
        return f"{column} IN (SELECT value FROM json_each({values}))"

    def folded(self, column: str) -> str:
        return f"fold_case({column})"

    def contains(self, text: str, part: str) -> str:
        return f"instr({text}, {part}) > 0"

    def stored_bytes(self, column: str) -> str:
        return f"length(CAST({column} AS BLOB))"

    def text_bytes(self, column: str) -> str:
        return f"length(CAST({column} AS BLOB))"

    def joined(self, text: str) -> str:
        return f"group_concat({text})"

    def lock(self, strength: str) -> str:  # noqa: ARG002 - only one transaction writes at a time
        return ""

    def next_field_id(self) -> str:
        last_id = "SELECT seq FROM sqlite_sequence WHERE name = 'recipient_fields'"
        return f"coalesce(({last_id}), 0) + 1"  # There is no row before the first id.

    def overriding(self) -> str:
        return ""

    def field_row(self) -> str:
        return ", ".join((*FIELD_COLUMNS[2:], "esp_name_letters"))

    def values(self, *columns: str) -> str:
        return f"VALUES ({', '.join(f':{each}' for each in columns)})"

    def rows(self, *columns: str) -> str:
        named = ", ".join(f":{each} AS {each}" for each in columns)
        return f"(SELECT {named}) AS change"

    def matching(self, column: str) -> str:
        return f"{column} = :{column}"

    def assignments(self, *columns: str) -> str:
        stored = (each for each in columns if each in FIELD_COLUMNS)
        return ", ".join(f"{each} = change.{each}" for each in stored)


SQLITE = SqliteDialect()


def provide_functions(connection: sqlite3.Connection) -> None:
    """Add the functions of the dialect to the connection. SQLite folds ASCII letters only."""
    connection.create_function(
        "fold_case", 1, lambda text: None if text is None else fold_case(text), deterministic=True
    )


class SqliteConnection(Connection):
    """Executes the shared statements on a connection of the driver."""

    def __init__(self, connection: sqlite3.Connection, lock: RowLock | None = None) -> None:
        self._connection = connection
        self._locked: Row | None = None
        if lock is not None:
            self._locked = self.one(lock.statement, {"organization_id": lock.organization_id})

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        row: Row | None = self._execute(statement, values).fetchone()
        return row

    def all(self, statement: Statement, values: Values = NO_VALUES, /) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def execute(self, statement: Statement, values: Values = NO_VALUES, /) -> int:
        return self._execute(statement, values).rowcount

    def store(self, statement: Statement, rows: Sequence[Values], shared: Values, /) -> None:
        if rows:
            stored_rows = [stored({**shared, **row}) for row in rows]
            self._connection.executemany(render(statement, SQLITE), stored_rows)

    def assign(self, statement: Statement, rows: Sequence[Values], shared: Values, /) -> list[Row]:
        # The driver's `executemany` returns no rows.
        return [row for each in rows for row in self._execute(statement, {**shared, **each})]

    def locked(self) -> Row | None:
        return self._locked

    def _execute(self, statement: Statement, values: Values) -> sqlite3.Cursor:
        return self._connection.execute(render(statement, SQLITE), stored(values))


def stored(values: Values) -> Mapping[str, object]:
    """Return the values as SQLite stores them."""
    # Most values are stored as they are, and a call for each of them takes longer than the rest.
    return {
        name: value if type(value) in _AS_THEY_ARE else _stored_value(value)
        for name, value in values.items()
    }


_AS_THEY_ARE = frozenset({int, str, bool, bytes, type(None)})


def _stored_value(value: object) -> object:
    if isinstance(value, datetime):
        return epoch_milliseconds(value)
    return json.dumps(value) if isinstance(value, list) else value
