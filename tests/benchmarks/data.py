"""Organizations with keys and fields. SQL creates them, because there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Any

import psutil
import psycopg
from attrs import frozen

from recipient_fields.domain import Access, OrganizationId, PlainKey, grant_key

FIRST_KEY = "field_1"
"""The key of the first field of a organization, which the API manages."""

_PAUSE = 0.015
"""Seconds between two changes of a field."""
_ORGANIZATIONS_PER_STATEMENT = 10_000
"""The organizations whose fields one statement inserts, because it sorts them in memory."""

_ADD_ORGANIZATIONS = """
    INSERT INTO organizations (name, revision, created_at)
    SELECT 'Organization ' || n, 1, date_trunc('second', now()) FROM generate_series(1, %s) AS n
    RETURNING id
"""
_ADD_KEY = """
    INSERT INTO api_keys (organization_id, name, access, digest, display, created_at, last_used_at)
    VALUES (%s, %s, %s, %s, %s, %s, now())
"""
_ADD_UNKNOWN_KEYS = """
    INSERT INTO api_keys (organization_id, name, access, digest, display, created_at)
    SELECT id, 'Unknown', 'read_only', sha256(convert_to(id::text, 'UTF8')), 'rfk_…', now()
    FROM unnest(%s::bigint[]) AS id
"""
_SPREAD = """
    SELECT min(id) FROM (SELECT id, ntile(%s) OVER (ORDER BY id) FROM organizations) AS tile
    GROUP BY ntile
"""
_ADD_FIELDS = """
    INSERT INTO recipient_fields (
        organization_id, name, folded_name, key, data_type, allowed_values, insertable, source,
        custom_insertion_code, custom_value_expression, created_at, updated_at, version
    )
    SELECT
        organization_id, 'Field ' || n, 'field ' || n, 'field_' || n,
        (ARRAY['text', 'number', 'boolean', 'date', 'datetime'])[1 + mod(n, 5)],
        CASE mod(n, 5) WHEN 0 THEN '["gold", "silver", "bronze"]'::json END,
        mod(n, 10) > 0, CASE mod(n, 4) WHEN 0 THEN 'manual' ELSE 'api' END,
        CASE mod(n, 3) WHEN 0 THEN '{{ contact.field_' || n || ' }}' END,
        CASE mod(n, 3) WHEN 0 THEN 'contact.field_' || n END,
        date_trunc('milliseconds', now()) - 2 * n * interval '61.007 s',
        date_trunc('milliseconds', now()) - n * interval '61.007 s', 1 + mod(n, 7)
    FROM unnest(%s::bigint[]) AS organization_id, generate_series(1, %s) AS n
    ORDER BY organization_id, n
"""
_REMOVE_CREATED = """
    WITH removed AS (
        DELETE FROM recipient_fields
        WHERE organization_id = ANY(%s) AND starts_with(key, 'created_') RETURNING organization_id
    )
    UPDATE organizations SET revision = revision + 1
    WHERE id IN (SELECT organization_id FROM removed)
"""
_COUNT = """
    UPDATE organizations SET counted_revision = revision, api_field_count = (
        SELECT count(*) FROM recipient_fields
        WHERE organization_id = organizations.id AND source = 'api'
    )
    WHERE id = ANY(%s)
"""
"""The statements above don't count the fields, so the next creation would, as after an upgrade."""
_CHANGE = """
    WITH changed AS (
        UPDATE recipient_fields
        SET version = version + 1, updated_at = date_trunc('milliseconds', clock_timestamp())
        WHERE organization_id = ANY(%(organizations)s) AND key = %(key)s RETURNING organization_id
    )
    UPDATE organizations SET revision = revision + 1
    FROM changed WHERE id = changed.organization_id
"""


@frozen
class Organization:
    """An organization, and its API key."""

    id: int
    key: str


@frozen
class Database:
    """The database of the service, accessed without the service."""

    url: str

    def add_organizations(self, count: int, *, fields: int) -> tuple[Organization, ...]:
        """Create organizations with fields of every data type, some of them with all members.

        `fields` is the number of fields per organization.
        """
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            ids = [row[0] for row in cursor.execute(_ADD_ORGANIZATIONS, [count])]
            organizations = _add_keys(cursor, ids)
            cursor.execute(_ADD_FIELDS, [ids, fields])
            cursor.execute(_COUNT, [ids])
        self.vacuum()
        return organizations

    def postmaster(self) -> psutil.Process:
        """Return the main process of the PostgreSQL server, which runs on this machine."""
        with psycopg.connect(self.url) as connection:
            parent = psutil.Process(connection.info.backend_pid).parent()
        assert parent is not None
        return parent

    def field_id(self, organization: Organization) -> int:
        """Return the id of the organization's first field."""
        select = "SELECT min(id) FROM recipient_fields WHERE organization_id = %s"
        with psycopg.connect(self.url) as connection:
            [(field_id,)] = connection.execute(select, [organization.id])
        return int(field_id)

    @contextmanager
    def changing(self, organizations: Sequence[Organization]) -> Iterator[None]:
        """During the block, change one field of each organization about 50 times per second."""
        values = {
            "organizations": [each.id for each in organizations],
            "key": FIRST_KEY,
        }
        done = Event()
        with psycopg.connect(self.url, autocommit=True) as connection:

            def change() -> None:
                while not done.wait(_PAUSE):
                    connection.execute(_CHANGE, values)

            connection.execute(_CHANGE, values)
            thread = Thread(target=change)
            thread.start()
            try:
                yield
            finally:
                done.set()
                thread.join()

    def add_crowd(self, organizations: int, *, fields: int) -> None:
        """Create organizations with fields and one API key each, which nobody knows.

        The schema can be that of the first migration.
        """
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            # The rows refer to each other. To check that would take as long as to insert them.
            cursor.execute("SET session_replication_role = replica")
            ids = [row[0] for row in cursor.execute(_ADD_ORGANIZATIONS, [organizations])]
            cursor.execute(_ADD_UNKNOWN_KEYS, [ids])
            for begin in range(0, organizations, _ORGANIZATIONS_PER_STATEMENT):
                part = ids[begin : begin + _ORGANIZATIONS_PER_STATEMENT]
                cursor.execute(_ADD_FIELDS, [part, fields])

    def add_keys(self, count: int) -> tuple[Organization, ...]:
        """Add an API key to each of `count` organizations, which are spread over all."""
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            ids = [row[0] for row in cursor.execute(_SPREAD, [count])]
            return _add_keys(cursor, ids)

    def size(self) -> int:
        """Return the size on disk in bytes."""
        with psycopg.connect(self.url) as connection:
            [(size,)] = connection.execute("SELECT pg_database_size(current_database())")
        return int(size)

    def history_record_size(self) -> int:
        """Return the mean size of a record of the history in bytes, including indexes."""
        select = """
            SELECT pg_total_relation_size('recipient_field_changes') / count(*)
            FROM recipient_field_changes
        """
        with psycopg.connect(self.url) as connection:
            [(size,)] = connection.execute(select)
        return int(size)

    def remove_created(self, organizations: Sequence[Organization]) -> None:
        """Delete the fields that requests have created for these organizations."""
        ids = [each.id for each in organizations]
        with psycopg.connect(self.url) as connection:
            connection.execute(_REMOVE_CREATED, [ids])
            connection.execute(_COUNT, [ids])

    def mark_keys_as_used(self) -> None:
        """Set the last use of all keys to now, so that the service does not record uses soon."""
        with psycopg.connect(self.url) as connection:
            connection.execute("UPDATE api_keys SET last_used_at = now()")

    def vacuum(self) -> None:
        """Run VACUUM and ANALYZE now, before autovacuum does."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")


def _add_keys(
    cursor: psycopg.Cursor[Any], organization_ids: Sequence[int]
) -> tuple[Organization, ...]:
    keys = [PlainKey.generate() for _ in organization_ids]
    cursor.executemany(_ADD_KEY, map(_key_row, organization_ids, keys))
    pairs = zip(organization_ids, keys, strict=True)
    return tuple(Organization(organization_id, key.reveal()) for organization_id, key in pairs)


def _key_row(organization_id: int, key: PlainKey) -> tuple[object, ...]:
    grant = grant_key(
        key,
        OrganizationId(organization_id),
        name="Benchmark",
        access=Access.READ_WRITE,
        lifetime=None,
        at=datetime.now(UTC),
    )
    return (
        grant.organization_id,
        grant.name,
        grant.access.value,
        grant.digest,
        grant.display,
        grant.created_at,
    )
