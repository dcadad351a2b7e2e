"""The organizations in DuckDB, and the revisions of their catalogs."""

from __future__ import annotations

from datetime import datetime
from time import time_ns

from attrs import frozen

from recipient_fields.domain import (
    Organization,
    OrganizationId,
    OrganizationNotFound,
    epoch_milliseconds,
)

from .database import Connection, Database, insert, instant, next_id


@frozen
class DuckdbOrganizationRepository:
    """See OrganizationRepository."""

    _database: Database

    def all(self) -> tuple[Organization, ...]:
        with self._database.reading() as connection:
            rows = connection.execute("SELECT id, name, created_at FROM organizations ORDER BY id")
            return tuple(
                Organization(id=row[0], name=row[1], created_at=instant(row[2]))
                for row in rows.fetchall()
            )

    def add(self, name: str, created_at: datetime, /) -> Organization:
        with self._database.writing() as connection:
            organization = Organization(
                id=OrganizationId(next_id(connection, "organization_ids")),
                name=name,
                created_at=created_at,
            )
            row = {
                "id": organization.id,
                "name": organization.name,
                "created_at": epoch_milliseconds(organization.created_at),
                "revision": organization.first_revision,
            }
            insert(connection, "organizations", row)
            return organization


def current_revision(connection: Connection, organization_id: OrganizationId) -> int:
    """The revision of the organization's catalog; OrganizationNotFound where there is none."""
    row = connection.execute(
        "SELECT revision FROM organizations WHERE id = ?", [organization_id]
    ).fetchone()
    if row is None:
        raise OrganizationNotFound
    return int(row[0])


def move_revision(connection: Connection, organization_id: OrganizationId) -> None:
    """Note that the organization's catalog changes.

    To the present, not by one alone: what a restored backup has lost must not be given again.
    """
    connection.execute(
        "UPDATE organizations SET revision = greatest(revision + 1, ?) WHERE id = ?",
        [time_ns() // 1_000_000, organization_id],
    )
