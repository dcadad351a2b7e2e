"""What the repositories ask of a database, whoever owns its connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from psycopg import Connection

from .statements import Asked, Row, Statement, Values

T = TypeVar("T")

Work: TypeAlias = Callable[[Connection[Any]], T]
"""What is done with a connection. It may be done twice, but takes effect once."""


class Transactions(Protocol):
    """One database. What its driver raises is told in the domain's words.

    `seconds`: how long the work may take; there is a limit for who gives none.
    """

    def read(self, work: Work[T], *, seconds: float = ...) -> T:
        """What the work finds; each of its statements may see a state of its own."""

    def write(self, work: Work[T], *, first: str | None = None, seconds: float = ...) -> T:
        """What the work returns, whole; undone where it raises.

        `first` is a statement without parameters that is executed before.
        """

    def ask(self, statement: Statement, values: Values) -> list[Row]:
        """The rows of a statement that only reads."""

    def ask_in_transaction(self, *asked: Asked) -> list[list[Row]]:
        """The rows of each of these statements, which take effect together or not at all."""
