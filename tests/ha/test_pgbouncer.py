"""PgBouncer, when its address leads to a standby after it led to the primary."""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import ExitStack
from datetime import UTC, datetime
from time import monotonic, sleep

import psycopg

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.domain import OrganizationId, StorageUnavailable

from ..support.network import free_port
from ..support.postgres import PASSWORD, PostgresServer, execute, new_folder, start_unprivileged
from ..support.waiting import eventually
from .cluster import program


def test_reads_from_a_standby_are_rejected_if_the_url_requires_the_primary() -> None:
    with ExitStack() as stack:
        primary = PostgresServer.create()
        stack.callback(primary.remove)
        migrate(primary.url())
        standby = primary.standby()
        stack.callback(standby.remove)
        folder = new_folder()
        stack.callback(shutil.rmtree, folder)
        (folder / "userlist.txt").write_text(f'"postgres" "{PASSWORD}"\n')
        port = free_port()
        configuration = folder / "pgbouncer.ini"

        def lead_to(server: PostgresServer) -> None:
            configuration.write_text(
                f"[databases]\npostgres = host=127.0.0.1 port={server.port}\n"
                f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
                "auth_type = scram-sha-256\nauth_file = userlist.txt\npool_mode = transaction\n"
            )

        lead_to(primary)
        pooler = start_unprivileged(
            program("pgbouncer"), configuration, output=subprocess.DEVNULL, folder=folder
        )
        stack.callback(pooler.wait)
        stack.callback(pooler.terminate)
        url = (
            f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres"
            "?prepare=false&target_session_attrs=read-write"
        )
        eventually(lambda: accepts(url.replace("prepare=false&", "")), within=10)
        storage = PostgresStorage(url)
        stack.callback(storage.close)
        ours = storage.organizations.add("Ours", datetime(2026, 11, 20, tzinfo=UTC)).id
        assert reads(storage, ours)
        eventually(lambda: execute(standby.url(), "SELECT id FROM organizations"), within=10)

        sleep(2)  # The service begins to check the server one second after its start.
        lead_to(standby)
        pooler.send_signal(signal.SIGHUP)
        began = monotonic()
        eventually(lambda: not reads(storage, ours), within=3)
        while monotonic() < began + 6:
            assert not reads(storage, ours)

        lead_to(primary)
        pooler.send_signal(signal.SIGHUP)
        eventually(lambda: reads(storage, ours), within=5)


def accepts(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def reads(storage: PostgresStorage, ours: OrganizationId) -> bool:
    try:
        storage.fields.all(ours)
    except StorageUnavailable:
        return False
    return True
