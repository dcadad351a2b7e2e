"""The fields in a database."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.application import (
    CatalogPlanner,
    FieldRepository,
    PublishedCatalog,
)
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    SortKey,
)

from ..row_mapping import read_field
from .catalogs import LockedCatalog, find_field, read_catalog
from .database import Connection, Database, Values, lock_catalog, storable_id
from .statements import Statement


@frozen
class RelationalFieldRepository(FieldRepository):
    """The fields of all organizations in one database."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        return self._database.read(lambda c: read_catalog(c, organization_id))

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        # Imported here because only services publish catalogs, and it takes all documents.
        from recipient_fields.application import published

        return published(self.all(organization_id))

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        statement, values = SelectPage.of(query), query_values(organization_id, query)
        rows = self._database.read(lambda c: c.all(statement, values))
        if not rows:
            raise OrganizationNotFound
        revision, total = rows[0][:2]
        fields = [read_field(row[2:]) for row in rows if row[2] is not None]
        return query.page(organization_id, revision, fields, total)

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        field = self._database.read(lambda c: find_field(c, organization_id, reference))
        if field is None:
            raise FieldNotFound
        return field

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        def change(connection: Connection) -> CatalogChanges[RecipientField]:
            return LockedCatalog(connection, organization_id).change(plan, author=author, at=at)

        return self._database.write(change, lock=lock_catalog(organization_id), pipelined=True)


@frozen
class SelectPage(Statement):
    """Select the revision of the catalog, the number of matches, and the fields on a page.

    One more field is selected if another page follows. If the page is empty, there is one row,
    whose other columns are NULL. One statement, so that all are of one snapshot.
    """

    _filters: tuple[str, ...]
    """The filters that the query uses."""
    _sort: SortKey
    _descending: bool
    _has_position: bool
    _has_limit: bool

    @classmethod
    def of(cls, query: FieldQuery) -> SelectPage:
        """Return the statement for the query. Queries with the same filters share one."""
        return cls(
            tuple(name for name in _CONDITIONS if getattr(query, name) is not None),
            query.sort,
            query.descending,
            query.after is not None,
            query.limit is not None,
        )

    @property
    def template(self) -> str:
        """The statement."""
        conditions = (_CONDITIONS[name] for name in self._filters)
        matching = " AND ".join(["organization_id = :organization_id", *conditions])
        column, operator = self._sort.value, "<" if self._descending else ">"
        position = f"""
            AND ({column} {operator} :after_value OR ({column} = :after_value AND id > :after_id))
        """
        order = f"{column} {'DESC' if self._descending else 'ASC'}"
        return f"""
            SELECT revision, (SELECT count(*) FROM recipient_fields WHERE {matching}), page.*
            FROM organizations LEFT JOIN (
                SELECT {{field_columns()}} FROM recipient_fields AS field
                WHERE {matching} {position if self._has_position else ""}
                ORDER BY field.{order}, field.id {"LIMIT :row_limit" if self._has_limit else ""}
            ) AS page ON true
            WHERE organizations.id = :organization_id ORDER BY page.{order}, page.id
        """


_CONDITIONS = {
    "sources": "{any(source, :sources)}",
    "data_types": "{any(data_type, :data_types)}",
    "keys": "{any(key, :keys)}",
    "integration_ids": "{any(integration_id, :integration_ids)}",
    "insertable": "insertable = :insertable",
    "text": """(
        {contains({folded(name)}, :text)} OR {contains(key, :text)}
        OR {contains({folded(esp_field_name)}, :text)}
    )""",
}
"""The condition of each filter of a query."""


def query_values(organization_id: OrganizationId, query: FieldQuery) -> Values:
    """Return the values of the statements for a query."""
    after = query.after
    return {
        "organization_id": storable_id(organization_id),
        "sources": [source.value for source in query.sources or ()],
        "data_types": [data_type.value for data_type in query.data_types or ()],
        "keys": list(query.keys or ()),
        "integration_ids": list(query.integration_ids or ()),
        "insertable": query.insertable,
        "text": query.folded_text,
        "row_limit": None if query.limit is None else query.limit + 1,
        "after_value": None if after is None else after.value,
        "after_id": None if after is None else after.id,
    }
