"""The integrations in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.application import IntegrationCheck, IntegrationRepository, SyncPlanner
from recipient_fields.domain import (
    Author,
    CatalogChanges,
    IntegrationId,
    OrganizationId,
    RecipientField,
    epoch_milliseconds,
    from_epoch_milliseconds,
)
from recipient_fields.domain.esp import (
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    SyncPlan,
)

from ..row_mapping import RowMapping, stored_integration
from .columns import optional_instant, optional_milliseconds, storable_id
from .database import Database
from .fields import apply_changes, select_fields
from .organizations import require_organization

COLUMNS = "id, organization_id, esp, name, created_at, last_synced_at"
_SELECT_ALL = f"SELECT {COLUMNS} FROM integrations WHERE organization_id = ? ORDER BY id"
_SELECT_BY_ID = f"SELECT {COLUMNS} FROM integrations WHERE id = ? AND organization_id = ?"
_COUNT_FIELDS = """
    SELECT integration_id, count(*) FROM recipient_fields
    WHERE organization_id = ? AND integration_id IS NOT NULL GROUP BY integration_id
"""
_INSERT = """
    INSERT INTO integrations (organization_id, esp, name, created_at)
    VALUES (?, ?, ?, ?) RETURNING id
"""
_RENAME = "UPDATE integrations SET name = ? WHERE id = ?"
_RECORD_SYNC = "UPDATE integrations SET last_synced_at = ? WHERE id = ?"
_DELETE = "DELETE FROM integrations WHERE id = ?"


@frozen
class SqliteIntegrationRepository(IntegrationRepository):
    """The integrations in a SQLite file."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        with self._database.reading() as connection:
            require_organization(connection, organization_id)
            rows = connection.execute(_SELECT_ALL, (organization_id,))
            return tuple(read_integration(row) for row in rows)

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        with self._database.reading() as connection:
            require_organization(connection, organization_id)
            rows = connection.execute(_COUNT_FIELDS, (organization_id,))
            return {IntegrationId(integration_id): fields for integration_id, fields in rows}

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        with self._database.reading() as connection:
            return _get(connection, organization_id, integration_id)

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        with self._database.writing() as connection:
            require_organization(connection, organization_id)
            created_at = epoch_milliseconds(draft.created_at)
            values = (organization_id, draft.esp.value, draft.name, created_at)
            (integration_id,) = connection.execute(_INSERT, values).fetchone()
            return draft.with_id(IntegrationId(integration_id), organization_id)

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        with self._database.writing() as connection:
            renamed = _get(connection, organization_id, integration_id).renamed(name)
            connection.execute(_RENAME, (renamed.name, renamed.id))
            return renamed

    def delete(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        check: IntegrationCheck,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> tuple[RecipientField, ...]:
        with self._database.writing() as connection:
            integration = _get(connection, organization_id, integration_id)
            fields = integration.filter_fields(select_fields(connection, organization_id))
            check(fields)
            changes = CatalogChanges(deleted=fields)
            apply_changes(connection, organization_id, changes, author=author, at=at)
            connection.execute(_DELETE, (integration.id,))
            return fields

    def sync(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: SyncPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> SyncPlan:
        with self._database.writing() as connection:
            integration = _get(connection, organization_id, integration_id)
            plan = planner(integration, select_fields(connection, organization_id))
            apply_changes(connection, organization_id, plan.changes, author=author, at=at)
            synced_at = optional_milliseconds(plan.integration.last_synced_at)
            connection.execute(_RECORD_SYNC, (synced_at, integration.id))
            return plan


def _get(
    connection: sqlite3.Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> Integration:
    ids = (storable_id(integration_id), storable_id(organization_id))
    row = connection.execute(_SELECT_BY_ID, ids).fetchone()
    if row is None:
        raise IntegrationNotFound
    return read_integration(row)


def read_integration(row: tuple[Any, ...]) -> Integration:
    """Return the integration of a row of COLUMNS."""
    *plain, created_at, last_synced_at = row
    with RowMapping("integrations", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            optional_instant(last_synced_at),
        )
    return stored_integration(*values)
