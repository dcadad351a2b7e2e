"""The organizations in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from time import time_ns

from attrs import frozen

from recipient_fields.domain import (
    Organization,
    OrganizationId,
    OrganizationNotFound,
    epoch_milliseconds,
    from_epoch_milliseconds,
    parse_organization_name,
)

from ..rows import Reading
from .columns import storable_id
from .database import Database


@frozen
class SqliteOrganizationRepository:
    """See OrganizationRepository."""

    _database: Database

    def all(self) -> tuple[Organization, ...]:
        """See OrganizationRepository."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT id, name, created_at FROM organizations ORDER BY id")
            return tuple(_organization(row) for row in rows)

    def add(self, name: str, created_at: datetime, /) -> Organization:
        """See OrganizationRepository."""
        with self._database.writing() as connection:
            at = epoch_milliseconds(created_at)  # which is also Organization.first_revision
            row = connection.execute(
                "INSERT INTO organizations (name, revision, created_at) VALUES (?, ?, ?)"
                " RETURNING id, name, created_at",
                (parse_organization_name(name), at, at),
            ).fetchone()
            return _organization(row)


def catalog_revision(connection: sqlite3.Connection, organization_id: OrganizationId) -> int:
    """The revision of the organization's catalog; OrganizationNotFound where there is none."""
    row = connection.execute(
        "SELECT revision FROM organizations WHERE id = ?", (storable_id(organization_id),)
    ).fetchone()
    if row is None:
        raise OrganizationNotFound
    revision: int = row[0]
    return revision


def move_revision(connection: sqlite3.Connection, organization_id: OrganizationId) -> None:
    """Note that the organization's catalog changes.

    Not by one alone: after a restore that lost revisions, they must not be given again.
    """
    connection.execute(
        "UPDATE organizations SET revision = max(revision + 1, ?) WHERE id = ?",
        (time_ns() // 1_000_000, organization_id),
    )


def _organization(row: tuple[int, str, int]) -> Organization:
    organization_id, name, created_at = row
    with Reading("organizations", organization_id):
        return Organization(
            id=OrganizationId(organization_id),
            name=name,
            created_at=from_epoch_milliseconds(created_at),
        )
