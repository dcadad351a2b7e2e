"""The transactions of the shared repositories in PostgreSQL."""

from __future__ import annotations

from typing import TypeVar

from attrs import frozen

from ..relational.database import Database, Work
from .limits import CALL_TIMEOUT
from .transactions import Transactions

T = TypeVar("T")


@frozen
class PostgresDatabase(Database):
    """The transactions of one database, in which the work executes shared statements."""

    _transactions: Transactions

    def read(self, work: Work[T], /, *, seconds: float = CALL_TIMEOUT) -> T:
        server = self._transactions.server
        return self._transactions.read(
            lambda connection: work(server.connection(connection)), seconds=seconds
        )

    def write(
        self, work: Work[T], /, *, lock: str | None = None, seconds: float = CALL_TIMEOUT
    ) -> T:
        server = self._transactions.server
        return self._transactions.write(
            lambda connection: work(server.connection(connection)), first=lock, seconds=seconds
        )
