"""The transactions of the shared repositories in PostgreSQL."""

from __future__ import annotations

from typing import TypeVar

from attrs import frozen

from ..relational.database import Database, Work
from .citus import CitusConnection
from .dialect import PostgresConnection
from .limits import CALL_TIMEOUT
from .transactions import Transactions

T = TypeVar("T")


@frozen
class PostgresDatabase(Database):
    """The transactions of one database, in which the work executes shared statements."""

    _transactions: Transactions

    def read(self, work: Work[T], /) -> T:
        connect = self._connection_type()
        return self._transactions.read(lambda connection: work(connect(connection)))

    def write(
        self, work: Work[T], /, *, lock: str | None = None, seconds: float = CALL_TIMEOUT
    ) -> T:
        connect = self._connection_type()
        return self._transactions.write(
            lambda connection: work(connect(connection)), first=lock, seconds=seconds
        )

    def _connection_type(self) -> type[PostgresConnection]:
        return CitusConnection if self._transactions.distributed else PostgresConnection
