"""The statements of `docs/operating/upgrading.md` that change the schema back."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipient_fields.adapters.postgres import migrate

from ...support.postgres import execute
from ...support.upgrading import undo_statements

ROOT = Path(__file__).parents[3]
LATER = {
    file.stem: file.read_text("utf-8")
    for file in sorted((ROOT / "adapters/postgres/migrations").glob("*.sql"))[1:]
}
"""The migrations after the first one: names and statements."""

SHAPE = """
    SELECT table_name, column_name, data_type, is_nullable, column_default
    FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL
    SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', ''
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    ORDER BY 1, 2, 3
"""
"""The columns, the indexes and the constraints of the tables."""

APPLIED = "SELECT name FROM schema_migrations ORDER BY name"


def test_the_page_undoes_every_migration_except_the_first_newest_first() -> None:
    assert list(undo_statements()) == [*reversed(LATER)]


@pytest.mark.parametrize("migration", LATER)
def test_the_statements_restore_the_schema_before_a_migration(empty_database, migration):
    migrate(empty_database)
    current = execute(empty_database, SHAPE)
    for name, statements in undo_statements().items():
        if name > migration:
            execute(empty_database, statements)
    after = execute(empty_database, SHAPE)
    execute(empty_database, undo_statements()[migration])
    before = execute(empty_database, SHAPE)

    assert execute(empty_database, APPLIED)[-1] < (migration,)
    execute(empty_database, LATER[migration])
    assert execute(empty_database, SHAPE) == after != before
    execute(empty_database, undo_statements()[migration])
    assert execute(empty_database, SHAPE) == before
    migrate(empty_database)
    assert execute(empty_database, SHAPE) == current
