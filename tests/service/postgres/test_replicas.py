"""Processes whose storage URL is that of a replica: they serve reads, and reject writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest
from attrs import frozen

from recipient_fields.adapters.postgres import migrate
from recipient_fields.domain import ApiKeyId, OrganizationId
from recipient_fields.entrypoints.service.selection import open_core

from ...support.postgres import PostgresServer, execute
from ...support.service import FIELDS, Client
from ...support.waiting import eventually
from .conftest import serving

pytestmark = pytest.mark.slow


@frozen
class Services:
    """A process on the primary, and one on its synchronous replica."""

    primary: PostgresServer
    replica: PostgresServer
    writer: Client
    reader: Client
    organization_id: OrganizationId
    key_id: ApiKeyId

    def delay_replica(self, milliseconds: int) -> None:
        """Let the replica receive each commit at once, but show it later."""
        change_setting(self.replica, f"recovery_min_apply_delay = {milliseconds}")

    def revoke(self) -> None:
        core = open_core(self.primary.url())
        core.administration.revoke_key(self.organization_id, self.key_id)
        core.storage.close()


@pytest.fixture
def services() -> Iterator[Services]:
    with ExitStack() as stack:
        primary = PostgresServer.create()
        stack.callback(primary.remove)
        migrate(primary.url())
        core = open_core(primary.url())
        acme = core.administration.create_organization("Acme")
        issued = core.administration.issue_key(acme.id, name="Test", lifetime=timedelta(days=1))
        core.storage.close()
        replica = primary.standby()
        stack.callback(replica.remove)
        primary.require_standby()
        key = issued.plain.reveal()
        urls = (stack.enter_context(serving(each.url())) for each in (primary, replica))
        writer, reader = (Client(url, key) for url in urls)
        yield Services(primary, replica, writer, reader, acme.id, issued.api_key.id)


def change_setting(server: PostgresServer, setting: str) -> None:
    execute(server.url(), f"ALTER SYSTEM SET {setting}")
    execute(server.url(), "SELECT pg_reload_conf()")


def test_a_process_on_a_replica_serves_older_reads_and_rejects_writes(services: Services) -> None:
    services.delay_replica(3000)
    path = f"{FIELDS}/tier"
    assert services.writer.create(name="Tier", key="tier").status == 201
    assert services.reader("GET", path).status == 404
    eventually(lambda: services.reader("GET", path).status == 200)
    assert services.reader.create(name="Other").status == 503
    assert services.reader("GET", path).status == 200
    services.revoke()
    assert services.reader("GET", path).status == 200
    eventually(lambda: services.reader("GET", path).status == 401)


def test_with_remote_apply_the_replica_shows_each_acknowledged_write(services: Services) -> None:
    services.delay_replica(200)
    change_setting(services.primary, "synchronous_commit = 'remote_apply'")
    for number in range(5):
        assert services.writer.create(name=f"Tier {number}", key=f"tier_{number}").status == 201
        assert services.reader("GET", f"{FIELDS}/tier_{number}").status == 200
    services.revoke()
    assert services.reader("GET", FIELDS).status == 401
