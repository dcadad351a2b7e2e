"""The interface of a database that the repositories use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from psycopg import Connection
from psycopg.rows import TupleRow

from .server import Server

T = TypeVar("T")

Work: TypeAlias = Callable[[Connection[Any]], T]
"""Executes statements on a connection. It may run twice, but takes effect once."""


class Transactions(Protocol):
    """One database. All methods raise the errors of the domain, not those of the driver.

    `seconds` limits the whole call.
    """

    @property
    def server(self) -> Server:
        """How the tables are changed, which does not depend on the connection."""

    def read(self, work: Work[T], *, seconds: float = ...) -> T:
        """Return the result of the work. Each of its statements may see its own snapshot."""

    def write(
        self,
        work: Work[T],
        *,
        first: str | None = None,
        pipelinable: bool = False,
        seconds: float = ...,
    ) -> T:
        """Return the result of the work, which is one transaction. Roll back if it raises.

        `first` is a statement without parameters, executed before the work. `pipelinable`: the work
        gets results only by fetching rows, and may get the error of a statement from a later one.
        If a change is several statements, they are sent as a pipeline then.
        """

    def try_statement(self, statement: str, values: Mapping[str, object], /) -> TupleRow | None:
        """Execute one statement as its own transaction if possible, and return its first row.

        Return None if it stored nothing: use `write` then.
        """
