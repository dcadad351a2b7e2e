"""PostgreSQL with a full disk. Only root can mount a small one: use `make test-disk`."""

from __future__ import annotations

import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import psycopg

from recipient_fields.adapters.postgres import migrate
from recipient_fields.entrypoints.service.selection import open_core

from ...support.postgres import PostgresServer, execute, new_database
from ...support.service import FIELDS, Client
from ...support.waiting import eventually
from .conftest import serving
from .load import HttpLoad

USER = pwd.getpwnam("nobody")


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[None]:
    """Mount a disk of that size at the folder of the server."""
    folder.mkdir()
    options = f"size={mebibytes}m,mode=0700,uid={USER.pw_uid},gid={USER.pw_gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(disk: Path) -> Path:
    """Create a file that fills the disk."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    return filler


def new_key(database: str) -> str:
    migrate(database)
    core = open_core(database)
    organization = core.administration.create_organization("Acme")
    key = core.administration.issue_key(organization.id, name="Test").plain.reveal()
    core.storage.close()
    return key


def test_writes_are_503_and_reads_succeed_until_there_is_room_for_the_tables(server):
    disk = server.folder / "small"
    with small_disk(disk, 24):
        execute(server.url(), f"CREATE TABLESPACE small LOCATION '{disk}'")
        with new_database(server.url(), "TABLESPACE small") as database:
            key = new_key(database)
            with serving(database) as url:
                client = Client(url, key)
                acknowledged = [client.create(name="Before").document["recipient_field"]]
                filler = fill(disk)
                for number in range(40):
                    code = token_hex(4_000)
                    response = client.create(name=f"n{number}", custom_insertion_code=code)
                    if response.status == 201:
                        acknowledged.append(response.document["recipient_field"])
                        continue
                    assert (response.status, response.code) == (503, "service_unavailable")
                    assert "Retry-After" in response.headers
                    assert client.fields() == acknowledged
                    assert client("GET", "/readyz").status == 200
                assert len(acknowledged) < 40
                filler.unlink()
                assert client.create(name="Room").status == 201
                assert client("GET", f"{FIELDS}/room").status == 200
                assert len(client.fields()) == len(acknowledged) + 1
        execute(server.url(), "DROP TABLESPACE small")


def test_a_server_that_stops_because_its_wal_has_no_room_is_an_outage(monkeypatch):
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        disk = Path(folder) / "small"
        with small_disk(disk, 160):
            monkeypatch.setattr(tempfile, "tempdir", str(disk))
            server = PostgresServer.create()
            monkeypatch.undo()
            try:
                require_an_outage_like_others(server, disk)
            finally:
                server.remove()


def require_an_outage_like_others(server: PostgresServer, disk: Path) -> None:
    key = new_key(server.url())
    with serving(server.url()) as url:
        with HttpLoad(url, key) as load:
            filler = fill(disk)
            eventually(lambda: not logs(server), within=10)
            sleep(1)
            filler.unlink()
            if not server.accepts():
                server.start()
            accepting = monotonic()
            sleep(2.5)
        load.require_an_outage_of_503s()
        assert 503 in {each.status for each in load.exchanges}
        load.require_service_since(accepting)
        load.require_nothing_lost()


def logs(server: PostgresServer) -> bool:
    """Return whether there is room for one more file of the write-ahead log."""
    try:
        execute(server.url(), "SELECT pg_logical_emit_message(true, 'x', 'x'), pg_switch_wal()")
    except psycopg.Error:
        return False
    return True
