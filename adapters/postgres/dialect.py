"""The shared statements on a connection to PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from json import JSONEncoder
from typing import Any

import psycopg
from attrs import frozen
from psycopg import Cursor

from recipient_fields.domain import (
    FIELD_MEMBERS,
    MAX_SAFE_INTEGER,
    AllowedValues,
    IntegrationId,
    whole_milliseconds,
)

from ..relational import statements
from ..relational.database import NO_VALUES, Connection, Row, RowLock, Values
from ..relational.dialect import SHARED, Dialect
from ..relational.statements import Statement
from ..row_mapping import FIELD_COLUMNS, LARGE_MEMBERS

_ROWS_AT_ONCE = 1_000
"""Few enough that a statement ends long before a `statement_timeout`."""
_PLACEHOLDER = re.compile(r"(?<!:):([a-z_]+)")
"""`:name`, but not the type in `value::type`."""
_TYPES_OF_KINDS = {
    bool: "boolean",
    IntegrationId: "bigint",
    AllowedValues: "json",
    datetime: "timestamptz",
}
"""The type of a column by the kind of its member. Others are texts."""
_TYPES = {
    **{each.name: _TYPES_OF_KINDS.get(each.kind, "text") for each in FIELD_MEMBERS},
    **dict.fromkeys(("id", "organization_id", "version"), "bigint"),
    **dict.fromkeys(("folded_name", "folded_esp_field_name", "esp_name_letters"), "text"),
    **dict.fromkeys(("sequence", "last_sequence", "field_id", "bytes"), "bigint"),
    **dict.fromkeys(("author", "before", "after"), "json"),
    **dict.fromkeys(("operation", "digest", "value"), "text"),
    **dict.fromkeys(("occurred_at", "last_change_at"), "timestamptz"),
}
"""The type of each column of the rows that statements store."""
_TRANSPORTED = {"json": "text", "timestamptz": "bigint"}
"""The types in which a statement gets the values of these types: times in milliseconds."""

_LAST_FIELD_ID = """
    SELECT coalesce(last_value, 0) FROM pg_sequences
    WHERE to_regclass(quote_ident(schemaname) || '.' || quote_ident(sequencename))
        = 'recipient_fields_id_seq'::regclass
    AND has_sequence_privilege('recipient_fields_id_seq', 'USAGE, SELECT')
"""
"""Select the last assigned id. There is no row if the role may not read it."""

_encode = JSONEncoder(check_circular=False).encode


@frozen(eq=False)
class PostgresDialect(Dialect):
    """The SQL of PostgreSQL."""

    _many: bool = False
    """Whether a statement that stores rows stores several, which are one JSON document."""

    def milliseconds(self, column: str) -> str:
        # In UTC the expression is immutable, which Citus requires of a RETURNING clause.
        name = column.rpartition(".")[2]
        return f"(extract(epoch FROM {column} AT TIME ZONE 'UTC') * 1000)::bigint AS {name}"

    def instant(self, name: str) -> str:
        return _value(name)

    def json(self, column: str) -> str:
        # As text, because the application can configure how psycopg reads JSON.
        return f"{column}::text AS {column}"

    def small(self, document: str) -> str:
        nulls = ", ".join(f"'{each}', NULL" for each in LARGE_MEMBERS)
        return f"({document}::jsonb || jsonb_build_object({nulls}))::text"

    def by_id(self) -> str:
        return ""

    def any(self, column: str, values: str) -> str:
        return f"{column} = ANY({values})"

    def folded(self, column: str) -> str:
        # PostgreSQL's own case folding depends on its version and locale.
        return f"folded_{column}"

    def contains(self, text: str, part: str) -> str:
        return f"strpos({text}, {part}) > 0"

    def stored_bytes(self, column: str) -> str:
        return f"pg_column_size({column})"

    def text_bytes(self, column: str) -> str:
        return f"octet_length({column})"  # which does not read a value that is stored outside

    def joined(self, text: str) -> str:
        return f"string_agg({text}, ',')"

    def lock(self, strength: str) -> str:
        return f"FOR {strength}"

    def next_field_id(self) -> str:
        return f"coalesce(({_LAST_FIELD_ID}) + 1, {MAX_SAFE_INTEGER})"

    def overriding(self) -> str:
        return "OVERRIDING SYSTEM VALUE"

    def field_row(self) -> str:
        folded = ("folded_name", "folded_esp_field_name")
        return ", ".join((*FIELD_COLUMNS[2:], *folded, "esp_name_letters"))

    def values(self, *columns: str) -> str:
        if not self._many:
            return f"VALUES ({', '.join(map(_value, columns))})"
        selected = (_value(each) if each in SHARED else _from_json(each) for each in columns)
        return f"SELECT {', '.join(selected)} FROM {_recordset(columns)}"

    def rows(self, *columns: str) -> str:
        if not self._many:
            return f"(SELECT {', '.join(f'{_value(c)} AS {c}' for c in columns)}) AS change"
        selected = (f"{_from_json(each)} AS {each}" for each in columns)
        return f"(SELECT {', '.join(selected)} FROM {_recordset(columns)}) AS change"

    def matching(self, column: str) -> str:
        if not self._many:
            return f"{column} = {_value(column)}"
        return f"{column} IN (SELECT {column} FROM {_recordset([column])})"

    def assignments(self, *columns: str) -> str:
        return ", ".join(f"{each} = change.{each}" for each in columns)

    def typed(self, *columns: str) -> str:
        """Return the values of these columns, for a SELECT without a table that has their types."""
        return ", ".join(map(_value, columns))

    def document_columns(self) -> str:
        """Return the members of a field's document, in the order of the document."""
        return ", ".join(
            f"{_instant(each.name)} AS {each.name}" if each.kind is datetime else each.name
            for each in FIELD_MEMBERS
        )


def _instant(column: str) -> str:
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""


def _value(column: str) -> str:
    """Return the placeholder of a column's value, with its type."""
    kind = _TYPES[column]
    return _converted(f":{column}::{_TRANSPORTED.get(kind, kind)}", kind)


def _recordset(columns: Sequence[str]) -> str:
    """Return the table of the JSON document `rows`, with those columns that are not shared."""
    types = ((each, _TYPES[each]) for each in columns if each not in SHARED)
    members = (f"{each} {_TRANSPORTED.get(kind, kind)}" for each, kind in types)
    return f"json_to_recordset(:rows::json) AS row ({', '.join(members)})"


def _from_json(column: str) -> str:
    """Return the value of a column in `_recordset`."""
    return _converted(column, _TYPES[column])


def _converted(value: str, kind: str) -> str:
    """Return a value as this type."""
    if kind == "timestamptz":
        return f"to_timestamp({value} / 1000.0)"
    return f"{value}::json" if kind == "json" else value


POSTGRES = PostgresDialect()
MANY = PostgresDialect(many=True)


class PostgresConnection(Connection):
    """Executes the shared statements on a connection of the driver."""

    def __init__(
        self, connection: psycopg.Connection[Any], lock: Cursor[Any] | None = None
    ) -> None:
        """Execute on this connection. `lock` has the row of the transaction's lock."""
        self.driver = connection
        self._lock = lock

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        return self._execute(statement, values).fetchone()

    def all(self, statement: Statement, values: Values = NO_VALUES, /) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def execute(self, statement: Statement, values: Values = NO_VALUES, /) -> int:
        return self._execute(statement, values).rowcount

    def store(self, statement: Statement, rows: Sequence[Values], shared: Values, /) -> None:
        for _ in self._store(statement, rows, shared):
            pass

    def assign(self, statement: Statement, rows: Sequence[Values], shared: Values, /) -> list[Row]:
        return [row for cursor in self._store(statement, rows, shared) for row in cursor.fetchall()]

    def locked(self) -> Row | None:
        return self._lock_row

    @cached_property
    def _lock_row(self) -> Row | None:
        return None if self._lock is None else self._lock.fetchone()

    def _store(
        self, statement: Statement, rows: Sequence[Values], shared: Values
    ) -> Iterator[Cursor[Any]]:
        """Execute the statement for the rows. Several rows are one JSON document, or a few."""
        if len(rows) == 1:
            yield self._execute(statement, {**shared, **rows[0]})
            return
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            values = {**shared, "rows": _encode(rows[first : first + _ROWS_AT_ONCE])}
            yield self.driver.execute(render(statement, MANY), _stored(values))

    def _execute(self, statement: Statement, values: Values) -> Cursor[Any]:
        return self.driver.execute(render(statement), _stored(values))


@cache
def render(statement: Statement, dialect: PostgresDialect = POSTGRES) -> str:
    """Return the SQL of the statement, with the placeholders of psycopg."""
    return _PLACEHOLDER.sub(r"%(\1)s", statements.render(statement, dialect))


def lock_statement(lock: RowLock) -> str:
    """Return the SQL of the lock without placeholders, so that it can follow BEGIN."""
    return render(lock.statement) % {"organization_id": f"{lock.organization_id:d}"}


def _stored(values: Values) -> Mapping[str, object]:
    """Truncate times to milliseconds, because PostgreSQL would round up."""
    return {
        name: whole_milliseconds(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }
