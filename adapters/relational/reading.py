"""Reads of fields that several repositories need."""

from __future__ import annotations

from recipient_fields.domain import (
    Catalog,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
)

from ..row_mapping import read_field
from .database import Connection, Values, storable_id
from .statements import SQL


def read_catalog(connection: Connection, organization_id: OrganizationId) -> Catalog:
    """Return the organization's fields by ascending id, with the revision of their catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    rows = connection.all(SQL.select_catalog, {"organization_id": storable_id(organization_id)})
    if not rows:
        raise OrganizationNotFound
    revision: int = rows[0][0]
    fields = tuple(read_field(row[1:]) for row in rows if row[1] is not None)
    return Catalog(organization_id, revision, fields)


def find_field(
    connection: Connection, organization_id: OrganizationId, reference: FieldReference
) -> RecipientField | None:
    """Return the field with this id or key, or None if the organization has no such field."""
    statement = SQL.select_field_by_key if isinstance(reference, str) else SQL.select_field_by_id
    row = connection.one(statement, reference_values(organization_id, reference))
    return None if row is None else read_field(row)


def reference_values(organization_id: OrganizationId, reference: FieldReference) -> Values:
    """Return the values of a statement that selects this field."""
    by = {"key": reference} if isinstance(reference, str) else {"id": storable_id(reference)}
    return {"organization_id": storable_id(organization_id), **by}
