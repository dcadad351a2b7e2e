"""What the shared repositories require of a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeVar

from attrs import frozen

from recipient_fields.domain import OrganizationId, OrganizationNotFound, from_epoch_milliseconds

from ..row_mapping import RowMapping, UnreadableRow
from .statements import SQL, NamedStatement, Statement

T = TypeVar("T")

Row: TypeAlias = tuple[Any, ...]

Values: TypeAlias = Mapping[str, object]
"""The values of a statement by name. The connection stores times and lists as its database does."""

NO_VALUES: Values = {}

_MAX_INTEGER = 2**63 - 1
_NO_ID = -1


def storable_id(identifier: int) -> int:
    """Return the id, or -1, which no row has, if a database can't store such an integer."""
    return identifier if 0 < identifier <= _MAX_INTEGER else _NO_ID


def id_values(**values: int) -> dict[str, object]:
    """Return these ids as values of a statement."""
    return {name: storable_id(value) for name, value in values.items()}


@frozen
class RowLock:
    """The first statement of a transaction, which locks the row of an organization."""

    statement: NamedStatement
    organization_id: int


def lock_catalog(organization_id: OrganizationId) -> RowLock:
    """Return the lock of the organization's catalog.

    Every transaction that changes fields begins with it, so what it has read still holds when it
    writes, and two changes can't deadlock.
    """
    return RowLock(SQL.lock_catalog, storable_id(organization_id))


def keep_organization(organization_id: OrganizationId) -> RowLock:
    """Return the lock that keeps the organization from deletion.

    A transaction that adds a row of an organization, or locks one, begins with this: a deletion
    locks the organization before its rows, so the two can't deadlock.
    """
    return RowLock(SQL.keep_organization, storable_id(organization_id))


def lock_organization(organization_id: OrganizationId) -> RowLock:
    """Return the lock of the organization for its deletion."""
    return RowLock(SQL.lock_organization, storable_id(organization_id))


class Connection(Protocol):
    """Executes statements, one after the other, on a connection to one database."""

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        """Execute the statement, and return its first row, or None if there is no row."""

    def all(self, statement: Statement, values: Values = NO_VALUES, /) -> list[Row]:
        """Execute the statement, and return its rows."""

    def execute(self, statement: Statement, values: Values = NO_VALUES, /) -> int:
        """Execute the statement, and return the number of rows that it stored or deleted.

        In a pipeline, the number is not known.
        """

    def store(self, statement: Statement, rows: Sequence[Values], shared: Values, /) -> None:
        """Execute a statement with the fragment `values` or `rows` for all rows.

        `shared` contains the values that are the same for each row.
        """

    def assign(self, statement: Statement, rows: Sequence[Values], shared: Values, /) -> list[Row]:
        """Do the same with an INSERT, and return the row that it returns for each row."""

    def locked(self) -> Row | None:
        """Return the row that the transaction has locked first, or None if there is none.

        Its own changes may be missing, unless it is that of an application, whose plans can write.
        """


def require_locked(connection: Connection) -> None:
    """Raise OrganizationNotFound if the organization that the transaction locks does not exist."""
    if connection.locked() is None:
        raise OrganizationNotFound


Work: TypeAlias = Callable[[Connection], T]
"""Executes statements on a connection. It may run twice, but takes effect once."""


CALL_TIMEOUT = 2.0
"""Seconds for a call without another timeout, if the database has deadlines."""


class Database(Protocol):
    """One database. All methods raise the errors of the domain, not those of the driver.

    `seconds` limits the whole call, if the database has deadlines.
    """

    def read(self, work: Work[T], /, *, seconds: float = CALL_TIMEOUT) -> T:
        """Return the result of the work. Each of its statements may see its own snapshot."""

    def write(
        self,
        work: Work[T],
        /,
        *,
        lock: RowLock | None = None,
        pipelined: bool = False,
        seconds: float = CALL_TIMEOUT,
    ) -> T:
        """Return the result of the work, which is one transaction. Roll back if it raises.

        The transaction begins with the lock. `pipelined`: the work may get the error of a statement
        from a later one, so that the database can receive several at once.
        """


class Overtaken(UnreadableRow):
    """Another transaction has changed what a read depends on, or the rows are damaged."""


_ATTEMPTS = 5


def read_unchanged(
    database: Database,
    organization_id: OrganizationId,
    work: Work[T],
    *,
    seconds: float = CALL_TIMEOUT,
) -> T:
    """Return the result of work that only reads. Repeat it if it raises Overtaken.

    The last attempt locks the catalog, so nothing can overtake it.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(Overtaken):
            return database.read(work, seconds=seconds)
    return database.write(work, lock=lock_catalog(organization_id), seconds=seconds)


def with_instants(table: str, row: Row, *places: int) -> list[Any]:
    """Return the row of this table with times at these places, which are in milliseconds."""
    values = list(row)
    with RowMapping(table, row[0]):
        for place in places:
            if row[place] is not None:
                values[place] = from_epoch_milliseconds(row[place])
    return values
