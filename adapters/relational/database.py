"""What the shared repositories require of a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from .dialect import Statement

T = TypeVar("T")

Row: TypeAlias = tuple[Any, ...]

Values: TypeAlias = Mapping[str, object]
"""The values of a statement by name. The connection stores times and lists as its database does."""

NO_VALUES: Values = {}


class Connection(Protocol):
    """Executes statements, one after the other, on a connection to one database."""

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        """Execute the statement, and return its first row, or None if there is no row."""

    def all(self, statement: Statement, values: Values = NO_VALUES, /) -> list[Row]:
        """Execute the statement, and return its rows."""

    def execute(self, statement: Statement, values: Values = NO_VALUES, /) -> int:
        """Execute the statement, and return the number of rows that it stored or deleted."""

    def lock(self, statement: Statement, values: Values, /) -> None:
        """Execute a statement that only locks rows, unless the transaction locks all rows."""


Work: TypeAlias = Callable[[Connection], T]
"""Executes statements on a connection. It may run twice, but takes effect once."""


class Database(Protocol):
    """One database. All methods raise the errors of the domain, not those of the driver."""

    def read(self, work: Work[T], /, *, seconds: float = ...) -> T:
        """Return the result of the work. Each of its statements may see its own snapshot.

        `seconds` limits the whole call, if the database has deadlines.
        """

    def write(self, work: Work[T], /, *, lock: str | None = None, seconds: float = ...) -> T:
        """Return the result of the work, which is one transaction. Roll back if it raises.

        `lock` is a statement of the module `locks`. It is executed before the work, unless the
        transaction locks all rows. `seconds` limits the whole call, if the database has deadlines.
        """
