"""Concurrent transactions, their isolation and their limits."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from time import time_ns

import psycopg
import pytest
from attrs import evolve

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.domain import (
    ApiKey,
    FieldLimitReached,
    KeyGrant,
    KeyTaken,
    OrganizationContents,
    RecipientField,
    StorageUnavailable,
)
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition, a_grant, renaming
from recipient_fields.testing.field_changes import add_field, update_field

from ...support.waiting import eventually
from .databases import database_set, inserting, rows, waiting


def test_a_key_inserted_without_the_lock_is_reported_with_its_field(database, storage, ours):
    """A statement entered by hand does not lock the organization, so the constraint decides."""
    with psycopg.connect(database) as hand, ThreadPoolExecutor(1) as threads:
        [(holder,)] = hand.execute(f"{inserting(organization_id=str(ours))} RETURNING id".encode())
        adding = threads.submit(add_field, storage.fields, ours, a_definition(), author=AUTHOR)
        eventually(lambda: waiting(database), within=10)
        hand.commit()
        with pytest.raises(KeyTaken) as taken:
            adding.result()
    assert taken.value.existing_id == holder


def test_a_deadlock_is_retried_once(database, storage, ours):
    """A statement by hand locks the field, and a change locks the organization; each needs both."""
    field = add_field(storage.fields, ours, a_definition(), author=AUTHOR)
    tries: list[RecipientField] = []

    def change(stored: RecipientField) -> RecipientField:
        tries.append(stored)
        return renaming("Town")(stored)

    with (
        database_set(database, "deadlock_timeout = '500ms'"),
        closing(PostgresStorage(database)) as impatient,
        psycopg.connect(database) as hand,
        ThreadPoolExecutor(1) as threads,
    ):
        hand.execute("SET LOCAL deadlock_timeout = '10s'")
        hand.execute("SELECT FROM recipient_fields FOR UPDATE")
        updating = threads.submit(
            update_field, impatient.fields, ours, field.id, change, author=AUTHOR
        )
        eventually(lambda: waiting(database), within=10)
        hand.execute("SELECT FROM organizations FOR UPDATE")
        hand.commit()
        assert updating.result().name == "Town"
    assert tries == [field, field]
    assert storage.fields.get(ours, field.id).version == 2


def test_a_rotation_and_the_deletion_of_its_organization_do_not_deadlock(database, storage, ours):
    """After a deadlock, one of the two would run again."""
    key = storage.api_keys.add(a_grant(ours))
    runs: list[str] = []

    with ThreadPoolExecutor(1) as threads:

        def delete() -> OrganizationContents:
            return storage.organizations.delete(ours, lambda _: runs.append("deletion"))

        def succession(found: ApiKey) -> tuple[ApiKey, KeyGrant]:
            runs.append("rotation")
            deletions.append(threads.submit(delete))
            eventually(lambda: waiting(database), within=10)
            return found, a_grant(ours)

        deletions: list[Future[OrganizationContents]] = []
        storage.api_keys.rotate(ours, key.id, succession)
        deleted = deletions[0].result()
    assert deleted == OrganizationContents(fields=0, api_keys=2, integrations=0, administrators=0)
    assert runs == ["rotation", "deletion"]


@pytest.mark.parametrize("prepare", [True, False])
def test_the_server_limits_how_long_a_transaction_can_block_others(database, *, prepare):
    """A stuck process must not block an organization for long.

    After the transaction, a session that clients share must have its previous settings.
    """
    show = rows(
        "SELECT current_setting('lock_timeout'),"
        " current_setting('idle_in_transaction_session_timeout')"
    )
    with closing(PostgresStorage(database, prepare=prepare)) as storage:
        assert storage._database.write(show) == [("1s", "5s")]
        assert storage._database.read(show) == [("1s" if prepare else "0", "0")]


@pytest.mark.parametrize("prepare", [True, False])
def test_transactions_are_read_committed_even_if_the_database_defaults_to_serializable(
    database, *, prepare
):
    """Under SERIALIZABLE, PostgreSQL would reject concurrent writers."""
    show = rows("SELECT current_setting('transaction_isolation')")
    with (
        database_set(database, "default_transaction_isolation = 'serializable'"),
        closing(PostgresStorage(database, pool_size=1, prepare=prepare)) as storage,
    ):
        assert storage._database.write(show) == [("read committed",)]
        expected = "read committed" if prepare else "serializable"
        assert storage._database.read(show) == [(expected,)]


def test_a_session_that_was_reset_loses_no_update(database, ours):
    """The server rejects one of two concurrent writers, whose retry reads what the other stored."""
    with (
        database_set(database, "default_transaction_isolation = 'serializable'"),
        closing(PostgresStorage(database, pool_size=1)) as storage,
    ):
        add_field(storage.fields, ours, a_definition("town"), author=AUTHOR)
        storage._database.read(lambda c: c.driver.execute("RESET ALL", prepare=False))
        with psycopg.connect(database) as hand, ThreadPoolExecutor(1) as threads:
            hand.execute("UPDATE organizations SET revision = revision + 1")
            adding = threads.submit(
                add_field, storage.fields, ours, a_definition(), limit=2, author=AUTHOR
            )
            eventually(lambda: waiting(database), within=10)
            hand.commit()
            added = adding.result()
        with pytest.raises(FieldLimitReached):
            add_field(storage.fields, ours, a_definition("village"), limit=2, author=AUTHOR)
        assert [field.key for field in storage.fields.all(ours).fields] == ["town", added.key]


def test_microseconds_are_truncated_and_not_rounded_into_the_future(storage, ours):
    definition = evolve(a_definition(), created_at=NOW + timedelta(microseconds=999))
    field = add_field(storage.fields, ours, definition, author=AUTHOR)
    assert storage.fields.get(ours, field.id).created_at == NOW


def test_instants_do_not_depend_on_the_servers_time_zone(storage):
    for at in (NOW, NOW.replace(year=1, month=1, day=1), NOW.replace(year=9999, month=12, day=31)):
        organization = storage.organizations.add("Ours", at)
        definition = evolve(a_definition(), created_at=at)
        field = add_field(storage.fields, organization.id, definition, author=AUTHOR)
        assert organization.created_at == at
        assert storage.fields.get(organization.id, field.id).created_at == at
        assert storage.organizations.all()[-1] == organization


def test_without_preparing_nothing_is_kept_in_the_servers_session(database, ours):
    with closing(PostgresStorage(database, pool_size=1, prepare=False)) as storage:
        for number in range(20):
            storage.fields.all(ours)
            storage.fields.publish(ours)
            add_field(storage.fields, ours, a_definition(f"field_{number}"), author=AUTHOR)
        assert storage._database.read(rows("SELECT name FROM pg_prepared_statements")) == []


def test_a_closed_storage_is_unavailable(database):
    storage = PostgresStorage(database)
    storage.close()
    storage.close()
    with pytest.raises(StorageUnavailable, match="closed"):
        storage.check()


def test_a_revision_that_a_failover_has_lost_does_not_occur_again(storage, ours):
    """Every change sets the revision to the current time at least, so none is assigned twice."""
    before = time_ns() // 1_000_000
    field = add_field(storage.fields, ours, a_definition(), author=AUTHOR)
    added = storage.fields.all(ours).revision
    assert added >= before
    update_field(storage.fields, ours, field.id, renaming("Town"), author=AUTHOR)
    assert storage.fields.all(ours).revision > added
