"""Records of the history, which refer to large values of their documents by digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from recipient_fields.domain import FieldId, OrganizationId, RecipientField

from ..row_mapping import RowMapping, read_record
from ..shared_values import digests_in, insert_values
from .database import Connection, Overtaken, Row, id_values, storable_id
from .statements import SQL

_RECORDS_PER_LOOKUP = 100
"""The number of records of a copy that are in memory together with their shared values."""


_DOCUMENTS = slice(5, 7)
"""The documents of the field before and after a change, in a row of `record_columns`."""


def with_shared_values(
    connection: Connection, organization_id: OrganizationId, rows: Sequence[Row]
) -> list[Row]:
    """Return these rows of `record_columns` with their shared values.

    Raises: Overtaken if records and their values were removed after the rows were read.
    """
    documents = (document for row in rows for document in row[_DOCUMENTS])
    values = find_values(connection, organization_id, documents)
    return [_with_values(row, values) for row in rows]


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
    ids = id_values(organization_id=organization_id, id=field_id)
    rows = connection.all(SQL.select_last_deletion, ids)
    complete = with_shared_values(connection, organization_id, rows)
    return read_record(complete[0]).before if complete else None


def count_removed(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of removed records, or 0 if the organization does not exist."""
    values = id_values(organization_id=organization_id)
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
        digests = digests_in(document for row in batch for document in row[_DOCUMENTS])
        organization_ids = sorted({row[0] for row in batch})
        values: dict[str, str] = dict(find(organization_ids, sorted(digests)) if digests else ())
        yield from (_with_values(row, values) for row in batch)


def _with_values(row: Row, values: Mapping[str, str]) -> Row:
    with RowMapping("recipient_field_changes", tuple(row[:2])):
        documents = [insert_values(each, values) for each in row[_DOCUMENTS]]
    return (*row[:5], *documents, *row[7:])
