"""Recipient fields in PostgreSQL."""

from __future__ import annotations

from datetime import datetime
from time import monotonic
from typing import Any, TypeVar

from attrs import Factory, frozen
from psycopg import Connection

from recipient_fields.application import CatalogPlanner, PublishedCatalog
from recipient_fields.domain import (
    FIELD_MEMBERS,
    MAX_SAFE_INTEGER,
    AppliedChanges,
    Author,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldId,
    FieldPage,
    FieldQuery,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    Source,
    plan_creation,
)

from ..relational.catalogs import RelationalCatalogView, current_size
from ..relational.columns import storable_id
from ..relational.dialect import Dialect
from ..relational.fields import (
    RelationalFields,
    SelectPage,
    query_values,
    reference_values,
    select_field_by_id,
    select_field_by_key,
)
from ..relational.locks import lock_catalog
from ..row_mapping import read_field
from ..shared_values import share_values
from .change_statements import insert_field
from .changes import PlannedRows, bind_creation
from .limits import CALL_TIMEOUT
from .server import Server
from .transactions import Transactions, Work

T = TypeVar("T")


@frozen
class PostgresFieldRepository(RelationalFields):
    """The fields of all organizations in one PostgreSQL database.

    Every change locks the catalog of its organization.
    """

    _transactions: Transactions

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        statement = SelectPageWithRevision(SelectPage.of(query))
        values = query_values(organization_id, query)
        rows = self._database.read(lambda c: c.all(statement, values))
        if not rows:
            raise OrganizationNotFound
        revision, total = rows[0][:2]
        fields = [read_field(row[2:]) for row in rows if row[2] is not None]
        return query.page(organization_id, revision, fields, total)

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        values = {"organization_id": storable_id(organization_id)}
        row = self._database.read(lambda c: c.one(select_published, values))
        if row is None:
            raise OrganizationNotFound
        revision, total, documents = row
        return PublishedCatalog(organization_id, revision, total, documents)

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        server = self._transactions.server

        def change(connection: Connection[Any]) -> AppliedChanges:
            return change_fields(server, connection, organization_id, plan, author=author, at=at)

        return self._write(organization_id, change)

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
        """Create the field in one statement. If that stores nothing, do what `change` does.

        So does a field with values that the history shares, because these are stored first.
        """

        def plan(catalog: CatalogView) -> CatalogChanges:
            return plan_creation(catalog, definition, limit=limit, size_limit=size_limit)

        document = share_values(definition)
        if document.values:
            at = definition.created_at
            return self.change(organization_id, plan, author=author, at=at).created[0]
        values = bind_creation(
            organization_id,
            definition,
            document.text,
            limit=limit,
            size_limit=size_limit,
            author=author,
        )
        deadline = monotonic() + CALL_TIMEOUT
        server = self._transactions.server
        row = self._transactions.try_statement(insert_field(), values)
        if row is not None:
            return definition.with_id(FieldId(row[0]), organization_id)

        def create(connection: Connection[Any]) -> RecipientField:
            field_id = server.try_creation(connection, values)
            if field_id is not None:
                return definition.with_id(field_id, organization_id)
            at = definition.created_at
            applied = change_fields(server, connection, organization_id, plan, author=author, at=at)
            return applied.created[0]

        return self._write(organization_id, create, seconds=deadline - monotonic())

    def _write(
        self, organization_id: OrganizationId, work: Work[T], *, seconds: float = CALL_TIMEOUT
    ) -> T:
        """Return the result of the work, which is one transaction in the locked catalog."""
        return self._transactions.write(
            work, first=lock_catalog(organization_id), pipelinable=True, seconds=seconds
        )


def change_fields(
    server: Server,
    connection: Connection[Any],
    organization_id: OrganizationId,
    plan: CatalogPlanner,
    *,
    author: Author,
    at: datetime,
) -> AppliedChanges:
    """Store the changes that `plan` returns for the locked catalog."""
    rows = PlannedRows.of(plan(_CatalogView(server.connection(connection), organization_id)))
    return rows.store(server, connection, organization_id, author=author, at=at)


@frozen
class _CatalogView(RelationalCatalogView):
    """The locked catalog of an organization, whose row has the number of API-managed fields."""

    _counts: dict[Source, int] = Factory(dict)
    """The number of fields of a source, if a statement has returned it."""
    _sizes: list[int] = Factory(list)
    """The size of the fields, if a statement has returned it."""

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        statement = find_by_key if isinstance(reference, str) else find_by_id
        row = self._connection.one(statement, reference_values(self._organization_id, reference))
        if row is None:
            return None
        count, size, *field = row
        if count is not None:
            self._counts[Source.API] = count
        if size is not None:
            self._sizes[:] = [size]
        return None if field[0] is None else read_field(field)

    def count(self, source: Source, /) -> int:
        count = self._counts.get(source)
        return super().count(source) if count is None else count

    def fields_size(self) -> int:
        return self._sizes[0] if self._sizes else super().fields_size()

    def next_id(self) -> FieldId:
        row = self._connection.one(select_last_id)
        return FieldId(MAX_SAFE_INTEGER if row is None else row[0] + 1)


@frozen
class SelectPageWithRevision:
    """Select the revision of the catalog, the number of matches on all pages, and a page of fields.

    If the page is empty, there is one row, whose other columns are NULL. One statement, so that all
    are of one snapshot.
    """

    _page: SelectPage

    def __call__(self, sql: Dialect) -> str:
        return f"""
            SELECT revision, ({self._page.count(sql)}), page.*
            FROM organizations LEFT JOIN ({self._page(sql)}) AS page ON true
            WHERE organizations.id = :organization_id ORDER BY {self._page.order("page")}
        """


def select_published(_: Dialect) -> str:
    """Select the revision of a catalog, the number of its fields, and their JSON documents.

    PostgreSQL renders the documents 30 times as fast as Python would from rows.
    """
    columns = ", ".join(
        f"{_instant(each.name)} AS {each.name}" if each.kind is datetime else each.name
        for each in FIELD_MEMBERS
    )
    return f"""
        SELECT revision, count(field.id),
            coalesce(
                '[' || string_agg(row_to_json(field)::text, ',' ORDER BY field.id) || ']', '[]'
            )
        FROM organizations LEFT JOIN (
            SELECT {columns} FROM recipient_fields WHERE organization_id = :organization_id
        ) AS field ON true
        WHERE organizations.id = :organization_id GROUP BY organizations.id
    """


def _instant(column: str) -> str:
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""


def find_by_id(sql: Dialect) -> str:
    """Select the number of API-managed fields, the size of all fields, and a field.

    The first two are NULL if they are not known.
    """
    return _find(select_field_by_id(sql))


def find_by_key(sql: Dialect) -> str:
    """Select the same as `find_by_id`, for the field with this key."""
    return _find(select_field_by_key(sql))


def _find(field: str) -> str:
    """Return the statement that also selects the counters, so that none reads all fields."""
    return f"""
        SELECT
            CASE WHEN counted_revision = revision THEN api_field_count END, {current_size()},
            field.*
        FROM organizations LEFT JOIN ({field}) AS field ON true
        WHERE organizations.id = :organization_id
    """


def select_last_id(_: Dialect) -> str:
    """Select the last assigned id of a field. There is no row if the role may not read it.

    No id was assigned yet if it is NULL.
    """
    return """
        SELECT coalesce(last_value, 0) FROM pg_sequences
        WHERE to_regclass(quote_ident(schemaname) || '.' || quote_ident(sequencename))
            = 'recipient_fields_id_seq'::regclass
        AND has_sequence_privilege('recipient_fields_id_seq', 'USAGE, SELECT')
    """
