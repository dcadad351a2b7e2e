"""The fields in PostgreSQL, with two optional fast ways to change them.

A creation is one statement. A plan that reads one field and changes one is computed without the
lock, and one statement stores the change if the catalog still has the revision that was read.
Otherwise, they do what all changes do. So the fast ways change nothing but the cost, and the
contract compares them with the plain way.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import partial
from time import time_ns

from attrs import fields, frozen
from psycopg.errors import UniqueViolation

from recipient_fields.application import CatalogPlanner, PublishedCatalog
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
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
    id_size,
    list_size,
    plan_creation,
)

from ..relational.catalogs import reference_values
from ..relational.changes import Counters, PlannedChanges, UpdateFields, changed_columns, field_row
from ..relational.database import Connection, id_values, storable_id
from ..relational.fields import RelationalFieldRepository
from ..relational.statements import SQL, Statements
from ..row_mapping import read_field

POSTGRES_SQL = Statements(__package__, SQL)
_COUNTERS = len(fields(Counters))
_ID_SIZE = id_size(MAX_SAFE_INTEGER)


class LockRequired(Exception):
    """The plan reads more than one field."""


@frozen
class PostgresFieldRepository(RelationalFieldRepository):
    """The fields of all organizations in one PostgreSQL database."""

    _is_fast: bool
    """Whether one statement is one transaction of the storage, with the storage's settings."""

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        """Return the catalog as PostgreSQL renders it: 30 times as fast as Python would."""
        values = id_values(organization_id=organization_id)
        row = self._database.read(lambda c: c.one(POSTGRES_SQL.select_published, values))
        if row is None:
            raise OrganizationNotFound
        return PublishedCatalog(organization_id, *row)

    def create(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
        size_limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        if self._is_fast:
            planned = PlannedChanges.of(CatalogChanges.of(created=[definition]), author)
            field = self._database.read(
                lambda c: try_creation(
                    c, organization_id, planned, limit=limit, size_limit=size_limit
                )
            )
            if field is not None:
                return field
        plan = partial(plan_creation, definition=definition, limit=limit, size_limit=size_limit)
        at = definition.created_at
        return super().change(organization_id, plan, author=author, at=at).created[0]

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        if self._is_fast:
            with suppress(LockRequired):
                return self._database.read(
                    lambda c: ReadCatalog(c, organization_id).change(plan, author=author, at=at)
                )
        return super().change(organization_id, plan, author=author, at=at)


class ReadCatalog(CatalogView):
    """The catalog of an organization, without a lock. A plan can read one field of it."""

    def __init__(self, connection: Connection, organization_id: OrganizationId) -> None:
        self._connection = connection
        self._organization_id = organization_id
        self._counters: Counters | None = None

    @property
    def counters(self) -> Counters:
        """The counters that were read with the field."""
        if self._counters is None:
            raise LockRequired
        return self._counters

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        if self._counters is not None:
            raise LockRequired
        by_key = isinstance(reference, str)
        statement = POSTGRES_SQL.find_by_key if by_key else POSTGRES_SQL.find_by_id
        values = reference_values(self._organization_id, reference)
        row = self._connection.one(statement, values)
        if row is None:
            return None
        self._counters = Counters(*row[:_COUNTERS])
        field = row[_COUNTERS:]
        return None if field[0] is None else read_field(field)

    def count(self, source: Source, /) -> int:
        return _known(self.counters.api_field_count if source is Source.API else None)

    def fields_size(self) -> int:
        return _known(self.counters.fields_size)

    def next_id(self) -> FieldId:
        [(field_id,)] = self._connection.all(SQL.select_next_id)
        return FieldId(field_id)

    def last_deletion(self, _: FieldId, /) -> RecipientField | None:
        raise LockRequired

    def removed_records(self) -> int:
        raise LockRequired

    def all(self) -> Catalog:
        raise LockRequired

    def change(
        self, plan: CatalogPlanner, *, author: Author, at: datetime
    ) -> CatalogChanges[RecipientField]:
        """Store the change that `plan` returns.

        Raises: LockRequired if nothing was stored, and the plan must be computed under the lock.
        """
        changes = plan(self)
        if not changes.changes:
            # The answer says that the change is stored. What was read may still wait for a standby,
            # and the commit of the lock waits for it.
            raise LockRequired
        planned = PlannedChanges.of(changes, author)
        if len(planned.records) > 1 or planned.values or changes.restored:
            raise LockRequired
        counters, revision = self.counters, self.counters.revision
        if changes.created:
            field = try_creation(
                self._connection, self._organization_id, planned, read_revision=revision
            )
            if field is None:
                raise LockRequired
            return changes.with_ids([field])
        applied = changes.with_ids(())
        [row] = planned.rows(applied, first_sequence=counters.last_sequence + 1)
        occurred_at = counters.apply(planned, applied, at)
        values = {
            **id_values(organization_id=self._organization_id),
            **counters.values(),
            **row,
            "read_revision": revision,
            "author": planned.author,
            "occurred_at": occurred_at,
        }
        if changes.deleted:
            deleted = {**values, "id": changes.deleted[0].id}
            stored = self._connection.one(POSTGRES_SQL.delete_field, deleted)
        else:
            columns = changed_columns(changes.updated[0])
            statement = UpdateFields(POSTGRES_SQL.update_field, tuple(columns))
            stored = self._connection.one(statement, {**values, **columns})
        if stored is None:
            raise LockRequired
        return applied


def _known(counter: int | None) -> int:
    if counter is None:
        raise LockRequired
    return counter


def try_creation(
    connection: Connection,
    organization_id: OrganizationId,
    planned: PlannedChanges,
    *,
    limit: int | None = None,
    size_limit: int | None = None,
    read_revision: int | None = None,
) -> RecipientField | None:
    """Create and record the field of these changes, or return None if a plan has to decide that.

    `read_revision` is the revision that the catalog must have. If the history shares values of the
    field, these must be stored first, so a plan decides then, too.
    """
    [definition], [record] = planned.changes.created, planned.records
    if record.values:
        return None
    added_size = definition.size_without_id
    # The size of the other fields with which the field has room, with any id.
    room = None if size_limit is None else size_limit - list_size(added_size + _ID_SIZE)
    values = {
        **record.row,
        **field_row(definition),
        "organization_id": storable_id(organization_id),
        "limit": limit,
        "max_fields_size": room,
        "read_revision": read_revision,
        "author": planned.author,
        "now": time_ns() // 1_000_000,
        "added_api_fields": planned.added(Source.API),
        "added_size": added_size,
        "bytes": planned.bytes,
    }
    with suppress(UniqueViolation):
        row = connection.one(POSTGRES_SQL.create_field, values)
        return None if row is None else definition.with_id(FieldId(row[0]), organization_id)
    return None
