"""Store organizations and the revisions of their catalogs in DuckDB."""

from __future__ import annotations

from datetime import datetime
from time import time_ns
from typing import Any

from attrs import frozen

from recipient_fields.application import OrganizationCheck
from recipient_fields.domain import (
    Organization,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    epoch_milliseconds,
    from_epoch_milliseconds,
    parse_organization_name,
)

from .database import Connection, Database, insert, instant, next_id, update

_SELECT = "SELECT id, name, created_at FROM organizations"
_ADVANCE = """
    UPDATE organizations SET
        revision = greatest(revision + 1, $now),
        fields_size = fields_size + $added_size,
        last_sequence = last_sequence + $records,
        last_change_at = greatest($at, last_change_at + 1)
    WHERE id = $id RETURNING last_sequence, last_change_at
"""


@frozen
class DuckdbOrganizationRepository:
    """The OrganizationRepository of DuckDB."""

    _database: Database

    def all(self) -> tuple[Organization, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(f"{_SELECT} ORDER BY id").fetchall()
            return tuple(map(_organization, rows))

    def get(self, organization_id: OrganizationId, /) -> Organization:
        with self._database.reading() as connection:
            return _get(connection, organization_id)

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

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        change = {"name": parse_organization_name(name)}
        with self._database.writing() as connection:
            _get(connection, organization_id)
            update(connection, "organizations", organization_id, change)
            return _get(connection, organization_id)

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        with self._database.writing() as connection:
            _get(connection, organization_id)
            deleted = OrganizationContents(
                fields=_delete_from(connection, "recipient_fields", organization_id),
                api_keys=_delete_from(connection, "api_keys", organization_id),
                integrations=_delete_from(connection, "integrations", organization_id),
                administrators=_delete_from(
                    connection, "administrator_memberships", organization_id
                ),
            )
            check(deleted)
            _delete_from(connection, "recipient_field_changes", organization_id)
            _delete_from(connection, "esp_connections", organization_id)
            _delete_from(connection, "administrator_invitations", organization_id)
            delete_administrators(connection)
            connection.execute("DELETE FROM organizations WHERE id = ?", [organization_id])
            return deleted


def current_revision(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the revision of the organization's catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    row = connection.execute(
        "SELECT revision FROM organizations WHERE id = ?", [organization_id]
    ).fetchone()
    if row is None:
        raise OrganizationNotFound
    return int(row[0])


def fields_size(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the sum of the sizes of the organization's fields.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    row = connection.execute(
        "SELECT fields_size FROM organizations WHERE id = ?", [organization_id]
    ).fetchone()
    if row is None:
        raise OrganizationNotFound
    return int(row[0])


def advance_catalog(
    connection: Connection,
    organization_id: OrganizationId,
    *,
    records: int,
    added_size: int,
    at: datetime,
) -> tuple[int, datetime]:
    """Increase the revision, the sequence of records, and the size of an organization's catalog.

    The new revision is at least the current time in milliseconds, so that a restored backup
    does not reuse revisions. Return the sequence of the last record, and the time of all records.
    """
    values = {
        "id": organization_id,
        "now": time_ns() // 1_000_000,
        "records": records,
        "added_size": added_size,
        "at": epoch_milliseconds(at),
    }
    advanced = connection.execute(_ADVANCE, values).fetchone()
    last_sequence, occurred_at = advanced or (0, 0)
    return int(last_sequence), from_epoch_milliseconds(occurred_at)


def advance_revision(connection: Connection, organization_id: OrganizationId) -> None:
    """Increase the revision of an organization's catalog, whose fields do not change."""
    connection.execute(
        "UPDATE organizations SET revision = greatest(revision + 1, ?) WHERE id = ?",
        [time_ns() // 1_000_000, organization_id],
    )


def delete_administrators(connection: Connection) -> None:
    """Delete the accounts without a membership, with their sessions and links."""
    members = "SELECT administrator_id FROM administrator_memberships"
    for table in ("administrator_sessions", "administrator_links"):
        connection.execute(f"DELETE FROM {table} WHERE administrator_id NOT IN ({members})")
    connection.execute(f"DELETE FROM administrators WHERE id NOT IN ({members})")


def _get(connection: Connection, organization_id: OrganizationId) -> Organization:
    row = connection.execute(f"{_SELECT} WHERE id = ?", [organization_id]).fetchone()
    if row is None:
        raise OrganizationNotFound
    return _organization(row)


def _delete_from(connection: Connection, table: str, organization_id: OrganizationId) -> int:
    """Delete the organization's rows of this table, and return their number."""
    ours = f"DELETE FROM {table} WHERE organization_id = ?"
    (deleted,) = connection.execute(ours, [organization_id]).fetchone() or (0,)
    return int(deleted)


def _organization(row: tuple[Any, ...]) -> Organization:
    return Organization(id=row[0], name=row[1], created_at=instant(row[2]))
