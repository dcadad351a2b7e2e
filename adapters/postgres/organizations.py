"""The organizations in PostgreSQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen
from psycopg import Connection

from recipient_fields.domain import (
    Organization,
    OrganizationId,
    epoch_milliseconds,
    parse_organization_name,
    whole_milliseconds,
)

from ..rows import Reading
from .columns import from_utc, storable_id
from .statements import Statement
from .transactions import Transactions

# Not by one alone: after a failover or a restore that lost some, they must not be given again.
NEXT_REVISION = "greatest(revision + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
"""The revision that a change of the catalog moves to."""

_MOVE_REVISION = (
    f"UPDATE organizations SET revision = {NEXT_REVISION} WHERE id = %(organization_id)s"
)
MOVE_REVISION = f"WITH catalog AS ({_MOVE_REVISION})"
"""Goes before a statement that changes one of the organization's fields."""

_COLUMNS = "id, name, created_at AT TIME ZONE 'UTC'"
_SELECT_ALL = f"SELECT {_COLUMNS} FROM organizations ORDER BY id"
_INSERT = f"""
    INSERT INTO organizations (name, revision, created_at) VALUES (%s, %s, %s) RETURNING {_COLUMNS}
"""


@frozen
class PostgresOrganizationRepository:
    """See OrganizationRepository."""

    _database: Transactions

    def all(self) -> tuple[Organization, ...]:
        """See OrganizationRepository."""
        rows = self._database.read(lambda c: c.execute(_SELECT_ALL).fetchall())
        return tuple(_organization(row) for row in rows)

    def add(self, name: str, created_at: datetime, /) -> Organization:
        """See OrganizationRepository."""
        revision = epoch_milliseconds(created_at)  # which is Organization.first_revision
        values = (parse_organization_name(name), revision, whole_milliseconds(created_at))
        [row] = self._database.write(lambda c: c.execute(_INSERT, values).fetchall())
        return _organization(row)


def lock_catalog(organization_id: OrganizationId) -> str:
    """The statement that keeps the organization's catalog from others until its transaction ends.

    Whatever changes a field begins with this. So what it has read still holds when it writes, and
    two of them never wait for each other in a circle.
    """
    identifier = storable_id(organization_id)
    return f"SELECT FROM organizations WHERE id = {identifier:d} FOR NO KEY UPDATE"


LOCK_CATALOG = Statement(
    "SELECT FROM organizations WHERE id = %(organization_id)s::bigint FOR NO KEY UPDATE"
)


def move_revision(connection: Connection[Any], organization_id: OrganizationId) -> None:
    """Note that the organization's catalog changes."""
    connection.execute(_MOVE_REVISION, {"organization_id": organization_id})


def _organization(row: tuple[Any, ...]) -> Organization:
    organization_id, name, created_at = row
    with Reading("organizations", organization_id):
        return Organization(
            id=OrganizationId(organization_id), name=name, created_at=from_utc(created_at)
        )
