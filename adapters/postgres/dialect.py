"""The shared statements on a connection to PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import psycopg
from psycopg import Cursor

from recipient_fields.domain import whole_milliseconds

from ..relational.database import NO_VALUES, Connection, Row, Values
from ..relational.dialect import Dialect, Statement
from .columns import milliseconds

_PLACEHOLDER = re.compile(r"(?<!:):([a-z_]+)")
"""`:name`, but not the type in `value::type`."""


class PostgresDialect(Dialect):
    """The SQL of PostgreSQL."""

    def milliseconds(self, column: str) -> str:
        # In UTC the expression is immutable, which Citus requires of a RETURNING clause.
        in_utc = milliseconds(f"{column} AT TIME ZONE 'UTC'")
        return f"{in_utc} AS {column.rpartition('.')[2]}"

    def json(self, column: str) -> str:
        # As text, because the application can configure how psycopg reads JSON.
        return f"{column}::text AS {column}"

    def folded(self, column: str) -> str:
        # PostgreSQL's own case folding depends on its version and locale.
        return f"folded_{column}"

    def contains(self, text: str, part: str) -> str:
        return f"strpos({text}, {part}) > 0"

    def same(self, left: str, right: str) -> str:
        return f"{left} IS NOT DISTINCT FROM {right}"

    def one_of(self, column: str, values: str) -> str:
        return f"{column} = ANY({values})"

    def stored_bytes(self, column: str) -> str:
        return f"pg_column_size({column})"

    def without(self, document: str, members: Sequence[str]) -> str:
        nulls = ", ".join(f"'{each}', NULL" for each in members)
        return f"({document}::jsonb || jsonb_build_object({nulls}))::text"

    def text_bytes(self, column: str) -> str:
        return f"octet_length({column})"  # which does not read a value that is stored outside

    def pairs(self, first: str, second: str) -> str:
        return f"""(
            SELECT * FROM unnest({first}::text[], {second}::text[]) AS pair (first, second)
        )"""

    def joined(self, text: str) -> str:
        return f"string_agg({text}, ',')"

    def lock(self, strength: str) -> str:
        return f"FOR {strength}"


POSTGRES = PostgresDialect()


class PostgresConnection(Connection):
    """Executes the shared statements on a connection of the driver."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        return self._execute(statement, values).fetchone()

    def all(self, statement: Statement, values: Values = NO_VALUES, /) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def execute(self, statement: Statement, values: Values = NO_VALUES, /) -> int:
        return self._execute(statement, values).rowcount

    def lock(self, statement: Statement, values: Values, /) -> None:
        self._execute(statement, values)

    def _execute(self, statement: Statement, values: Values) -> Cursor[Any]:
        return self._connection.execute(render(statement), _stored(values))


@cache
def render(statement: Statement) -> str:
    """Return the SQL of the statement, with the placeholders of psycopg."""
    return _PLACEHOLDER.sub(r"%(\1)s", statement(POSTGRES))


def _stored(values: Values) -> Mapping[str, object]:
    """Truncate times to milliseconds, because PostgreSQL would round up."""
    return {
        name: whole_milliseconds(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }
