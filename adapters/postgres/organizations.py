"""The counters of organizations, of which only PostgreSQL has that of API-managed fields."""

from __future__ import annotations

from ..relational.dialect import Dialect
from ..relational.organizations import organization_columns


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
