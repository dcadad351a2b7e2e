"""The connection of copies from and to a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from attrs import frozen

from ..relational.copies import CopyConnection
from ..relational.database import NO_VALUES, Row, Values
from ..relational.statements import Statement, render
from .database import Database
from .dialect import SQLITE, SqliteConnection, stored

_SELECT_LAST_ID = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
_SKIP_IDS = "UPDATE sqlite_sequence SET seq = :last_id WHERE name = :table"
# SQLite adds the row of a table when it assigns the first id.
_SKIP_FIRST_IDS = """
    INSERT INTO sqlite_sequence (name, seq) SELECT :table, :last_id
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = :table)
"""


@frozen
class SqliteCopyConnection(CopyConnection):
    """A connection in a transaction of the file."""

    _database: Database
    _connection: sqlite3.Connection

    @property
    def shared(self) -> SqliteConnection:
        """What executes statements on this connection."""
        return SqliteConnection(self._connection)

    def stream(self, statement: Statement, values: Values = NO_VALUES) -> Iterator[Row]:
        return self._database.stream(self._connection, render(statement, SQLITE), values)

    def insert(self, table: str, rows: Sequence[Values]) -> None:
        columns, places = ", ".join(rows[0]), ", ".join(f":{column}" for column in rows[0])
        statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"
        self._connection.executemany(statement, map(stored, rows))

    def last_id(self, table: str) -> int:
        [last_id] = self._connection.execute(_SELECT_LAST_ID, (table,)).fetchone()
        return int(last_id)

    def skip_ids(self, table: str, last_id: int) -> None:
        if last_id > 0:
            counter = {"table": table, "last_id": last_id}
            self._connection.execute(_SKIP_IDS, counter)
            self._connection.execute(_SKIP_FIRST_IDS, counter)
