"""Copies of the whole content of a database, from and to other storages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from recipient_fields.application import Records, Snapshot
from recipient_fields.domain import HistoryRecord, OrganizationId

from ..row_mapping import map_rows
from ..shared_values import shared_record
from .catalogs import complete_catalogs
from .database import NO_VALUES, Connection, Row, Values
from .records import read_all_rows
from .repositories import COPIED, HISTORY, SHARED_VALUES, Table
from .statements import SQL, ComposedStatement, Statement

T = TypeVar("T")

ROWS_PER_BATCH = 5_000
"""A database can check the foreign keys at the end of each batch."""
_RECORDS_PER_BATCH = 500
"""Fewer, because each record can have two fields with large values."""


class CopyConnection(Protocol):
    """A connection in a transaction that reads or stores everything."""

    @property
    def shared(self) -> Connection:
        """What executes statements on this connection."""

    def stream(self, statement: Statement, values: Values = NO_VALUES) -> Iterator[Row]:
        """Yield the rows of the statement, which are read during the iteration.

        Another storage may iterate over them, so this translates the errors of the driver.
        """

    def insert(self, table: str, rows: Sequence[Values]) -> None:
        """Insert rows with the same columns, at least one."""

    def last_id(self, table: str) -> int:
        """Return the last assigned id, or 0. It can be newer than the snapshot, but never older."""

    def skip_ids(self, table: str, last_id: int) -> None:
        """Assign only greater ids from now on."""


def read_snapshot(
    connection: CopyConnection, tables: Mapping[str, Table[Any]] = COPIED
) -> Snapshot:
    """Return the content of the database as the transaction sees it."""
    return Snapshot(**{kind: _records(connection, table) for kind, table in tables.items()})


def write_snapshot(
    connection: CopyConnection,
    snapshot: Snapshot,
    tables: Mapping[str, Table[Any]] = COPIED,
    *,
    rows_per_batch: int = ROWS_PER_BATCH,
) -> None:
    """Store everything in the snapshot in an empty database."""
    for kind, table in tables.items():
        if table is HISTORY:
            _store_history(connection, snapshot.history)
        else:
            _store(connection, table, getattr(snapshot, kind), rows_per_batch)
    complete_catalogs(connection.shared)


def _records(connection: CopyConnection, table: Table[T]) -> Records[T]:
    """Return the records, which are read while they are iterated over."""

    def find(organization_ids: Sequence[int], digests: Sequence[str]) -> Iterable[Row]:
        values = {"organization_ids": organization_ids, "digests": digests}
        return list(connection.stream(SQL.select_values_of_several, values))

    [(count,)] = connection.stream(ComposedStatement(f"SELECT count(*) FROM {table.name}"))
    rows = connection.stream(table)
    if table is HISTORY:
        rows = read_all_rows(rows, find)
    last_id = connection.last_id(table.name) if table.has_ids else 0
    return Records(count, last_id, map_rows(table.read, rows))


def _store(
    connection: CopyConnection, table: Table[T], records: Records[T], rows_per_batch: int
) -> None:
    """Store the records with their ids. Ids that are assigned later are greater."""
    remaining = iter(records)
    while batch := list(islice(remaining, rows_per_batch)):
        connection.insert(table.name, [*map(table.values, batch)])
        for name, rows in table.details:
            connection.insert(name, [*chain.from_iterable(map(rows, batch))])
    if table.has_ids:
        connection.skip_ids(table.name, max(records.last_id, connection.last_id(table.name)))


def _store_history(connection: CopyConnection, records: Iterable[HistoryRecord]) -> None:
    """Store the records, which are in any order, and each shared value once."""
    remaining, last_uses = iter(records), dict[tuple[OrganizationId, str], int]()
    while batch := list(islice(remaining, _RECORDS_PER_BATCH)):
        rows, values = list[Values](), list[Values]()
        for record in batch:
            shared = shared_record(record)
            rows.append({**shared.row, "occurred_at": record.occurred_at})
            for digest, value in shared.values.items():
                use = record.organization_id, digest
                if use not in last_uses:
                    values.append({**_shared_value(use, record.sequence), "value": value})
                last_uses[use] = max(record.sequence, last_uses.get(use, 0))
        if values:
            connection.insert(SHARED_VALUES, values)
        connection.insert(HISTORY.name, rows)
    for use, sequence in last_uses.items():
        connection.shared.execute(SQL.keep_value, _shared_value(use, sequence))
    connection.shared.execute(SQL.store_value_bytes)


def _shared_value(use: tuple[OrganizationId, str], last_sequence: int) -> Values:
    """Return the values that identify a shared value of an organization, and its last record."""
    return {"organization_id": use[0], "digest": use[1], "last_sequence": last_sequence}
