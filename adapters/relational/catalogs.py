"""The catalog of an organization in a transaction that has locked it, and the sizes of catalogs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from recipient_fields.application import CatalogPlanner
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldId,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    Source,
    name_letters,
)

from ..row_mapping import UnreadableRow, read_field
from .changes import Counters, PlannedChanges, field_row
from .database import Connection, Values, id_values, storable_id
from .records import count_removed, find_deleted_field
from .statements import SQL

_LETTERS_AT_ONCE = 1_000
_FIELDS_AT_ONCE = 100
"""Few enough for the memory: an older version stored fields of 1 MB."""


class LockedCatalog(CatalogView):
    """The catalog of an organization in the transaction that has locked it with `lock_catalog`."""

    def __init__(self, connection: Connection, organization_id: OrganizationId) -> None:
        self._connection = connection
        self._organization_id = organization_id
        self._ids = id_values(organization_id=organization_id)

    @cached_property
    def counters(self) -> Counters:
        """The counters. Raises: OrganizationNotFound if the organization does not exist."""
        self._row = self._connection.locked()
        return Counters.of(self._row)

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        return find_field(self._connection, self._organization_id, reference)

    def count(self, source: Source, /) -> int:
        counters = self.counters
        if source is Source.API and counters.api_field_count is not None:
            return counters.api_field_count
        values = {**self._ids, "source": source.value}
        [(fields,)] = self._connection.all(SQL.count_fields_of_source, values)
        if source is Source.API:
            counters.api_field_count = fields
        return int(fields)

    def fields_size(self) -> int:
        if self.counters.fields_size is None:
            self.counters.fields_size = _measure(self._connection, self._organization_id)
        return self.counters.fields_size

    def next_id(self) -> FieldId:
        [(field_id,)] = self._connection.all(SQL.select_next_id)
        return FieldId(field_id)

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        return find_deleted_field(self._connection, self._organization_id, field_id)

    def removed_records(self) -> int:
        return count_removed(self._connection, self._organization_id)

    def all(self) -> Catalog:
        return read_catalog(self._connection, self._organization_id)

    def change(
        self, plan: CatalogPlanner, *, author: Author, at: datetime
    ) -> CatalogChanges[RecipientField]:
        """Store and record the changes that `plan` returns, as `FieldRepository.change` does."""
        return self.store(PlannedChanges.of(plan(self), author), at=at)

    def store(self, planned: PlannedChanges, *, at: datetime) -> CatalogChanges[RecipientField]:
        """Store and record changes at this time.

        Raises: OrganizationNotFound if there are changes, and the organization does not exist.
        """
        changes = planned.changes
        if not changes.changes:
            return changes.with_ids(())
        counters = self._newest_counters()
        self._share(planned.values, last_sequence=counters.last_sequence + len(planned.records))
        deleted: list[Values] = [{"id": each.id} for each in changes.deleted]
        self._connection.store(SQL.delete_fields, deleted, self._ids)
        for statement, rows in planned.updates():
            self._connection.store(statement, rows, self._ids)
        self._connection.store(SQL.restore_fields, [*map(field_row, changes.restored)], self._ids)
        applied = changes.with_ids(self._create(changes.created))
        records = planned.rows(applied, first_sequence=counters.last_sequence + 1)
        occurred_at = counters.apply(planned, applied, at)
        shared = {**self._ids, "author": planned.author, "occurred_at": occurred_at}
        self._connection.store(SQL.insert_records, records, shared)
        self._store_counters()
        return applied

    def advance(self) -> None:
        """Increase the revision of the catalog, whose fields do not change."""
        self.counters.advance()
        self._store_counters()

    def _newest_counters(self) -> Counters:
        """Return the counters, which a plan can have changed in a transaction of an application."""
        counters, row = self.counters, self._connection.locked()
        if row != self._row:
            counters = self.counters = Counters.of(row)
        return counters

    def _create(self, created: Sequence[FieldDefinition]) -> tuple[RecipientField, ...]:
        rows = [*map(field_row, created)]
        assigned = {
            key: id_ for id_, key in self._connection.assign(SQL.insert_fields, rows, self._ids)
        }
        return tuple(
            each.with_id(FieldId(assigned[each.key]), self._organization_id) for each in created
        )

    def _store_counters(self) -> None:
        self._connection.execute(SQL.store_counters, {**self._ids, **self.counters.values()})

    def _share(self, values: Mapping[str, str], *, last_sequence: int) -> None:
        """Store the shared values, by digest, that new records use. The last one is this one."""
        if not values:
            return
        rows = self._connection.all(SQL.select_known_values, {**self._ids, "digests": [*values]})
        known = {digest for (digest,) in rows}
        last = {**self._ids, "last_sequence": last_sequence}
        if known:
            self._connection.execute(SQL.keep_values, {**last, "digests": sorted(known)})
        new = [{"digest": each, "value": values[each]} for each in values if each not in known]
        self._connection.store(SQL.insert_values, new, last)
        self.counters.shared_value_bytes += sum(len(each["value"].encode()) for each in new)


def read_catalog(connection: Connection, organization_id: OrganizationId) -> Catalog:
    """Return the organization's fields by ascending id, with the revision of their catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    rows = connection.all(SQL.select_catalog, id_values(organization_id=organization_id))
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
    by = {"key": reference} if isinstance(reference, str) else id_values(id=reference)
    return {"organization_id": storable_id(organization_id), **by}


def complete_catalogs(connection: Connection) -> None:
    """Store what rows of an earlier version and of a copy lack: sizes, and letters of names."""
    _measure_catalogs(connection)
    _store_letters(connection)


def _store_letters(connection: Connection) -> None:
    """Store the letters of the names of synced fields that have none."""
    values = {"limit": _LETTERS_AT_ONCE}
    while rows := connection.all(SQL.select_without_letters, values):
        for organization_id, group in groupby(rows, key=itemgetter(0)):
            letters: list[Values] = [
                {"id": field_id, "esp_name_letters": name_letters(name)}
                for _, field_id, name in group
            ]
            connection.store(SQL.store_letters, letters, id_values(organization_id=organization_id))


def _measure_catalogs(connection: Connection) -> None:
    """Store the sizes of the catalogs that this version has never measured.

    Outside a transaction, each statement is one of its own, so that other processes can write. The
    size of a catalog that changes meanwhile is not stored: the next change by this version measures
    it. A catalog with a row that breaks a rule has no size, because its list can't be read.
    """
    for organization_id, revision in connection.all(SQL.select_unmeasured):
        with suppress(UnreadableRow):
            size = _measure(connection, organization_id)
            values = {"organization_id": organization_id, "revision": revision, "size": size}
            connection.execute(SQL.store_size, values)


def _measure(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the sum of the sizes of the fields."""
    values = {"organization_id": organization_id, "limit": _FIELDS_AT_ONCE}
    size, last_id = 0, 0
    while rows := connection.all(SQL.select_next_fields, {**values, "after_id": last_id}):
        fields = [read_field(row) for row in rows]
        size += sum(each.size for each in fields)
        last_id = fields[-1].id
    return size
