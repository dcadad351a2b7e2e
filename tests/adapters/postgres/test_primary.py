"""A storage while its primary is replaced by another server, but still accepts writes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from time import monotonic, sleep

import pytest
from attrs import frozen

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.adapters.postgres.connection import parse_url
from recipient_fields.adapters.postgres.primary import join_hosts, split_hosts
from recipient_fields.domain import OrganizationId, RecipientField, StorageUnavailable
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition, renaming
from recipient_fields.testing.field_changes import add_field, update_field

from ...support.postgres import PASSWORD, PostgresServer, execute
from ...support.waiting import eventually

DETECTED = 2.0
"""Seconds after a promotion until the primary that was replaced is no longer used."""


@frozen
class Cluster:
    """A primary and its standby, with asynchronous replication."""

    old: PostgresServer
    new: PostgresServer

    def url(self, attributes: str = "read-write", user: str = "postgres") -> str:
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.old, self.new))
        return f"postgresql://{user}:{PASSWORD}@{hosts}/postgres?target_session_attrs={attributes}"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with PostgresServer.create() as old:
        migrate(old.url())
        with old.standby() as new:
            yield Cluster(old, new)


def organizations(server: PostgresServer) -> set[str]:
    return {str(name) for (name,) in execute(server.url(), "SELECT name FROM organizations")}


@pytest.mark.slow
@pytest.mark.parametrize("attributes", ["read-write", "any"])
def test_a_primary_that_was_replaced_gets_no_write_a_moment_later(cluster, attributes, caplog):
    with closing(PostgresStorage(cluster.url(attributes))) as storage:
        storage.organizations.add("Before", NOW)
        cluster.new.promote()
        promoted = monotonic()
        late = []
        for number in count():
            began = monotonic()
            with suppress(StorageUnavailable):
                storage.organizations.add(f"Number {number}", NOW)
                if began > promoted + DETECTED:
                    late.append(f"Number {number}")
            if began > promoted + DETECTED + 1:
                break
            sleep(0.01)
    assert len(late) > 10
    assert set(late) <= organizations(cluster.new)
    assert not set(late) & organizations(cluster.old)
    logged = [each.getMessage() for each in caplog.records if "promoted" in each.getMessage()]
    assert logged == [
        "A server was promoted to timeline 2. Connections to the primary of timeline 1 are closed."
    ]


@pytest.mark.slow
def test_a_primary_that_was_replaced_is_not_used_although_the_new_one_is_lost(cluster):
    with closing(PostgresStorage(cluster.url())) as storage:
        storage.check()
        cluster.new.promote()
        sleep(DETECTED)
        storage.organizations.add("On the new primary", NOW)
        cluster.new.stop("immediate")
        for _ in range(30):
            with pytest.raises(StorageUnavailable):
                storage.organizations.add("On the old primary", NOW)
            with pytest.raises(StorageUnavailable):
                storage.fields.all(OrganizationId(1))
            sleep(0.05)
        cluster.new.start()
        eventually(lambda: responds(storage), within=DETECTED)
        assert "On the old primary" not in organizations(cluster.old)


@pytest.mark.slow
def test_a_change_that_began_before_the_detection_is_not_acknowledged(cluster, caplog):
    with closing(PostgresStorage(cluster.url())) as storage:
        ours = storage.organizations.add("Ours", NOW).id
        field = add_field(storage.fields, ours, a_definition(), author=AUTHOR)

        def change(current: RecipientField) -> RecipientField:
            cluster.new.promote()
            eventually(lambda: "promoted to timeline 2" in caplog.text, within=1.5)
            return renaming("Town")(current)

        with pytest.raises(StorageUnavailable, match="no longer the primary"):
            update_field(storage.fields, ours, field.id, change, author=AUTHOR)


def responds(storage: PostgresStorage) -> bool:
    try:
        storage.check()
    except StorageUnavailable:
        return False
    return True


@pytest.mark.slow
def test_a_storage_on_a_standby_reads_before_and_after_its_promotion(cluster):
    with closing(PostgresStorage(cluster.new.url())) as storage:
        assert responds(storage)
        sleep(DETECTED)
        assert responds(storage)
        cluster.new.promote()
        storage.organizations.add("After", NOW)
        assert "After" in organizations(cluster.new)


@pytest.mark.slow
def test_a_storage_opened_after_the_promotion_leaves_the_old_primary(cluster):
    cluster.new.promote()
    with closing(PostgresStorage(cluster.url())) as storage:
        sleep(DETECTED)
        storage.organizations.add("After", NOW)
        assert "After" in organizations(cluster.new)


@pytest.mark.slow
def test_without_the_right_to_read_the_timeline_the_storage_works_and_logs_it_once(cluster, caplog):
    execute(cluster.old.url(), "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    execute(cluster.old.url(), f"CREATE ROLE service LOGIN PASSWORD '{PASSWORD}'")
    execute(cluster.old.url(), "GRANT ALL ON ALL TABLES IN SCHEMA public TO service")
    execute(cluster.old.url(), "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO service")
    with closing(PostgresStorage(cluster.url(user="service"))) as storage:
        sleep(DETECTED)
        storage.organizations.add("Ours", NOW)
    [record] = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert record.getMessage() == (
        "The timeline of PostgreSQL can't be read (42501), so a primary that was replaced is not"
        " detected."
    )


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("a", [("a", None)]),
        ("a:1,b:2", [("a", "1"), ("b", "2")]),
        ("a,b", [("a", None), ("b", None)]),
        ("/db?host=a,b&port=7", [("a", "7"), ("b", "7")]),
    ],
)
def test_each_host_of_a_url_is_a_host(address, hosts):
    parameters = parse_url(f"postgresql://{address}")
    split = split_hosts(parameters)
    assert [(host.get("host"), host.get("port") or None) for host in split] == hosts
    assert split_hosts(join_hosts(parameters, split)) == split


def test_overtaken_hosts_are_left_out() -> None:
    parameters = parse_url("postgresql://a:1,b:2,c:3/db")
    joined = join_hosts(parameters, split_hosts(parameters)[1:])
    assert (joined["host"], joined["port"], joined["dbname"]) == ("b,c", "2,3", "db")
