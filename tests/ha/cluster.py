"""Three nodes with etcd, Patroni and PostgreSQL, with the files in `docs/deploy/patroni`.

Each node has a loopback address of its own, so that the ports are those of the files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psutil

from recipient_fields.adapters.postgres import migrate

from ..support.postgres import (
    PASSWORD,
    PostgresServer,
    execute,
    new_folder,
    programs,
    start_unprivileged,
)
from ..support.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
FILES = REPOSITORY / "docs" / "deploy" / "patroni"
PATRONI = REPOSITORY / "build" / "patroni"
"""The folder in which `make test-ha` installs Patroni."""

ADDRESSES = ("127.0.1.1", "127.0.1.2", "127.0.1.3")
HEALTHY = 120.0
"""Seconds in which three nodes start, or recover from a fault."""

_ADMINISTRATOR = "patroni"
_POSTGRES_USER = (
    (
        *("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"),
        *("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"),
    )
    if os.geteuid() == 0
    else ()
)
"""The prefix for a command of PostgreSQL's user that can read Python in the home of root."""


class Node:
    """One machine: its processes run below its own folder and listen on its own address."""

    def __init__(self, number: int) -> None:
        """Create the folder of the node."""
        self.name = f"node{number}"
        self.address = ADDRESSES[number - 1]
        self.server = PostgresServer(new_folder(), 5432)
        self._log = (self.server.folder / "processes.log").open("a")
        self._etcd: subprocess.Popen[bytes] | None = None
        self._patroni: subprocess.Popen[bytes] | None = None

    def start_etcd(self) -> None:
        """Start etcd, with the data it had."""
        environment = dict(
            line.split("=", 1)
            for line in (FILES / "etcd.conf").read_text().splitlines()
            if line.startswith("ETCD_")
        )
        for name, value in environment.items():
            if name != "ETCD_INITIAL_CLUSTER":
                environment[name] = value.replace("10.0.0.1", self.address)
        environment["ETCD_INITIAL_CLUSTER"] = environment["ETCD_INITIAL_CLUSTER"].replace(
            "10.0.0.", "127.0.1."
        )
        environment["ETCD_NAME"] = self.name
        environment["ETCD_DATA_DIR"] = str(self.server.folder / "etcd")
        self._etcd = start_unprivileged(
            program("etcd"),
            output=self._log,
            folder=self.server.folder,
            environment=environment,
        )

    def start_patroni(self) -> None:
        """Start Patroni, which starts PostgreSQL."""
        environment = {
            "PYTHONPATH": str(PATRONI),
            "HOME": str(self.server.folder),
            "PATRONI_NAME": self.name,
            "PATRONI_ETCD3_HOSTS": ",".join(f"{address}:2379" for address in ADDRESSES),
            "PATRONI_RESTAPI_LISTEN": f"{self.address}:8008",
            "PATRONI_RESTAPI_CONNECT_ADDRESS": f"{self.address}:8008",
            "PATRONI_RESTAPI_USERNAME": _ADMINISTRATOR,
            "PATRONI_RESTAPI_PASSWORD": PASSWORD,
            "PATRONI_POSTGRESQL_LISTEN": f"{self.address}:5432",
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": f"{self.address}:5432",
            "PATRONI_POSTGRESQL_DATA_DIR": str(self.server.data),
            "PATRONI_POSTGRESQL_BIN_DIR": str(programs()),
            "PATRONI_POSTGRESQL_PGPASS": str(self.server.folder / "pgpass"),
            "PATRONI_SUPERUSER_PASSWORD": PASSWORD,
            "PATRONI_REPLICATION_PASSWORD": PASSWORD,
        }
        self._patroni = subprocess.Popen(
            [*_POSTGRES_USER, sys.executable, "-m", "patroni", FILES / "patroni.yml"],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            cwd=self.server.folder,
            env={**os.environ, **environment},
        )

    def kill_patroni(self) -> None:
        """`kill -9` Patroni only. PostgreSQL continues."""
        assert self._patroni is not None
        self._patroni.kill()
        self._patroni.wait()
        self._patroni = None

    def kill(self) -> None:
        """`kill -9` Patroni, PostgreSQL and etcd."""
        self.kill_patroni()
        self.server.kill_everything()
        assert self._etcd is not None
        self._etcd.kill()
        self._etcd.wait()
        self._etcd = None

    def repair(self) -> None:
        """Start what was killed."""
        if self._etcd is None:
            self.start_etcd()
        if self._patroni is None:
            self.start_patroni()

    def remove(self) -> None:
        """End all processes, and delete the folder."""
        if self._patroni is not None:
            self.kill_patroni()
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait()
        with suppress(FileNotFoundError, psutil.NoSuchProcess):
            self.server.kill_everything()
        self._log.close()
        shutil.rmtree(self.server.folder)

    def request(self, method: str, path: str, document: object = None) -> tuple[int, str]:
        """Send a request to Patroni, and return the status and the body of the response.

        Raises: OSError or HTTPException if there is no response.
        """
        connection = HTTPConnection(self.address, 8008, timeout=30)
        credentials = b64encode(f"{_ADMINISTRATOR}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}"}
        try:
            connection.request(method, path, json.dumps(document), headers)
            with connection.getresponse() as response:
                return response.status, response.read().decode()
        finally:
            connection.close()

    @property
    def url(self) -> str:
        """The URL of the superuser on this node."""
        return f"postgresql://postgres:{PASSWORD}@{self.address}/recipient_fields"


class Cluster:
    """The three nodes."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    def start(self) -> None:
        """Start every node, and create an empty database with the schema."""
        for node in self.nodes:
            node.start_etcd()
        for node in self.nodes:
            node.start_patroni()
        eventually(self.is_healthy, within=HEALTHY)
        url = self.leader().url
        server_url = url.replace("/recipient_fields", "/postgres")
        execute(server_url, f"CREATE ROLE fields LOGIN PASSWORD '{PASSWORD}'")
        execute(server_url, "CREATE DATABASE recipient_fields OWNER fields")
        migrate(url.replace("postgres:", "fields:", 1))

    def members(self) -> dict[str, dict[str, Any]]:
        """Return what Patroni reports of each node, by its name."""
        for node in self.nodes:
            with suppress(OSError, HTTPException):
                _, body = node.request("GET", "/cluster")
                return {member["name"]: member for member in json.loads(body)["members"]}
        return {}

    def leader_name(self) -> str | None:
        """Return the name of the node that has the lease of the primary."""
        for name, member in self.members().items():
            if member["role"] == "leader":
                return name
        return None

    def leader(self) -> Node:
        """Return the node that has the lease of the primary."""
        name = eventually(self.leader_name, within=HEALTHY)
        return next(node for node in self.nodes if node.name == name)

    def is_healthy(self) -> bool:
        """Return whether the primary has two standbys, one of them synchronous."""
        members = self.members().values()
        states = sorted((member["role"], member["state"]) for member in members)
        return states == [
            ("leader", "running"),
            ("replica", "streaming"),
            ("sync_standby", "streaming"),
        ]

    def switch_over(self) -> None:
        """Let the synchronous standby become the primary."""
        leader = self.leader()
        [standby] = (
            name for name, member in self.members().items() if member["role"] == "sync_standby"
        )
        status, body = leader.request(
            "POST", "/switchover", {"leader": leader.name, "candidate": standby}
        )
        assert status == 200, body

    def repair(self) -> None:
        """Start what was killed, and wait until all nodes are healthy."""
        for node in self.nodes:
            node.repair()
        eventually(self.is_healthy, within=HEALTHY)


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Start a cluster, HAProxy and PgBouncer for the block."""
    assert PATRONI.is_dir(), "Patroni is missing: run `make test-ha`."
    with ExitStack() as stack:
        folder = new_folder()  # PostgreSQL's user may not be able to reach the clone.
        stack.callback(shutil.rmtree, folder)
        shutil.copy(FILES / "haproxy.cfg", folder)
        _configure_pgbouncer(folder)
        for name, file in (("haproxy", "haproxy.cfg"), ("pgbouncer", "pgbouncer.ini")):
            options = ("-db", "-f") if name == "haproxy" else ()
            environment = {f"NODE{n}": address for n, address in enumerate(ADDRESSES, 1)}
            process = start_unprivileged(
                program(name),
                *(*options, file),
                output=subprocess.DEVNULL,
                folder=folder,
                environment=environment,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        nodes = []
        for number in range(1, len(ADDRESSES) + 1):
            nodes.append(Node(number))
            stack.callback(nodes[-1].remove)
        cluster = Cluster(nodes)
        cluster.start()
        yield cluster


def _configure_pgbouncer(folder: Path) -> None:
    configuration = (FILES / "pgbouncer.ini").read_text()
    (folder / "pgbouncer.ini").write_text(configuration.replace("/etc/pgbouncer", str(folder)))
    (folder / "userlist.txt").write_text(f'"fields" "{PASSWORD}"\n')


def program(name: str) -> Path:
    """Return the path of a program of Debian."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert path, f"{name} is missing: run `make test-ha`."
    return Path(path)
