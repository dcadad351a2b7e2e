"""The counters of organizations, of which only PostgreSQL has that of API-managed fields."""

from __future__ import annotations

from recipient_fields.domain import OrganizationId

from ..relational.columns import storable_id
from ..relational.database import Connection
from ..relational.dialect import Dialect
from ..relational.organizations import organization_columns
from .change_statements import next_if_current, next_revision


def advance_revision(connection: Connection, organization_id: OrganizationId) -> None:
    """Increase the revision of the locked catalog, whose fields do not change."""
    connection.execute(increase_revision, {"organization_id": storable_id(organization_id)})


def increase_revision(_: Dialect) -> str:
    """Increase the revision of a catalog. Its counters stay current."""
    return f"""
        UPDATE organizations SET
            revision = {next_revision()},
            counted_revision = {next_if_current("counted_revision")},
            measured_revision = {next_if_current("measured_revision")}
        WHERE id = :organization_id
    """


def insert_counted_organization(sql: Dialect) -> str:
    """Insert an organization with an empty catalog and its counters, and return its row."""
    return f"""
        INSERT INTO organizations (
            name, revision, created_at,
            api_field_count, counted_revision, fields_size, measured_revision
        )
        VALUES (:name, :revision, :created_at, 0, :revision, 0, :revision)
        RETURNING {organization_columns(sql)}
    """
