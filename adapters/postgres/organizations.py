"""The counters of organizations, which only PostgreSQL has."""

from __future__ import annotations

from ..relational.dialect import Dialect
from ..relational.organizations import organization_columns


def insert_counted_organization(sql: Dialect) -> str:
    """Insert an organization with an empty catalog and its counter, and return its row."""
    return f"""
        INSERT INTO organizations (name, revision, created_at, api_field_count, counted_revision)
        VALUES (:name, :revision, :created_at, 0, :revision)
        RETURNING {organization_columns(sql)}
    """
