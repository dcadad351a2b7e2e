"""The history of fields in PostgreSQL: transactions, processes that are killed, and limits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from threading import Event
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest
from attrs import evolve

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.adapters.relational.history import RelationalHistoryRepository
from recipient_fields.application import RecipientFieldService
from recipient_fields.domain import (
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldDraft,
    FieldId,
    HistoryQuery,
    HistoryRecord,
    OrganizationId,
    StorageUnavailable,
)
from recipient_fields.testing.examples import AUTHOR, LATER, NOW, a_definition, permit, renaming
from recipient_fields.testing.field_changes import (
    add_field,
    delete_field,
    update_field,
)
from recipient_fields.testing.history import replay
from recipient_fields.testing.history_size import large_definition, toggled

from ...support.postgres import execute, open_transactions
from ...support.upgrading import undo_statements
from ...support.waiting import eventually
from .databases import database_set

WRITERS = 8

WRITING = """
import sys
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.domain import API, Author, CatalogChanges, DataType, FieldDraft
from recipient_fields.testing.field_changes import add_field, delete_field

url, name = sys.argv[1:]
author = Author(API, name=name)

def define(key):
    draft = FieldDraft(name=key, key=key, data_type=DataType.TEXT)
    return draft.define(by=API, at=datetime.now(UTC))

with closing(PostgresStorage(url, pool_size=1)) as storage:
    print("writing", flush=True)
    for number in count(1):
        field = add_field(storage.fields, 1, define(f"{name}_{number}"), author=author)
        print("created", field.id, flush=True)
        at = datetime.now(UTC)
        delete_field(storage.fields, 1, field.id, lambda _: None, author=author, at=at)
        print("deleted", field.id, flush=True)
        keys = [f"{name}_{number}_{each}" for each in range(5)]
        changes = CatalogChanges.of(created=tuple(map(define, keys)))
        applied = storage.fields.change(1, lambda _: changes, author=author, at=at)
        for each in applied.created:
            print("created", each.id, flush=True)
"""
"""Changes fields until it is killed, and prints each acknowledged change."""


@contextmanager
def writing(url: str, name: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that changes fields, and kill it at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITING, url, name], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def follow(
    storage: PostgresStorage, organization_id: OrganizationId, stopped: Event
) -> list[HistoryRecord]:
    """Read each record once, until no more follow after `stopped` is set."""
    records: list[HistoryRecord] = []
    while True:
        last_round = stopped.is_set()
        after = records[-1].sequence if records else None
        page = storage.history.select(organization_id, HistoryQuery(after=after, limit=50))
        records += page.records
        if last_round and not page.records:
            return records


@pytest.mark.slow
def test_a_reader_of_eight_processes_misses_nothing_if_one_of_them_is_killed(
    database, storage, ours
):
    stopped = Event()
    acknowledged: list[str] = []
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        reading = threads.submit(follow, storage, ours, stopped)
        try:
            write_and_kill(database, threads, acknowledged)
        finally:
            stopped.set()
        records = reading.result()
    assert [each.sequence for each in records] == list(range(1, len(records) + 1))
    times = [each.occurred_at for each in records]
    assert times == sorted(times)
    assert {each.author.name for each in records} == {f"writer_{n}" for n in range(WRITERS)}
    recorded = [f"{each.operation.value} {each.field_id}" for each in records]
    assert len(recorded) == len(set(recorded))
    assert set(acknowledged) <= set(recorded)
    assert replay(records) == storage.fields.all(ours).fields


def write_and_kill(database: str, threads: ThreadPoolExecutor, acknowledged: list[str]) -> None:
    """Run eight writers, kill one after a second, and the others after another second."""

    def collect(writer: subprocess.Popen[str]) -> None:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        acknowledged.extend(line.strip() for line in writer.stdout if line.endswith("\n"))

    names = [f"writer_{number}" for number in range(WRITERS)]
    with ExitStack() as stack:
        writers = [stack.enter_context(writing(database, name)) for name in names]
        collecting = [threads.submit(collect, writer) for writer in writers]
        # One connection: the writers have most of those that the server permits.
        with psycopg.connect(database, autocommit=True) as connection:
            eventually(lambda: authors(connection) == set(names))
        writers[0].kill()
        sleep(1)
        for writer in writers:
            writer.kill()
        for each in collecting:
            each.result()
    eventually(lambda: not open_transactions(database), within=10)


def authors(connection: psycopg.Connection[Any]) -> set[object]:
    statement = "SELECT DISTINCT author->>'name' FROM recipient_field_changes"
    return {name for (name,) in connection.execute(statement)}


@pytest.fixture
def count(round_trips: list[object]) -> Callable[[Callable[[], object]], int]:
    """Return a function that returns the number of round trips of a call."""

    def count(call: Callable[[], object]) -> int:
        round_trips.clear()
        call()
        return len(round_trips)

    return count


def test_a_change_of_one_field_and_its_record_are_one_statement(storage, ours, count):
    """Except a creation, each also reads the field."""
    fields = storage.fields
    assert count(lambda: add_field(fields, ours, a_definition(), limit=9, author=AUTHOR)) == 1
    [field] = fields.all(ours).fields
    assert count(lambda: update_field(fields, ours, field.id, renaming("Town"), author=AUTHOR)) == 2
    assert count(lambda: delete_field(fields, ours, field.id, permit, author=AUTHOR, at=LATER)) == 2
    assert count(lambda: storage.history.select(ours, HistoryQuery())) == 1
    assert count(lambda: storage.history.catalog_at(ours, LATER)) == 4
    assert len(storage.history.select(ours, HistoryQuery()).records) == 3


def test_the_service_needs_no_more_round_trips_for_its_limit(storage, ours, count):
    service = RecipientFieldService(fields=storage.fields, history=storage.history)
    draft = FieldDraft(name="City", data_type="text")
    # One of them reads the last id, whose digits count for the size of the list.
    assert count(lambda: service.replace_or_create_field(ours, draft)) == 3
    # A plan without changes is computed again with the lock, whose commit waits for a standby.
    assert count(lambda: service.replace_or_create_field(ours, draft)) == 4
    [field] = storage.fields.all(ours).fields
    assert count(lambda: service.delete_field(ours, draft.key)) == 2
    assert count(lambda: service.restore_field(ours, field.id)) == 7


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["lock_timeout = '5s'", "statement_timeout = '200ms'"])
def test_a_change_whose_record_can_not_be_stored_is_not_stored_either(database, ours, limit):
    """A storage waits for a lock for 1 s at most, and PostgreSQL may end a statement earlier."""
    with database_set(database, limit), closing(PostgresStorage(database)) as storage:
        field = add_field(storage.fields, ours, a_definition(), author=AUTHOR)
        before = storage.fields.all(ours)
        for change in changes_of(storage, ours, field.id):
            with psycopg.connect(database) as other:
                other.execute("LOCK TABLE recipient_field_changes IN EXCLUSIVE MODE")
                began = monotonic()
                with pytest.raises(StorageUnavailable):
                    change()
                assert monotonic() - began < 1.5
            assert storage.fields.all(ours) == before
        add_field(storage.fields, ours, a_definition("town"), author=AUTHOR)
        page = storage.history.select(ours, HistoryQuery())
        assert [each.sequence for each in page.records] == [1, 2]


def changes_of(
    storage: PostgresStorage, organization_id: OrganizationId, field_id: FieldId
) -> Iterator[Callable[[], object]]:
    """Yield one change of each kind."""
    fields, changes = storage.fields, CatalogChanges.of(created=(a_definition("village"),))
    yield lambda: add_field(fields, organization_id, a_definition("town"), author=AUTHOR)
    yield lambda: update_field(fields, organization_id, field_id, renaming("Town"), author=AUTHOR)
    yield lambda: delete_field(fields, organization_id, field_id, permit, author=AUTHOR, at=LATER)
    yield lambda: fields.change(organization_id, lambda _: changes, author=AUTHOR, at=LATER)


COUNT = 1_001
"""More than one statement stores."""


def test_all_batches_of_a_transaction_occur_at_one_time(storage, ours):
    definitions = tuple(a_definition(f"field_{number}") for number in range(COUNT))
    changes = CatalogChanges.of(created=definitions)
    applied = storage.fields.change(ours, lambda _: changes, author=AUTHOR, at=LATER)
    assert tuple(field.key for field in applied.created) == tuple(d.key for d in definitions)

    def delete_all(catalog: CatalogView) -> CatalogChanges[FieldDefinition]:
        return CatalogChanges.of(deleted=catalog.all().fields)

    storage.fields.change(ours, delete_all, author=AUTHOR, at=NOW)
    stopped = Event()
    stopped.set()
    records = follow(storage, ours, stopped)
    assert [each.sequence for each in records] == list(range(1, 1 + 2 * COUNT))
    assert [each.key for each in records] == [each.key for each in definitions] * 2
    millisecond = timedelta(milliseconds=1)
    assert [each.occurred_at for each in records] == [LATER] * COUNT + [LATER + millisecond] * COUNT


def test_pruning_takes_several_short_transactions(storage, ours, round_trips):
    assert isinstance(storage.history, RelationalHistoryRepository)
    history = evolve(storage.history, rows_per_removal=2)
    for number in range(6):
        add_field(storage.fields, ours, a_definition(f"field_{number}"), author=AUTHOR)
    last = storage.history.select(ours, HistoryQuery(descending=True)).records[0]
    round_trips.clear()
    assert history.prune(ours, last.occurred_at) == 5
    assert len([each for each in round_trips if each == "COMMIT"]) == 3
    assert storage.history.select(ours, HistoryQuery()).records == (last,)


def test_the_undo_of_shared_values_stores_them_in_each_document_again(database, storage, ours):
    field = add_field(storage.fields, ours, large_definition(), author=AUTHOR)
    update_field(storage.fields, ours, field.id, toggled, author=AUTHOR)
    delete_field(storage.fields, ours, field.id, permit, author=AUTHOR, at=LATER)
    expected = storage.history.select(ours, HistoryQuery()).records
    assert execute(database, "SELECT count(*) FROM recipient_field_values") == [(3,)]
    execute(database, undo_statements()["0012_history_size"])
    assert migrate(database) == 1
    with closing(PostgresStorage(database)) as again:
        assert again.history.select(ours, HistoryQuery()).records == expected
        size = again.history.size(ours)
        assert size.bytes == size.inherited > 0


def test_records_of_an_earlier_version_are_counted_once_and_can_be_removed(database, storage, ours):
    for number in range(4):
        add_field(storage.fields, ours, a_definition(f"field_{number}"), author=AUTHOR)
    execute(
        database,
        "UPDATE recipient_field_changes SET bytes = NULL;"
        " UPDATE organizations SET record_bytes = 0, sized_sequence = 0",
    )
    add_field(storage.fields, ours, a_definition("by_this_version"), author=AUTHOR)
    size = storage.history.size(ours)
    assert size.bytes == size.inherited > 1_000
    add_field(storage.fields, ours, a_definition("later"), author=AUTHOR)
    later = storage.history.size(ours)
    assert (later.inherited, later.bytes > size.bytes) == (size.inherited, True)
    assert storage.history.prune_to_size(ours, 0) == 6
    assert storage.history.size(ours).bytes == 0
