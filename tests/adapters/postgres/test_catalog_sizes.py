"""The sizes of catalogs that older versions stored, or change beside this one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.application import copy_storage
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    AllowedValues,
    CatalogTooLarge,
    DataType,
    FieldKey,
)
from recipient_fields.testing.catalog_sizes import size_in_plan, size_with
from recipient_fields.testing.catalog_views import look
from recipient_fields.testing.examples import (
    AUTHOR,
    LATER,
    NOW,
    a_definition,
    a_grant,
    permit,
    renaming,
)
from recipient_fields.testing.field_changes import add_field, delete_field, update_field

from ...support.postgres import execute
from ...support.upgrading import undo_statements
from .field_counts import require_exact_counters

VALUES = AllowedValues(DataType.TEXT, ['"', "ä" * 200, "😀", "b"])
# An older version writes white space between the values, and does not know the sizes.
OLDER_UPDATE = """
    UPDATE recipient_fields
    SET name = 'Another', folded_name = 'another', allowed_values = '["ä", "b"]', version = 9;
    UPDATE organizations SET revision = revision + 1
"""


def stored_size(database: str) -> list[tuple[object, ...]]:
    return execute(
        database, "SELECT fields_size, measured_revision = revision FROM organizations ORDER BY id"
    )


def test_a_migration_measures_the_catalogs(database, storage, ours):
    key = storage.api_keys.add(a_grant(ours))
    for number in range(150):  # more than are read at once
        definition = a_definition(f"city_{number}", allowed_values=VALUES)
        add_field(storage.fields, ours, definition, author=AUTHOR)
    empty = storage.organizations.add("Empty", NOW)
    size = storage.fields.all(ours).size
    before = stored_size(database)
    execute(database, undo_statements()["0011_catalog_size"])
    assert migrate(database) == 1
    assert stored_size(database) == before
    found = storage.api_keys.find(key.digest)
    assert found is not None
    assert found.catalog_size == size
    assert size_in_plan(storage.fields, empty.id) == 0


def test_a_migration_blocks_no_writer_and_completes_when_repeated(database, storage, ours):
    add_field(storage.fields, ours, a_definition("city"), author=AUTHOR)
    theirs = storage.organizations.add("Theirs", NOW).id
    before = stored_size(database)
    execute(database, "UPDATE organizations SET fields_size = NULL, measured_revision = NULL")
    with ThreadPoolExecutor(1) as threads, psycopg.connect(database) as writer:
        writer.execute("SELECT FROM organizations WHERE id = %s FOR NO KEY UPDATE", (ours,))
        migrated = threads.submit(migrate, database)
        add_field(storage.fields, theirs, a_definition("town"), author=AUTHOR)
        assert not migrated.done()
        writer.rollback()
        assert migrated.result() == 0
    assert stored_size(database)[0] == before[0]
    require_exact_counters(database)


def test_changes_by_an_older_version_are_measured_at_the_next_change(database, storage, ours):
    add_field(storage.fields, ours, a_definition("city"), author=AUTHOR)
    execute(database, OLDER_UPDATE)
    assert stored_size(database)[0][1] is False
    limit = size_with(storage.fields, ours, a_definition("town"))
    execute(database, OLDER_UPDATE.replace("'Another'", "'Other'"))  # two bytes less
    with pytest.raises(CatalogTooLarge):
        add_field(storage.fields, ours, a_definition("town"), size_limit=limit - 3, author=AUTHOR)
    add_field(storage.fields, ours, a_definition("town"), size_limit=limit - 2, author=AUTHOR)
    assert stored_size(database)[0][1] is True
    assert storage.fields.all(ours).size == limit - 2
    execute(database, "UPDATE recipient_fields SET allowed_values = NULL")  # for the next check
    execute(database, "UPDATE organizations SET revision = revision + 1")
    update_field(storage.fields, ours, FieldKey("town"), renaming("Town"), author=AUTHOR)
    delete_field(storage.fields, ours, FieldKey("town"), permit, author=AUTHOR, at=LATER)
    sizes = [each.size for each in storage.fields.all(ours).fields]
    assert size_in_plan(storage.fields, ours) == sum(sizes)
    require_exact_counters(database)


def test_a_copied_catalog_is_measured(database, storage):
    source = MemoryStorage()
    organization = source.organizations.add("Copied", NOW)
    large = AllowedValues(DataType.TEXT, [f"{number:04}{'x' * 250}" for number in range(1_000)])
    definition = a_definition(allowed_values=large)
    add_field(source.fields, organization.id, definition, author=AUTHOR)
    key = source.api_keys.add(a_grant(organization.id))
    copy_storage(source, storage)
    found = storage.api_keys.find(key.digest)
    assert found is not None
    assert found.catalog_size == source.fields.all(organization.id).size


def test_a_role_that_can_not_read_the_sequence_counts_the_greatest_id(database, role_of_rows):
    with closing(PostgresStorage(role_of_rows)) as restricted:
        fields, ours = restricted.fields, restricted.organizations.add("Ours", NOW).id
        assert look(fields, ours, lambda view: view.next_id()) == MAX_SAFE_INTEGER
        limit = size_with(fields, ours, a_definition())
        with pytest.raises(CatalogTooLarge):
            add_field(fields, ours, a_definition(), size_limit=limit - 1, author=AUTHOR)
        field = add_field(fields, ours, a_definition(), size_limit=limit, author=AUTHOR)
        assert fields.all(ours).size == limit - 16 + len(str(field.id))
        require_exact_counters(database)
