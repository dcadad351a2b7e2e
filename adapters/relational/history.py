"""The history of the fields in a database: its records, its size and the removal of old records.

A record refers to large values of its documents by digest, and each value has the number of the
last record that may use it. Records are removed in the order of their numbers, so a value is
removed together with that record.

Changes and removals lock the catalog, whose row has the size of the records up to
`sized_sequence`. A process of an earlier version stores records without their size. Then
`sized_sequence` is less than the last sequence until these records are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, islice
from time import sleep
from typing import TypeAlias, cast

from attrs import field, frozen

from recipient_fields.application import HistoryRepository
from recipient_fields.domain import (
    FieldId,
    HistoryQuery,
    HistoryRecord,
    HistorySize,
    OldRecord,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    from_epoch_milliseconds,
    records_before,
    records_to_free,
)

from ..row_mapping import RowMapping, UnreadableRow, read_record
from ..shared_values import SharedRecord, digests_in, insert_values
from .columns import storable_id
from .database import Connection, Database, Row, Values
from .dialect import Dialect
from .locks import lock_catalog

SHARED_VALUES = "recipient_field_values"
"""The table of the shared values."""
_COUNT_TIMEOUT = 60.0
"""Seconds. Only records of an earlier version and copied ones are counted."""
_MAX_REMOVED_BYTES = 32 * 1024 * 1024
"""Few enough that a transaction ends long before its deadline."""
_RECORDS_PER_LOOKUP = 100
"""The number of records of a copy that are in memory together with their shared values."""

Choice: TypeAlias = Callable[[Sequence[OldRecord], HistorySize], Iterable[OldRecord]]
"""Return the records to remove: the first ones of the oldest, which it receives with the size."""


class ValuesRemoved(UnreadableRow):
    """Rows refer to shared values that are not stored any more. Read the rows again."""


@frozen
class RelationalHistory(HistoryRepository):
    """The methods of `HistoryRepository` for the size of a history and the removal of records."""

    _database: Database
    _rows_per_removal: int = field(default=1_000, kw_only=True)
    """The number of records that one transaction removes. Other writers wait for it."""
    _pause: float = field(default=0.0, kw_only=True)
    """Seconds between two of these transactions."""

    def size(self, organization_id: OrganizationId, /) -> HistorySize:
        while True:
            state = self._database.read(lambda c: _state(c, organization_id))
            if state.is_counted:
                return state.size
            self._count(organization_id, state)

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        return self._remove(organization_id, lambda oldest, _: records_before(oldest, before))

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        def choose(oldest: Sequence[OldRecord], size: HistorySize) -> Iterable[OldRecord]:
            return records_to_free(oldest, size.bytes - max_bytes)

        if self.size(organization_id).bytes <= max_bytes:
            return 0
        return self._remove(organization_id, choose)

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
            sleep(self._pause)

    def _count(self, organization_id: OrganizationId, state: _State) -> None:
        """Count the records without a size, most of them before the catalog is locked."""
        counted = self._database.read(
            lambda c: _count_uncounted(c, organization_id, state), seconds=_COUNT_TIMEOUT
        )

        def store(connection: Connection) -> None:
            if _state(connection, organization_id).sized_sequence == state.sized_sequence:
                _store_size(connection, organization_id, state, counted)
                _count_rest(connection, organization_id)

        self._database.write(store, lock=lock_catalog(organization_id), seconds=_COUNT_TIMEOUT)


def remove_oldest(
    connection: Connection, organization_id: OrganizationId, choose: Choice, limit: int
) -> tuple[int, bool]:
    """Remove those of the oldest `limit` records that `choose` returns, and unused values.

    Return the number of removed records, and whether there may be more. The catalog is locked.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    values: Values = {"organization_id": storable_id(organization_id)}
    size = _count_rest(connection, organization_id).size
    rows = connection.all(select_oldest, {**values, "row_limit": limit})
    oldest = [OldRecord(row[0], from_epoch_milliseconds(row[1]), row[2] + row[3]) for row in rows]
    chosen = list(choose(oldest, size))
    if not chosen:
        return 0, False
    totals = accumulate(record.bytes for record in chosen)
    removed = max(1, sum(total <= _MAX_REMOVED_BYTES for total in totals))
    bounds = {**values, "last": chosen[removed - 1].sequence}
    freed = {
        "record_bytes": sum(row[2] for row in rows[:removed]),
        "value_bytes": (connection.one(select_unused_bytes, bounds) or (0,))[0],
    }
    connection.execute(delete_records, bounds)
    connection.execute(delete_unused_values, bounds)
    connection.execute(reduce_size, {**values, **freed})
    return removed, removed == limit or removed < len(chosen)


def store_values(
    connection: Connection,
    organization_id: OrganizationId,
    values: Mapping[str, str],
    *,
    last_sequence: int,
) -> None:
    """Store the values, by digest, that new records use. The last one has this sequence.

    The catalog is locked.
    """
    if not values:
        return
    ids: Values = {"organization_id": storable_id(organization_id)}
    known = {digest for (digest,) in connection.all(select_known, {**ids, "digests": [*values]})}
    new = {digest: value for digest, value in values.items() if digest not in known}
    last = {**ids, "last": last_sequence}
    if known:
        connection.execute(keep_values, {**last, "digests": sorted(known)})
    if new:
        size = sum(len(value.encode()) for value in new.values())
        connection.execute(insert_new_values, {**last, "digests": [*new], "texts": [*new.values()]})
        connection.execute(add_value_bytes, {**ids, "bytes": size})


def read_records(
    connection: Connection, organization_id: OrganizationId, rows: Iterable[Row]
) -> list[HistoryRecord]:
    """Return the records of these rows of `record_columns`, with their shared values.

    Raises: ValuesRemoved if records and their values were removed after the rows were read.
    """
    rows = list(rows)
    digests = digests_in(document for row in rows for document in _documents(row))
    values: Mapping[str, str] = {}
    if digests:
        ids = {"organization_id": storable_id(organization_id)}
        values = dict(connection.all(select_values, {**ids, "digests": sorted(digests)}))
    if len(values) < len(digests):
        raise ValuesRemoved(f"recipient_field_values {organization_id}")
    return [read_record(_with_values(row, values)) for row in rows]


def read_all_rows(
    rows: Iterable[Row], find: Callable[[Sequence[int], Sequence[str]], Iterable[Row]]
) -> Iterator[Row]:
    """Yield the rows of `record_columns` of several organizations with their shared values.

    `find` returns the digests and values of these organizations that have these digests, in the
    snapshot of the rows.
    """
    remaining = iter(rows)
    while batch := list(islice(remaining, _RECORDS_PER_LOOKUP)):
        digests = digests_in(document for row in batch for document in _documents(row))
        organization_ids = sorted({row[0] for row in batch})
        values: dict[str, str] = dict(find(organization_ids, sorted(digests)) if digests else ())
        yield from (_with_values(row, values) for row in batch)


def _documents(row: Row) -> tuple[str | None, str | None]:
    """Return the documents of the field before and after a change, of a row of `record_columns`."""
    return row[5], row[6]


def _with_values(row: Row, values: Mapping[str, str]) -> Row:
    with RowMapping("recipient_field_changes", tuple(row[:2])):
        documents = [insert_values(each, values) for each in _documents(row)]
    return (*row[:5], *documents, *row[7:])


class CopiedValues:
    """The shared values of histories that are copied to an empty storage, in any order."""

    def __init__(self) -> None:
        self._last: dict[tuple[object, str], int] = {}
        self._bytes: Counter[object] = Counter()

    def add(self, record: SharedRecord) -> Iterator[Values]:
        """Yield the rows of the record's values that no earlier record uses."""
        organization_id, sequence = record.row["organization_id"], cast(int, record.row["sequence"])
        for digest, value in record.values.items():
            key = organization_id, digest
            if key not in self._last:
                self._bytes[organization_id] += len(value.encode())
                yield {
                    "organization_id": organization_id,
                    "digest": digest,
                    "value": value,
                    "last_sequence": sequence,
                }
            self._last[key] = max(sequence, self._last.get(key, 0))

    def last_uses(self) -> Iterator[Values]:
        """Yield the values of `keep_value` for each value."""
        for (organization_id, digest), last in self._last.items():
            yield {"organization_id": organization_id, "digest": digest, "last": last}

    def sizes(self) -> Iterator[Values]:
        """Yield the values of `add_value_bytes` for each organization that has shared values."""
        for organization_id, size in self._bytes.items():
            yield {"organization_id": organization_id, "bytes": size}


@frozen
class _State:
    """The size of the records up to `sized_sequence`, and of all shared values."""

    size: HistorySize
    sized_sequence: int
    last_sequence: int

    @property
    def is_counted(self) -> bool:
        """Whether it is the size of all records."""
        return self.sized_sequence == self.last_sequence


def _state(connection: Connection, organization_id: OrganizationId) -> _State:
    """Raise OrganizationNotFound if the organization does not exist."""
    row = connection.one(select_history_size, {"organization_id": storable_id(organization_id)})
    if row is None:
        raise OrganizationNotFound
    size, inherited, sized_sequence, last_sequence = row
    return _State(HistorySize(size, inherited), sized_sequence, last_sequence)


def _count_rest(connection: Connection, organization_id: OrganizationId) -> _State:
    """Count the records without a size, in the locked catalog, and return the new state."""
    state = _state(connection, organization_id)
    if state.is_counted:
        return state
    counted = _count_uncounted(connection, organization_id, state)
    _store_size(connection, organization_id, state, counted)
    return _state(connection, organization_id)


def _count_uncounted(connection: Connection, organization_id: OrganizationId, state: _State) -> int:
    """Return the bytes of the records of this state that have no size yet."""
    values = {
        "organization_id": storable_id(organization_id),
        "after": state.sized_sequence,
        "last": state.last_sequence,
    }
    row = connection.one(count_bytes, values)
    return 0 if row is None else int(row[0])


def _store_size(
    connection: Connection, organization_id: OrganizationId, state: _State, counted: int
) -> None:
    """Add these bytes to the size of the history, which then includes all records of the state."""
    values = {
        "organization_id": storable_id(organization_id),
        "bytes": counted,
        "sized_sequence": state.last_sequence,
    }
    connection.execute(store_history_size, values)


def last_sequence_of(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the sequence of the last record, or 0 if there was none.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    return _state(connection, organization_id).last_sequence


def find_deleted_field(
    connection: Connection, organization_id: OrganizationId, field_id: FieldId
) -> RecipientField | None:
    """Return the field as it was before its last deletion, or None if there is no such record.

    The catalog is locked.
    """
    ids = {"organization_id": storable_id(organization_id), "id": storable_id(field_id)}
    records = read_records(connection, organization_id, connection.all(select_last_deletion, ids))
    return records[0].before if records else None


def count_removed(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of removed records, or 0 if the organization does not exist."""
    row = connection.one(select_removed, {"organization_id": storable_id(organization_id)})
    return 0 if row is None else int(row[0])


def record_columns(sql: Dialect) -> str:
    """Return the columns of a record, which `read_record` expects."""
    return f"""
        organization_id, sequence, operation, field_id, {sql.json("author")}, {sql.json("before")},
        {sql.json("after")}, {sql.milliseconds("occurred_at")}
    """


def select_last_deletion(sql: Dialect) -> str:
    """Select the record of the last deletion of a field."""
    return f"""
        SELECT {record_columns(sql)} FROM recipient_field_changes
        WHERE organization_id = :organization_id AND field_id = :id AND operation = 'deleted'
        ORDER BY sequence DESC LIMIT 1
    """


REMOVED_RECORDS = """coalesce(
    (
        SELECT min(sequence) - 1 FROM recipient_field_changes
        WHERE organization_id = :organization_id
    ), last_sequence
)"""
"""The expression of the number of removed records, for a row of `organizations`."""


def select_removed(_: Dialect) -> str:
    """Select the number of removed records: all before the first one that is left."""
    return f"SELECT {REMOVED_RECORDS} FROM organizations WHERE id = :organization_id"


def select_values(sql: Dialect) -> str:
    """Select the shared values with these digests."""
    return f"""
        SELECT digest, value FROM recipient_field_values
        WHERE organization_id = :organization_id AND {sql.one_of("digest", ":digests")}
    """


def select_values_of_several(sql: Dialect) -> str:
    """Select the shared values with these digests, of any of these organizations."""
    return f"""
        SELECT digest, value FROM recipient_field_values
        WHERE {sql.one_of("organization_id", ":organization_ids")}
            AND {sql.one_of("digest", ":digests")}
    """


def select_known(sql: Dialect) -> str:
    """Select those of the digests whose values are stored."""
    return f"""
        SELECT digest FROM recipient_field_values
        WHERE organization_id = :organization_id AND {sql.one_of("digest", ":digests")}
    """


def keep_values(sql: Dialect) -> str:
    """Store that a new record uses these values, which are stored."""
    return f"""
        UPDATE recipient_field_values SET last_sequence = :last
        WHERE organization_id = :organization_id AND {sql.one_of("digest", ":digests")}
    """


def keep_value(_: Dialect) -> str:
    """Store the last record that uses a value."""
    return """
        UPDATE recipient_field_values SET last_sequence = :last
        WHERE organization_id = :organization_id AND digest = :digest
    """


def insert_new_values(sql: Dialect) -> str:
    """Insert values that a new record uses."""
    return f"""
        INSERT INTO recipient_field_values (organization_id, digest, value, last_sequence)
        SELECT :organization_id, first, second, :last
        FROM {sql.pairs(":digests", ":texts")} AS new
    """


def add_value_bytes(_: Dialect) -> str:
    """Add the size of new shared values to that of the history."""
    return """
        UPDATE organizations SET shared_value_bytes = shared_value_bytes + :bytes
        WHERE id = :organization_id
    """


def select_history_size(_: Dialect) -> str:
    """Select the stored size of a history, its size at the first count, and what is counted."""
    return """
        SELECT record_bytes + shared_value_bytes, inherited_bytes, sized_sequence, last_sequence
        FROM organizations WHERE id = :organization_id
    """


def count_bytes(sql: Dialect) -> str:
    """Count the bytes of the records after one sequence, up to another one."""
    total = f"coalesce(sum({_bytes_of(_DOCUMENTS, sql)}), 0)"
    return f"""
        SELECT CAST({total} AS bigint) FROM recipient_field_changes
        WHERE organization_id = :organization_id AND sequence > :after AND sequence <= :last
    """


def store_history_size(_: Dialect) -> str:
    """Store the size of the records up to this sequence. The first size is inherited."""
    return """
        UPDATE organizations SET
            inherited_bytes = CASE
                WHEN sized_sequence = 0 THEN :bytes + shared_value_bytes ELSE inherited_bytes
            END,
            record_bytes = record_bytes + :bytes,
            sized_sequence = :sized_sequence
        WHERE id = :organization_id
    """


def select_oldest(sql: Dialect) -> str:
    """Select the sequence, the time and the size of the oldest records.

    The last column is the size of the shared values that no later record uses.
    """
    return f"""
        SELECT sequence, {sql.milliseconds("occurred_at")}, {_bytes_of(_DOCUMENTS, sql)}, (
            SELECT coalesce(sum({sql.text_bytes("value")}), 0) FROM recipient_field_values
            WHERE organization_id = :organization_id AND last_sequence = sequence
        )
        FROM recipient_field_changes
        WHERE organization_id = :organization_id ORDER BY sequence LIMIT :row_limit
    """


_DOCUMENTS = ("author", "before", "after")


def _bytes_of(documents: Iterable[str], sql: Dialect) -> str:
    """Return the size of a record, or that of its documents: earlier versions do not store it."""
    stored = (f"coalesce({sql.stored_bytes(each)}, 0)" for each in documents)
    return f"coalesce(bytes, {' + '.join(stored)})"


def select_unused_bytes(sql: Dialect) -> str:
    """Select the size of the shared values that no record after this one uses."""
    return f"""
        SELECT coalesce(sum({sql.text_bytes("value")}), 0) FROM recipient_field_values
        WHERE organization_id = :organization_id AND last_sequence <= :last
    """


def delete_records(_: Dialect) -> str:
    """Delete the records up to this one."""
    return """
        DELETE FROM recipient_field_changes
        WHERE organization_id = :organization_id AND sequence <= :last
    """


def delete_unused_values(_: Dialect) -> str:
    """Delete the shared values that no record after this one uses."""
    return """
        DELETE FROM recipient_field_values
        WHERE organization_id = :organization_id AND last_sequence <= :last
    """


def reduce_size(_: Dialect) -> str:
    """Subtract the size of removed records and values."""
    return """
        UPDATE organizations SET
            record_bytes = record_bytes - :record_bytes,
            shared_value_bytes = shared_value_bytes - :value_bytes
        WHERE id = :organization_id
    """


@frozen
class SelectRecords:
    """Select the records on a page, and one more if another page follows."""

    _filters: tuple[tuple[str, bool], ...]
    """The columns with a filter, and whether it is one value: then an index has the order."""
    _descending: bool
    _has_position: bool

    @classmethod
    def of(cls, query: HistoryQuery) -> SelectRecords:
        """Return the statement for the query. Queries with the same filters share one."""
        filters = ((column, len(values) == 1) for column, values in _filters(query).items())
        return cls(tuple(filters), query.descending, query.after is not None)

    def __call__(self, sql: Dialect) -> str:
        conditions = ["organization_id = :organization_id"]
        for column, is_single in self._filters:
            value = f":{column}"
            conditions.append(f"{column} = {value}" if is_single else sql.one_of(column, value))
        if self._has_position:
            conditions.append(f"sequence {'<' if self._descending else '>'} :after")
        return f"""
            SELECT {record_columns(sql)} FROM recipient_field_changes AS record
            WHERE {" AND ".join(conditions)}
            ORDER BY {self.order("record")} LIMIT :row_limit
        """

    def order(self, table: str) -> str:
        """Return the order of the rows in this table."""
        return f"{table}.sequence {'DESC' if self._descending else 'ASC'}"


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
