"""Pages of past catalogs. Only the fields on a page are read with their large members."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from attrs import frozen

from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    FieldId,
    FieldPage,
    FieldQuery,
    OrganizationId,
    RecipientField,
)

from ..row_mapping import FIELD_COLUMNS, LARGE_MEMBERS, read_document, read_field
from ..shared_values import digests_in, insert_values
from .columns import storable_id
from .database import Connection
from .dialect import Dialect
from .fields import field_columns
from .history import ValuesRemoved, count_removed, select_values
from .organizations import require_organization


def select_page_at(
    connection: Connection, organization_id: OrganizationId, at: datetime, query: FieldQuery
) -> FieldPage:
    """Return the page of the query of the past catalog at this time.

    The statements can see different states: a past state of a field is the same in all of them, as
    long as no record after it is removed.

    Raises: OrganizationNotFound, BeforeHistory; ValuesRemoved if such records were removed while
    this read them.
    """
    require_organization(connection, organization_id)
    ids = {"organization_id": storable_id(organization_id)}
    row = connection.one(select_last_until, {**ids, "at": at})
    if row is None:
        raise BeforeHistory
    last, revision = row
    small = _fields_at(connection, organization_id, last, None)
    page = query.select(Catalog(organization_id, revision, tuple(small.values())))
    full = _fields_at(connection, organization_id, last, [field.id for field in page.fields])
    if count_removed(connection, organization_id) > last or len(full) < len(page.fields):
        raise ValuesRemoved(f"recipient_field_changes {organization_id}")
    fields = tuple(full[field.id] for field in page.fields)
    return FieldPage(organization_id, revision, fields, page.total, page.next)


def _fields_at(
    connection: Connection,
    organization_id: OrganizationId,
    last: int,
    field_ids: Collection[FieldId] | None,
) -> dict[FieldId, RecipientField]:
    """Return the fields after the record `last`, by id: those with these ids, or all.

    If all, they have no large members.
    """
    if field_ids is not None and not field_ids:
        return {}
    ids = {"organization_id": storable_id(organization_id)}
    values = {**ids, "last": last, "ids": list(field_ids or ())}
    selection = SelectUnchanged(field_ids is not None), SelectChanged(field_ids is not None)
    # In this order: a field that changes in between is in both results, and never in none.
    rows, changed = (connection.all(statement, values) for statement in selection)
    digests = digests_in(document for _, document in changed)
    shared: dict[str, str] = {}
    if digests:
        shared = dict(connection.all(select_values, {**ids, "digests": sorted(digests)}))
    if len(shared) < len(digests):
        raise ValuesRemoved(f"recipient_field_values {organization_id}")
    fields = [read_field(row) for row in rows]
    for field_id, document in changed:
        text = insert_values(document, shared)
        fields.append(read_document(field_id, organization_id, text or ""))
    return {field.id: field for field in fields}


def select_last_until(sql: Dialect) -> str:
    """Select the sequence and the time of the last record until a time.

    The times of records are in the order of their sequences, so all later records have later ones.
    """
    return f"""
        SELECT sequence, {sql.milliseconds("occurred_at")}
        FROM recipient_field_changes AS record
        WHERE organization_id = :organization_id AND occurred_at <= :at
        ORDER BY record.occurred_at DESC, sequence DESC LIMIT 1
    """


@frozen
class SelectUnchanged:
    """Select the fields that no record after `last` has changed."""

    _of_some: bool
    """Whether the statement selects the fields with some ids, with their large members."""

    def __call__(self, sql: Dialect) -> str:
        columns = field_columns(sql)
        if not self._of_some:
            nulls = {each: f"NULL AS {each}" for each in LARGE_MEMBERS}
            columns = ", ".join(
                nulls.get(each, sql.milliseconds(each) if each.endswith("_at") else each)
                for each in FIELD_COLUMNS
            )
        return f"""
            SELECT {columns} FROM recipient_fields AS field
            WHERE organization_id = :organization_id
            {f"AND {sql.one_of('field.id', ':ids')}" if self._of_some else ""}
            AND NOT EXISTS (
                SELECT 1 FROM recipient_field_changes
                WHERE organization_id = :organization_id
                    AND field_id = field.id AND sequence > :last
            )
        """


@frozen
class SelectChanged:
    """Select the id and the document before the first record after `last` of each other field."""

    _of_some: bool

    def __call__(self, sql: Dialect) -> str:
        document = sql.json("before") if self._of_some else sql.without("before", LARGE_MEMBERS)
        return f"""
            SELECT field_id, {document} FROM recipient_field_changes
            WHERE organization_id = :organization_id AND before IS NOT NULL AND sequence IN (
                SELECT min(sequence) FROM recipient_field_changes
                WHERE organization_id = :organization_id AND sequence > :last
                {f"AND {sql.one_of('field_id', ':ids')}" if self._of_some else ""}
                GROUP BY field_id
            )
        """
