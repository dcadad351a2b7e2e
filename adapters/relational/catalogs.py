"""The catalogs in a database, in transactions that have locked them, and their sizes.

`fields_size` of an organization is the sum of the sizes of its fields while `measured_revision` is
the revision of its catalog. Processes of older versions change only the revision.
"""

from __future__ import annotations

from contextlib import suppress

from attrs import frozen

from recipient_fields.domain import (
    Catalog,
    CatalogView,
    FieldId,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    Source,
)

from ..row_mapping import UnreadableRow, read_field
from .columns import storable_id
from .database import Connection
from .dialect import Dialect
from .fields import find_field, read_catalog, select_fields
from .history import count_removed, find_deleted_field

_FIELDS_AT_ONCE = 100
"""Few enough for the memory: an older version stored fields of 1 MB."""


@frozen
class RelationalCatalogView(CatalogView):
    """The catalog of an organization, in a transaction that has locked it, without `next_id`."""

    _connection: Connection
    _organization_id: OrganizationId

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        return find_field(self._connection, self._organization_id, reference)

    def count(self, source: Source, /) -> int:
        values = {"organization_id": storable_id(self._organization_id), "source": source.value}
        row = self._connection.one(count_fields_of_source, values)
        if row is None:
            raise OrganizationNotFound
        return int(row[0])

    def fields_size(self) -> int:
        return read_fields_size(self._connection, self._organization_id)

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        return find_deleted_field(self._connection, self._organization_id, field_id)

    def removed_records(self) -> int:
        return count_removed(self._connection, self._organization_id)

    def all(self) -> Catalog:
        return read_catalog(self._connection, self._organization_id)


def read_fields_size(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the sum of the sizes of the fields, in a transaction that has locked the catalog.

    If the stored size is that of another revision, measure the fields, and store their size.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    values = {"organization_id": storable_id(organization_id)}
    row = connection.one(select_size, values)
    if row is None:
        raise OrganizationNotFound
    size: int | None
    revision, size = row
    return _measure(connection, organization_id, revision) if size is None else size


def measure_catalogs(connection: Connection) -> None:
    """Store the sizes of the catalogs that this version has never measured.

    Outside a transaction, each statement is one of its own, so that other processes can write. The
    size of a catalog that changes meanwhile is not stored: the next change by this version measures
    it. A catalog with a row that breaks a rule has no size, because its list can't be read.
    """
    for organization_id, revision in connection.all(select_unmeasured):
        with suppress(UnreadableRow):
            _measure(connection, OrganizationId(organization_id), revision)


def _measure(connection: Connection, organization_id: OrganizationId, revision: int) -> int:
    """Return the sum of the sizes of the fields, and store it unless the revision has changed."""
    values = {"organization_id": organization_id, "limit": _FIELDS_AT_ONCE}
    size, last_id = 0, 0
    while rows := connection.all(select_next_fields, {**values, "after_id": last_id}):
        fields = [read_field(row) for row in rows]
        size += sum(each.size for each in fields)
        last_id = fields[-1].id
    stored = {"organization_id": organization_id, "revision": revision, "size": size}
    connection.execute(store_size, stored)
    return size


def count_fields_of_source(_: Dialect) -> str:
    """Count the fields of an organization with this source. No row: there is no organization."""
    return """
        SELECT (
            SELECT count(*) FROM recipient_fields
            WHERE organization_id = :organization_id AND source = :source
        ) FROM organizations WHERE id = :organization_id
    """


def select_size(_: Dialect) -> str:
    """Select the revision of a catalog, and the size of its fields, or NULL if it is not known."""
    return f"SELECT revision, {current_size()} FROM organizations WHERE id = :organization_id"


def current_size() -> str:
    """Return the expression of the size of the fields, which is NULL if it is not known."""
    return "CASE WHEN measured_revision = revision THEN fields_size END"


def select_unmeasured(_: Dialect) -> str:
    """Select the organizations whose catalogs have no size, and their revisions."""
    return "SELECT id, revision FROM organizations WHERE fields_size IS NULL ORDER BY id"


def select_next_fields(sql: Dialect) -> str:
    """Select the next fields of an organization by ascending id."""
    return f"{select_fields(sql)} AND id > :after_id ORDER BY id LIMIT :limit"


def store_size(_: Dialect) -> str:
    """Store the size of the fields of a catalog that still has this revision."""
    return """
        UPDATE organizations SET fields_size = :size, measured_revision = :revision
        WHERE id = :organization_id AND revision = :revision
    """
