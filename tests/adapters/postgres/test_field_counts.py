"""The counter of API-managed fields beside processes of older versions, and its cost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresConnectionStorage, PostgresStorage
from recipient_fields.adapters.postgres.dialect import PostgresConnection
from recipient_fields.adapters.postgres.fields import try_creation
from recipient_fields.adapters.relational.changes import PlannedChanges
from recipient_fields.application import copy_storage
from recipient_fields.domain import (
    CatalogChanges,
    FieldKey,
    FieldLimitReached,
    KeyTaken,
    OrganizationId,
)
from recipient_fields.testing.examples import AUTHOR, LATER, NOW, a_definition, permit
from recipient_fields.testing.field_changes import add_field, delete_field

from ...support.waiting import eventually
from .databases import waiting
from .field_counts import require_exact_counters

LIMIT = 20

LOCK = "SELECT FROM organizations WHERE id = %(organization_id)s FOR NO KEY UPDATE"
ADVANCE = """
    WITH catalog AS (
        UPDATE organizations
        SET revision = revision + 1, last_sequence = last_sequence + 1, last_change_at = now()
        WHERE id = %(organization_id)s
    )
"""
ADD = f"""
    {ADVANCE} INSERT INTO recipient_fields (organization_id, name, folded_name, key, data_type,
        insertable, source, created_at, updated_at, version)
    SELECT %(organization_id)s, 'City', 'city', %(key)s, 'text', true, 'api', now(), now(), 1
    WHERE %(limit)s > (
        SELECT count(*) FROM recipient_fields
        WHERE organization_id = %(organization_id)s AND source = 'api'
    )
"""
DELETE = f"""
    {ADVANCE} DELETE FROM recipient_fields
    WHERE organization_id = %(organization_id)s AND key = %(key)s
"""


class OlderVersion:
    """A version of this package without the counter."""

    def __init__(self, url: str, organization_id: OrganizationId) -> None:
        self._url = url
        self._organization_id = organization_id

    def add(self, key: str) -> bool:
        """Add a field unless the limit is reached, and return whether it was added."""
        return self._changed(ADD, key) == 1

    def delete(self, key: str) -> None:
        assert self._changed(DELETE, key) == 1

    @contextmanager
    def adding(self, key: str) -> Iterator[None]:
        """Add a field in a transaction that commits at the end of the block."""
        with self._changing(ADD, key):
            yield

    def _changed(self, statement: str, key: str) -> int:
        with self._changing(statement, key) as count:
            return count

    @contextmanager
    def _changing(self, statement: str, key: str) -> Iterator[int]:
        values = {"organization_id": self._organization_id, "key": key, "limit": LIMIT}
        with psycopg.connect(self._url) as connection:
            connection.execute(LOCK, values)
            yield connection.execute(statement, values).rowcount


class ThisVersion:
    """The version with the counter."""

    def __init__(self, storage: PostgresStorage, organization_id: OrganizationId) -> None:
        self._fields = storage.fields
        self._organization_id = organization_id

    def add(self, key: str) -> bool:
        definition = a_definition(key)
        try:
            add_field(self._fields, self._organization_id, definition, limit=LIMIT, author=AUTHOR)
        except FieldLimitReached:
            return False
        return True

    def delete(self, key: str) -> None:
        ours = self._organization_id
        delete_field(self._fields, ours, FieldKey(key), permit, author=AUTHOR, at=LATER)


@pytest.fixture
def older(database: str, ours: OrganizationId) -> OlderVersion:
    return OlderVersion(database, ours)


@pytest.fixture
def this(storage: PostgresStorage, ours: OrganizationId) -> ThisVersion:
    return ThisVersion(storage, ours)


def test_changes_by_an_older_version_are_counted(database, older, this):
    assert this.add("city")
    for number in range(1, LIMIT):
        assert older.add(f"city_{number}")
    assert not this.add("town")
    older.delete("city")
    assert this.add("town")
    assert not this.add("village")
    require_exact_counters(database)


@pytest.mark.parametrize("left", [1, 2])
def test_a_creation_that_waits_for_an_older_version_counts_its_field(database, older, this, left):
    for number in range(LIMIT - left):
        assert this.add(f"city_{number}")
    with ThreadPoolExecutor() as threads:
        with older.adding("town"):
            added = threads.submit(this.add, "village")
            eventually(lambda: waiting(database))
        assert added.result() == (left == 2)
    this.delete("town")
    require_exact_counters(database)


def test_a_creation_that_waits_for_the_same_key_names_the_holder(database, ours, storage, older):
    with ThreadPoolExecutor() as threads:
        with older.adding("town"):
            definition = a_definition("town")
            added = threads.submit(add_field, storage.fields, ours, definition, author=AUTHOR)
            eventually(lambda: waiting(database))
        with pytest.raises(KeyTaken) as taken:
            added.result()
    assert taken.value.existing_id == storage.fields.get(ours, FieldKey("town")).id


@pytest.mark.slow
def test_the_limit_is_exact_while_processes_of_two_versions_write(
    database, storage, ours, older, this
):
    def write(version: OlderVersion | ThisVersion, writer: int) -> None:
        """Add fields and delete every second one, until the limit is reached."""
        for number in range(3 * LIMIT):
            key = f"city_{writer}_{number}"
            if not version.add(key):
                return
            if number % 2:
                version.delete(key)
        raise AssertionError("the limit was not reached")

    with ThreadPoolExecutor(8) as threads:
        versions = (older, this) * 4
        for each in [threads.submit(write, *both) for both in zip(versions, range(8), strict=True)]:
            each.result()
    assert len(storage.fields.all(ours).fields) == LIMIT
    this.delete(storage.fields.all(ours).fields[0].key)
    require_exact_counters(database)


def test_a_copied_organization_is_counted_at_its_first_change(database, storage):
    source = MemoryStorage()
    organization = source.organizations.add("Copied", NOW)
    for number in range(LIMIT - 1):
        add_field(source.fields, organization.id, a_definition(f"city_{number}"), author=AUTHOR)
    copy_storage(source, storage)
    copied = ThisVersion(storage, organization.id)
    assert copied.add("town")
    assert not copied.add("village")
    require_exact_counters(database)


READ_ROWS = """
    SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
    WHERE relname = 'recipient_fields'
"""
"""The number of fields that the transaction has read."""


def test_a_creation_does_not_read_the_other_fields(database, storage, ours):
    changes = CatalogChanges.of(created=tuple(a_definition(f"city_{n}") for n in range(500)))
    storage.fields.change(ours, lambda _: changes, author=AUTHOR, at=NOW)
    with psycopg.connect(database) as connection, connection.transaction():
        fields = PostgresConnectionStorage(lambda: connection).fields
        town = PlannedChanges.of(CatalogChanges.of(created=(a_definition("town"),)), AUTHOR)
        assert try_creation(PostgresConnection(connection), ours, town, limit=502)
        add_field(fields, ours, a_definition("hamlet"), limit=502, author=AUTHOR)
        with pytest.raises(FieldLimitReached):
            add_field(fields, ours, a_definition("village"), limit=502, author=AUTHOR)
        assert connection.execute(READ_ROWS).fetchall() == [(0,)]
