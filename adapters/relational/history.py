"""The history of the fields in a database: its records, past catalogs, its size and its pruning.

A record refers to large values of its documents by digest, and each value has the number of the
last record that may use it. Records are removed in the order of their numbers, so a value is
removed together with that record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import TypeAlias

from attrs import field, frozen

from recipient_fields.application import HistoryRepository, PublishedHistoryPage
from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    FieldId,
    FieldPage,
    FieldQuery,
    HistoryPage,
    HistoryQuery,
    HistorySize,
    OldRecord,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    from_epoch_milliseconds,
    records_before,
    records_to_free,
)

from ..row_mapping import publish_record, read_document, read_field, read_record
from ..shared_values import insert_values
from .changes import Counters
from .database import (
    Connection,
    Database,
    Overtaken,
    Row,
    Values,
    id_values,
    lock_catalog,
    read_unchanged,
    storable_id,
)
from .records import count_removed, find_values, with_shared_values
from .statements import SQL, NamedStatement, Statement

_COUNT_TIMEOUT = 60.0
"""Seconds. Only records of an earlier version and copied ones are counted."""
_MAX_REMOVED_BYTES = 32 * 1024 * 1024
"""Few enough that a transaction ends long before its deadline."""

Choice: TypeAlias = Callable[[Sequence[OldRecord], HistorySize], Iterable[OldRecord]]
"""Return the records to remove: the first ones of the oldest, which it receives with the size."""


@frozen
class RelationalHistoryRepository(HistoryRepository):
    """The histories of all organizations in one database."""

    _database: Database
    _rows_per_removal: int = field(default=1_000, kw_only=True)
    """The number of records that one transaction removes. Other writers wait for it."""
    _pause: Callable[[], object] = field(default=lambda: None, kw_only=True)
    """Called between two of these transactions."""

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        rows = self._read_page(organization_id, query)
        return query.page([*map(read_record, rows)])

    def publish(
        self, organization_id: OrganizationId, query: HistoryQuery, /
    ) -> PublishedHistoryPage:
        rows = self._read_page(organization_id, query)
        records = dict(map(publish_record, rows[: query.limit]))
        return PublishedHistoryPage(records, [*records][-1] if len(rows) > query.limit else None)

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        def read(connection: Connection) -> Catalog:
            past = _PastCatalog.find(connection, organization_id, at)
            fields = past.read(SQL.select_unchanged, SQL.select_changed)
            past.require_recorded()
            by_id = tuple(fields[each] for each in sorted(fields))
            return Catalog(organization_id, past.revision, by_id)

        return read_unchanged(self._database, organization_id, read)

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        def select(connection: Connection) -> FieldPage:
            past = _PastCatalog.find(connection, organization_id, at)
            small = past.read(SQL.select_unchanged_small, SQL.select_changed_small)
            page = query.select(Catalog(organization_id, past.revision, tuple(small.values())))
            ids = [each.id for each in page.fields]
            full = past.read(SQL.select_unchanged_of, SQL.select_changed_of, ids) if ids else {}
            past.require_recorded()
            if len(full) < len(ids):
                raise Overtaken(f"recipient_field_changes {organization_id}")
            fields = tuple(full[each] for each in ids)
            return FieldPage(organization_id, past.revision, fields, page.total, page.next)

        return read_unchanged(self._database, organization_id, select)

    def _read_page(self, organization_id: OrganizationId, query: HistoryQuery) -> list[Row]:
        """Return the rows of the records on the page, and one more if another page follows."""
        statement, values = SelectRecords.of(query), query_values(organization_id, query)

        def read(connection: Connection) -> list[Row]:
            rows = connection.all(statement, values)
            if not rows:
                raise OrganizationNotFound
            query.require_recorded(rows[0][0])
            found = [row[1:] for row in rows if row[1] is not None]
            return with_shared_values(connection, organization_id, found)

        return read_unchanged(self._database, organization_id, read)

    def size(self, organization_id: OrganizationId, /) -> HistorySize:
        ids = id_values(organization_id=organization_id)
        while True:
            counters = Counters.of(self._database.read(lambda c: c.one(SQL.select_counters, ids)))
            if counters.records_are_sized:
                return counters.history_size
            self._count(organization_id, counters)

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        return self._remove(organization_id, lambda oldest, _: records_before(oldest, before))

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        if self.size(organization_id).bytes <= max_bytes:
            return 0
        return self._remove(
            organization_id, lambda oldest, size: records_to_free(oldest, size.bytes - max_bytes)
        )

    def _remove(self, organization_id: OrganizationId, choose: Choice) -> int:
        """Remove the records that `choose` returns, in several transactions."""
        self.size(organization_id)  # Counts most records before the catalog is locked.
        total = 0
        while True:
            removed, has_more = self._database.write(
                lambda c: remove_oldest(c, organization_id, choose, self._rows_per_removal),
                lock=lock_catalog(organization_id),
            )
            total += removed
            if not has_more:
                return total
            self._pause()

    def _count(self, organization_id: OrganizationId, seen: Counters) -> None:
        """Count the records without a size, most of them before the catalog is locked."""
        counted = self._database.read(
            lambda c: _count_bytes(c, organization_id, seen), seconds=_COUNT_TIMEOUT
        )

        def store(connection: Connection) -> None:
            counters = Counters.of(connection.locked())
            if counters.sized_sequence == seen.sized_sequence:
                counters.count_records(counted, seen.last_sequence)
                _count_rest(connection, organization_id, counters)

        self._database.write(store, lock=lock_catalog(organization_id), seconds=_COUNT_TIMEOUT)


def _count_bytes(
    connection: Connection, organization_id: OrganizationId, counters: Counters
) -> int:
    """Return the bytes of the records that have no size yet."""
    bounds = {"after": counters.sized_sequence, "last": counters.last_sequence}
    ids = id_values(organization_id=organization_id)
    [(counted,)] = connection.all(SQL.count_bytes, {**ids, **bounds})
    return int(counted)


def _count_rest(
    connection: Connection, organization_id: OrganizationId, counters: Counters
) -> None:
    """Count the records without a size in the locked catalog, and store the counters."""
    counted = _count_bytes(connection, organization_id, counters)
    counters.count_records(counted, counters.last_sequence)
    ids = id_values(organization_id=organization_id)
    connection.execute(SQL.store_counters, {**ids, **counters.values()})


def remove_oldest(
    connection: Connection, organization_id: OrganizationId, choose: Choice, limit: int
) -> tuple[int, bool]:
    """Remove those of the oldest `limit` records that `choose` returns, and unused values.

    Return the number of removed records, and whether there may be more. The catalog is locked.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    values = id_values(organization_id=organization_id)
    counters = Counters.of(connection.locked())
    if not counters.records_are_sized:
        _count_rest(connection, organization_id, counters)
    rows = connection.all(SQL.select_oldest, {**values, "row_limit": limit})
    oldest = [OldRecord(row[0], from_epoch_milliseconds(row[1]), row[2] + row[3]) for row in rows]
    chosen = list(choose(oldest, counters.history_size))
    if not chosen:
        return 0, False
    totals = accumulate(record.bytes for record in chosen)
    removed = max(1, sum(total <= _MAX_REMOVED_BYTES for total in totals))
    bounds = {**values, "last": chosen[removed - 1].sequence}
    [(value_bytes,)] = connection.all(SQL.select_unused_bytes, bounds)
    connection.execute(SQL.delete_records, bounds)
    connection.execute(SQL.delete_unused_values, bounds)
    counters.record_bytes -= sum(row[2] for row in rows[:removed])
    counters.shared_value_bytes -= value_bytes
    connection.execute(SQL.store_counters, {**values, **counters.values()})
    return removed, removed == limit or removed < len(chosen)


@frozen
class _PastCatalog:
    """The catalog as it was after the record `last`.

    The statements can see different states: a past state of a field is the same in all of them, as
    long as no record after it is removed.
    """

    _connection: Connection
    _organization_id: OrganizationId
    last: int
    revision: int

    @classmethod
    def find(
        cls, connection: Connection, organization_id: OrganizationId, at: datetime
    ) -> _PastCatalog:
        """Return the catalog at this time. Raises: OrganizationNotFound, BeforeHistory."""
        values = {**id_values(organization_id=organization_id), "at": at}
        row = connection.one(SQL.select_last_until, values)
        if row is None:
            raise OrganizationNotFound
        last, revision = row
        if last is None:
            raise BeforeHistory
        return cls(connection, organization_id, last, revision)

    def read(
        self,
        select_unchanged: NamedStatement,
        select_changed: NamedStatement,
        ids: Collection[FieldId] = (),
    ) -> dict[FieldId, RecipientField]:
        """Return the fields that these statements select, by id. Raises: Overtaken."""
        organization_id = self._organization_id
        values = {**id_values(organization_id=organization_id), "last": self.last, "ids": [*ids]}
        # In this order: a field that changes in between is in both results, and never in none.
        rows = self._connection.all(select_unchanged, values)
        changed = self._connection.all(select_changed, values)
        shared = find_values(self._connection, organization_id, (text for _, text in changed))
        fields = {row[0]: read_field(row) for row in rows}
        for field_id, text in changed:
            document = insert_values(text, shared) or ""
            fields[field_id] = read_document(field_id, organization_id, document)
        return fields

    def require_recorded(self) -> None:
        """Raise Overtaken if records were removed on which the catalog depends."""
        if count_removed(self._connection, self._organization_id) > self.last:
            raise Overtaken(f"recipient_field_changes {self._organization_id}")


@frozen
class SelectRecords(Statement):
    """Select the number of removed records, and the records on a page.

    One more record is selected if another page follows. If the page is empty and the organization
    exists, there is one row, whose other columns are NULL. The number is 0 if it is not needed. One
    statement, so that all are of one snapshot.
    """

    _filters: tuple[tuple[str, bool], ...]
    """The columns with a filter, and whether it is one value: then an index has the order."""
    _descending: bool
    _has_position: bool
    _removed_is_needed: bool

    @classmethod
    def of(cls, query: HistoryQuery) -> SelectRecords:
        """Return the statement for the query. Queries with the same filters share one."""
        filters = ((column, len(values) == 1) for column, values in _filters(query).items())
        return cls(
            tuple(filters), query.descending, query.after is not None, query.requires_later_records
        )

    @property
    def template(self) -> str:
        """The statement."""
        conditions = ["organization_id = :organization_id"]
        for column, is_single in self._filters:
            several = f"{{any({column}, :{column})}}"
            conditions.append(f"{column} = :{column}" if is_single else several)
        if self._has_position:
            conditions.append(f"sequence {'<' if self._descending else '>'} :after")
        order = f"sequence {'DESC' if self._descending else 'ASC'}"
        return f"""
            SELECT {SQL.removed_records.template if self._removed_is_needed else 0}, page.*
            FROM organizations LEFT JOIN (
                SELECT {SQL.record_columns.template} FROM recipient_field_changes AS record
                WHERE {" AND ".join(conditions)}
                ORDER BY record.{order} LIMIT :row_limit
            ) AS page ON true
            WHERE organizations.id = :organization_id ORDER BY page.{order}
        """


def query_values(organization_id: OrganizationId, query: HistoryQuery) -> Values:
    """Return the values of the statement for a query."""
    return {
        "organization_id": storable_id(organization_id),
        **{
            column: values[0] if len(values) == 1 else values
            for column, values in _filters(query).items()
        },
        "after": query.after,
        "row_limit": query.limit + 1,
    }


def _filters(query: HistoryQuery) -> Mapping[str, list[object]]:
    """Return the permitted values of each column that the query filters."""
    every = {
        "field_id": query.field_ids,
        "key": query.keys,
        "source": query.sources and [source.value for source in query.sources],
        "operation": query.operations and [each.value for each in query.operations],
    }
    return {column: list(values) for column, values in every.items() if values is not None}
