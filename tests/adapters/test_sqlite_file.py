"""The SQLite file and the connections to it."""

import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from threading import Thread, Timer

import pytest
from attrs import evolve

from recipient_fields.adapters.relational.database import lock_catalog
from recipient_fields.adapters.relational.history import RelationalHistoryRepository, remove_oldest
from recipient_fields.adapters.row_mapping import UnreadableRow, stored_field
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.adapters.sqlite.dialect import SqliteConnection
from recipient_fields.application import published_page
from recipient_fields.domain import (
    AdministratorId,
    FieldKey,
    HistoryQuery,
    IntegrationId,
    OrganizationId,
    RecipientField,
    StorageNotFound,
    StorageUnavailable,
    sync_channel,
)
from recipient_fields.testing import READS, WRITES, fill_for_calls, race
from recipient_fields.testing.catalog_sizes import size_in_plan
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition, renaming
from recipient_fields.testing.field_changes import add_field, update_field

from ..support.growth import count_calls

OURS = OrganizationId(1)
CITY = FieldKey("city")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Record every connection that is opened."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noting_connect(*arguments, **options) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noting_connect)
    return opened


@pytest.fixture
def storage(database: Path, connections: list[sqlite3.Connection]) -> Iterator[SqliteStorage]:
    """Open a storage with one organization and one record of each kind."""
    with closing(SqliteStorage(database)) as storage:
        fill_for_calls(storage)
        yield storage


def content(storage: SqliteStorage) -> tuple[object, ...]:
    return (
        storage.organizations.all(),
        storage.fields.all(OURS),
        storage.history.select(OURS, HistoryQuery()),
        storage.api_keys.all(OURS),
        storage.integrations.all(OURS),
        storage.administrators.all(OURS),
        storage.sessions.all(AdministratorId(1)),
    )


def is_closed(connection: sqlite3.Connection) -> bool:
    try:
        connection.total_changes  # noqa: B018
    except sqlite3.ProgrammingError:
        return True
    return False


def test_every_connection_has_the_required_pragmas(storage, connections):
    def change(field: RecipientField) -> RecipientField:
        storage.check()  # It needs another connection than the one that is changing the field.
        return field

    update_field(storage.fields, OURS, CITY, change, author=AUTHOR)
    assert len(connections) == 2
    for connection in connections:
        settings = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
        assert settings == {
            "journal_mode": "wal",
            "synchronous": 2,  # FULL
            "foreign_keys": 1,
            "busy_timeout": 2_000,
        }


def test_every_table_is_strict_and_never_reuses_an_id(storage, database):
    with closing(sqlite3.connect(database)) as connection:
        strict = {
            name: bool(strict)
            for _, name, _, _, _, strict in connection.execute("PRAGMA table_list")
            if not name.startswith("sqlite_")
        }
        schema = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type='table'"))
    with_ids = {
        *("organizations", "recipient_fields", "api_keys", "integrations", "administrators"),
        *("administrator_invitations", "administrator_sessions"),
    }
    assert strict == dict.fromkeys(schema.keys() - {"sqlite_sequence"}, True)
    assert with_ids == {
        name for name in strict if "id INTEGER PRIMARY KEY AUTOINCREMENT" in schema[name]
    }


def test_threads_that_end_leave_no_connections(storage, connections):
    for _ in range(50):
        thread = Thread(target=storage.check)
        thread.start()
        thread.join()
    assert len(connections) == 1


def test_closing_closes_every_connection(storage, connections):
    race(*[storage.check] * 8)
    storage.close()
    assert all(map(is_closed, connections))


def test_a_connection_that_is_in_use_is_closed_after_its_transaction(
    storage, database, connections
):
    def change(field: RecipientField) -> RecipientField:
        storage.close()
        return renaming("Town")(field)

    changed = update_field(storage.fields, OURS, CITY, change, author=AUTHOR)
    assert all(map(is_closed, connections))
    with closing(SqliteStorage(database)) as storage:
        assert storage.fields.get(OURS, CITY) == changed


def test_a_closed_storage_stays_unavailable(storage):
    storage.close()
    for call in (*READS.values(), *WRITES.values()):
        with pytest.raises(StorageUnavailable):
            call(storage)


@contextmanager
def full_disk(database: Path) -> Iterator[None]:
    """Fill the disk. An open reader prevents the removal of the write-ahead log."""
    soft, hard = getrlimit(RLIMIT_FSIZE)
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("SELECT 1 FROM organizations")
        setrlimit(RLIMIT_FSIZE, (0, hard))
        try:
            yield
        finally:
            setrlimit(RLIMIT_FSIZE, (soft, hard))


@contextmanager
def another_writer(database: Path) -> Iterator[None]:
    """Hold the write lock of another process."""
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield


def test_a_connection_that_failed_is_closed(storage, database, connections):
    (connection,) = connections
    with full_disk(database), pytest.raises(StorageUnavailable):
        storage.organizations.add("ACME", NOW)
    assert is_closed(connection)


@pytest.mark.parametrize("trouble", [full_disk, another_writer])
def test_reads_continue_while_writes_fail_and_writes_recover(storage, database, trouble):
    before = content(storage)
    with trouble(database):
        refusals = race(*(partial(call, storage) for call in WRITES.values()))
        assert {type(refusal) for refusal in refusals} == {StorageUnavailable}
        for call in READS.values():
            call(storage)
        assert content(storage) == before
    assert content(storage) == before
    for call in WRITES.values():
        call(storage)


def test_opening_waits_for_a_process_that_creates_the_file(database):
    connection = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
    with closing(connection) as another:
        another.execute("BEGIN IMMEDIATE")
        end = Timer(0.2, another.execute, ["ROLLBACK"])
        end.start()
        SqliteStorage(database).close()
        end.join()


def test_a_file_of_a_newer_version_is_rejected_and_not_changed(storage, database):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 1000")
        refusal = "The SQLite file belongs to a newer version of Recipient Fields. Upgrade first."
        for call in (partial(SqliteStorage, database), storage.check):
            with pytest.raises(StorageUnavailable, match=f"^{re.escape(refusal)}$"):
                call()
        assert connection.execute("PRAGMA user_version").fetchone() == (1000,)


def test_a_file_that_lost_its_version_is_not_treated_as_new(storage, database):
    before = content(storage)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 0")
    for call in (partial(SqliteStorage, database), storage.check):
        with pytest.raises(StorageUnavailable):
            call()
    assert content(storage) == before


WITHOUT_LETTERS = """
    DROP TABLE esp_connections;
    DROP INDEX recipient_fields_by_esp_name;
    ALTER TABLE recipient_fields DROP COLUMN esp_name_letters;
    PRAGMA user_version = 9;
"""
WITHOUT_SIZES = f"""
    {WITHOUT_LETTERS}
    ALTER TABLE organizations DROP COLUMN api_field_count;
    ALTER TABLE organizations DROP COLUMN counted_revision;
    ALTER TABLE integrations DROP COLUMN refused_names;
    ALTER TABLE integrations DROP COLUMN names;
    DROP TABLE recipient_field_values;
    ALTER TABLE recipient_field_changes DROP COLUMN bytes;
    ALTER TABLE organizations DROP COLUMN record_bytes;
    ALTER TABLE organizations DROP COLUMN shared_value_bytes;
    ALTER TABLE organizations DROP COLUMN inherited_bytes;
    ALTER TABLE organizations DROP COLUMN sized_sequence;
    ALTER TABLE organizations DROP COLUMN fields_size;
    ALTER TABLE organizations DROP COLUMN measured_revision;
    PRAGMA user_version = 5;
"""
"""Undoes the last migrations. The histories have no large values."""
WITHOUT_INVITATIONS = f"""
    {WITHOUT_SIZES}
    DROP TABLE administrator_invitations;
    PRAGMA user_version = 4;
"""


def test_roles_and_links_from_before_invitations_stay(storage, database):
    before = content(storage)
    storage.close()
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(WITHOUT_INVITATIONS)

    with closing(SqliteStorage(database)) as upgraded:
        assert content(upgraded) == before
        assert upgraded.administrators.invitations(OURS) == ()
        (dana,) = upgraded.administrators.all(OURS)
        assert dana.role_in(OURS) is not None


LATE = "1 << 62"
SPOILING: dict[str, list[str]] = {
    "organizations 1": ["name = ''", f"created_at = {LATE}"],
    "recipient_fields 1": [
        *("name = 'a' || char(10) || 'b'", "data_type = 'money'", f"created_at = -({LATE})"),
        *("allowed_values = '[\"Berlin'", "allowed_values = '{}'", "updated_at = 1 << 50"),
        "allowed_values = replace(hex(zeroblob(999)), '0', '[')",
    ],
    "recipient_field_changes (1, 1)": [
        *(f"occurred_at = {LATE}", "operation = 'renamed'", "operation = 'deleted'"),
        *("author = '{}'", "after = '{}'", "after = json_set(after, '$.name', '')"),
    ],
    "api_keys 1": ["name = ''", "access = 'all'", f"created_at = {LATE}", f"expires_at = {LATE}"],
    "integrations 1": [
        *("name = ''", "esp = 'Elsewhere'", f"created_at = {LATE}", f"last_synced_at = {LATE}"),
        *("refused_names = '1'", "names = '{'", "names = '[1]'"),
        *('names = \'{"city":{"name":"CITY"}}\'', 'names = \'{"1":{"custom":true}}\''),
    ],
    "administrators 1": ["email = ''", f"created_at = {LATE}"],
    "administrator_sessions 1": [f"created_at = {LATE}"],
}
"""What is changed in the row that the error names."""


@pytest.mark.parametrize(
    ("table", "change", "row"),
    [
        *((row.split()[0], change, row) for row in SPOILING for change in SPOILING[row]),
        ("administrator_memberships", "role = 'owner'", "administrators 1"),
    ],
)
def test_a_row_that_breaks_a_rule_is_not_reported_as_an_error_of_the_caller(
    storage, database, table, change, row
):
    spoil(database, table, change)
    with pytest.raises(UnreadableRow, match=f"^{re.escape(row)}$"):
        content(storage)


def spoil(database: Path, table: str, change: str) -> None:
    """Change rows in a way that the constraints of the table prevent."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(f"UPDATE {table} SET {change}")


@pytest.mark.parametrize("damage", ["access = 'all'", "revoked_at = 1 << 62"])
def test_a_damaged_key_is_not_reported_as_an_error_of_the_client(storage, database, damage):
    (key,) = storage.api_keys.all(OURS)
    spoil(database, "api_keys", damage)
    with pytest.raises(UnreadableRow, match=r"^api_keys 1$"):
        storage.api_keys.find(key.digest)


def test_a_file_that_is_not_a_database_is_rejected_not_changed_and_closed(database, connections):
    database.write_text("Not a database, whatever its name says. " * 100)
    before = database.read_bytes()
    with pytest.raises(StorageUnavailable):
        SqliteStorage(database)
    assert database.read_bytes() == before
    assert connections
    assert all(map(is_closed, connections))


@pytest.mark.parametrize("path", [".", "none/fields.db"], ids=["a folder", "in a missing folder"])
def test_a_path_at_which_no_file_can_be_is_rejected(tmp_path, path):
    with pytest.raises(StorageUnavailable):
        SqliteStorage(tmp_path / path)


def test_a_version_of_sqlite_without_strict_tables_is_rejected(database, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StorageUnavailable, match=r"too old"):
        SqliteStorage(database)
    assert not database.exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_removed_or_replaced_accepts_no_writes(database, storage, replaced):
    SqliteStorage(database.with_name("other.db")).close()
    if replaced:
        database.with_name("other.db").replace(database)
    else:
        database.unlink()
    for call in (*READS.values(), *WRITES.values()):
        with pytest.raises(StorageUnavailable, match="removed or replaced"):
            call(storage)
    assert database.exists() == replaced


def test_a_write_that_waits_while_the_file_is_removed_is_rejected(database, storage):
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as threads:
            written = threads.submit(
                add_field, storage.fields, OURS, a_definition("town"), author=AUTHOR
            )
            wait([written], timeout=0.3)
            database.unlink()
            other.execute("ROLLBACK")
            with pytest.raises(StorageUnavailable, match="removed or replaced"):
                written.result()


def test_a_closed_storage_reports_that_even_if_its_file_was_removed(database, storage):
    storage.close()
    database.unlink()
    with pytest.raises(StorageUnavailable, match="closed"):
        storage.fields.all(OURS)


def test_other_writers_continue_while_a_history_is_pruned(database, storage):
    for number in range(6):
        add_field(storage.fields, OURS, a_definition(f"field_{number}"), author=AUTHOR)
    last = storage.history.select(OURS, HistoryQuery(descending=True, limit=1)).records[0]
    remaining: list[int] = []

    def write() -> None:
        with closing(SqliteStorage(database)) as other:
            records = other.history.select(OURS, HistoryQuery()).records
            remaining.append(records[0].sequence)
            add_field(other.fields, OURS, a_definition(f"other_{len(remaining)}"), author=AUTHOR)

    assert isinstance(storage.history, RelationalHistoryRepository)
    pruned = evolve(storage.history, rows_per_removal=2, pause=write)
    assert pruned.prune(OURS, last.occurred_at) == last.sequence - 1
    assert remaining == list(range(3, last.sequence + 1, 2))
    assert storage.history.select(OURS, HistoryQuery()).records[0] == last


def test_a_relative_path_does_not_follow_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with closing(SqliteStorage(Path("fields.db"))) as storage:
        monkeypatch.chdir("/")
        storage.check()


def test_a_missing_file_is_rejected_and_not_created_without_create(tmp_path):
    database = tmp_path / "100% caf\udce9?#.db"

    with pytest.raises(StorageNotFound, match="There is no SQLite file"):
        SqliteStorage(database, create=False)
    assert list(tmp_path.iterdir()) == []

    SqliteStorage(database).close()
    with closing(SqliteStorage(database, create=False)) as storage:
        storage.check()


def test_opening_a_file_of_an_older_version_measures_the_catalogs(storage, database):
    ours = storage.organizations.add("Ours", NOW).id
    for number in range(150):  # more than are read at once
        add_field(storage.fields, ours, a_definition(f"city_{number}"), author=AUTHOR)
    stored = "SELECT fields_size, measured_revision FROM organizations WHERE id = ?"
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        before = connection.execute(stored, (ours,)).fetchone()
        connection.executescript(WITHOUT_SIZES)
        SqliteStorage(database).close()
        assert connection.execute(stored, (ours,)).fetchone() == before
        # An older process changes only the revision.
        connection.execute("UPDATE recipient_fields SET name = 'Longer name'")
        connection.execute("UPDATE organizations SET revision = revision + 1")
    add_field(storage.fields, ours, a_definition("town"), size_limit=1_000_000, author=AUTHOR)
    size = sum(each.size for each in storage.fields.all(ours).fields)
    assert size_in_plan(storage.fields, ours) == size


def test_records_that_appear_before_a_removal_locks_the_catalog_are_counted(storage, database):
    """As those of a process of an older version, which stores no sizes."""
    ours = storage.organizations.add("Ours", NOW).id
    for number in range(3):
        add_field(storage.fields, ours, a_definition(f"city_{number}"), author=AUTHOR)
    before = storage.history.size(ours)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("UPDATE organizations SET record_bytes = 0, sized_sequence = 0")

    with closing(sqlite3.connect(database)) as connection:
        locking = SqliteConnection(connection, lock_catalog(ours))
        remove_oldest(locking, ours, lambda _oldest, _size: (), 10)
        connection.commit()

    with closing(sqlite3.connect(database)) as connection:
        columns = "record_bytes + shared_value_bytes, sized_sequence"
        stored = connection.execute(f"SELECT {columns} FROM organizations WHERE id = ?", (ours,))
        assert stored.fetchone() == (before.bytes, 3)


def test_a_page_of_the_history_as_json_creates_no_objects(storage):
    every = HistoryQuery()
    page = storage.history.select(OURS, every)
    assert count_calls(stored_field, lambda: storage.history.select(OURS, every)) > 0
    assert count_calls(stored_field, lambda: storage.history.publish(OURS, every)) == 0
    assert storage.history.publish(OURS, every) == published_page(page)


def test_opening_a_file_of_an_older_version_stores_the_letters_of_names(storage, database):
    synced = a_definition("age", by=sync_channel(IntegrationId(1)), esp_field_name="Agé 2")
    add_field(storage.fields, OURS, synced, author=AUTHOR)
    stored = "SELECT esp_name_letters FROM recipient_fields WHERE key = 'age'"
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        assert connection.execute(stored).fetchall() == [("age2",)]
        connection.executescript(WITHOUT_LETTERS)
        SqliteStorage(database).close()
        assert connection.execute(stored).fetchall() == [("age2",)]
