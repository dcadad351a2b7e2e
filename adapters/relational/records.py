"""Records of the history, which refer to large values of their documents by digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

from recipient_fields.domain import FieldId, HistoryRecord, OrganizationId, RecipientField

from ..row_mapping import RowMapping, read_record
from ..shared_values import SharedRecord, digests_in, insert_values
from .database import Connection, Overtaken, Row, Values, storable_id
from .statements import SQL

_RECORDS_PER_LOOKUP = 100
"""The number of records of a copy that are in memory together with their shared values."""


def read_records(
    connection: Connection, organization_id: OrganizationId, rows: Iterable[Row]
) -> list[HistoryRecord]:
    """Return the records of these rows of `record_columns`, with their shared values.

    Raises: Overtaken if records and their values were removed after the rows were read.
    """
    rows = list(rows)
    documents = (document for row in rows for document in _documents(row))
    values = find_values(connection, organization_id, documents)
    return [read_record(_with_values(row, values)) for row in rows]


def find_values(
    connection: Connection, organization_id: OrganizationId, documents: Iterable[str | None]
) -> Mapping[str, str]:
    """Return the shared values to which the documents refer, by digest. Raises: Overtaken."""
    digests = sorted(digests_in(documents))
    if not digests:
        return {}
    values = {"organization_id": storable_id(organization_id), "digests": digests}
    found: dict[str, str] = dict(connection.all(SQL.select_values, values))
    if len(found) < len(digests):
        raise Overtaken(f"recipient_field_values {organization_id}")
    return found


def find_deleted_field(
    connection: Connection, organization_id: OrganizationId, field_id: FieldId
) -> RecipientField | None:
    """Return the field as it was before its last deletion, or None if there is no such record."""
    ids = {"organization_id": storable_id(organization_id), "id": storable_id(field_id)}
    rows = connection.all(SQL.select_last_deletion, ids)
    records = read_records(connection, organization_id, rows)
    return records[0].before if records else None


def count_removed(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of removed records, or 0 if the organization does not exist."""
    values = {"organization_id": storable_id(organization_id)}
    row = connection.one(SQL.select_removed, values)
    return 0 if row is None else int(row[0])


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
            yield {"organization_id": organization_id, "digest": digest, "last_sequence": last}

    def sizes(self) -> Iterator[Values]:
        """Yield the values of `add_value_bytes` for each organization that has shared values."""
        for organization_id, size in self._bytes.items():
            yield {"organization_id": organization_id, "bytes": size}
