"""The servers that are measured, each in its own process."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Protocol
from urllib.parse import urlsplit

import psutil
from attrs import asdict, frozen

from ..support.command_line import SCRIPT, environment_with
from ..support.network import free_port, http_status
from ..support.recipes import printed_commands, replaced
from ..support.waiting import TIMEOUT, eventually
from .traffic import ConstantResponse

THREADS = 4
MEBIBYTE = 1024 * 1024

_CEILING = Path(__file__).with_name("ceiling.py")
_UNRECORDED = Path(__file__).with_name("unrecorded.py")
_FIELD_LIMIT = 1_000_000


class Measurable(Protocol):
    """A server, and the CPU time that it has used."""

    @property
    def url(self) -> str:
        """The URL of the server."""

    @property
    def cpu_seconds(self) -> float:
        """The CPU time so far, in user and system mode."""


class Server(Measurable):
    """A server process that logs its URL."""

    def __init__(self, process: psutil.Popen, log: IO[bytes], url: str | None) -> None:
        self._process = process
        self._log = log
        self._url = url or eventually(self._find_url)

    @property
    def url(self) -> str:
        return self._url

    @property
    def cpu_seconds(self) -> float:
        return sum(map(_cpu_seconds, self._processes()))

    @property
    def resident(self) -> float:
        """The resident memory of the process, in MiB."""
        rss = sum(process.memory_info().rss for process in self._processes())
        return float(rss / MEBIBYTE)

    def _processes(self) -> list[psutil.Process]:
        """Return the process and, under Granian, its worker."""
        return [self._process, *self._process.children()]

    def _find_url(self) -> str | None:
        output = os.pread(self._log.fileno(), 4096, 0).decode()  # keeps the position of the process
        assert self._process.poll() is None, output
        found = re.search(r"(?:listening|running|Serving) on (http://[0-9.:]+)", output)
        return found and found[1]


@frozen
class WithPostgres(Measurable):
    """A service with its PostgreSQL server, whose CPU time is included."""

    service: Server
    postmaster: psutil.Process

    @property
    def url(self) -> str:
        return self.service.url

    @property
    def cpu_seconds(self) -> float:
        return self.service.cpu_seconds + postgres_cpu_seconds(self.postmaster)


def postgres_cpu_seconds(postmaster: psutil.Process) -> float:
    """Return the CPU time of all processes of the PostgreSQL server, in user and system mode."""
    times = postmaster.cpu_times()
    used = _cpu_seconds(postmaster) + times.children_user + times.children_system
    for process in postmaster.children():
        with suppress(psutil.NoSuchProcess):
            used += _cpu_seconds(process)
    return float(used)


@contextmanager
def service(storage: str, *options: str) -> Iterator[Server]:
    """Run the service with that storage during the block."""
    with running(serve_command(storage, *options)) as server:
        yield server


@contextmanager
def granian(storage: str, **settings: str) -> Iterator[Server]:
    """Run the application under Granian during the block, with connections that stay open."""
    [recipe] = printed_commands("granian")
    port = free_port()
    options = {"--port": str(port), "--blocking-threads": str(THREADS)}
    command = replaced([each for each in recipe if each != "--no-http1-keep-alive"], options)
    environment = {
        "RECIPIENT_FIELDS_STORAGE": storage,
        "RECIPIENT_FIELDS_FIELD_LIMIT": str(_FIELD_LIMIT),
        **settings,
    }
    with running(command, environment=environment, url=f"http://127.0.0.1:{port}") as server:
        yield server


@contextmanager
def unrecorded_service(storage: str) -> Iterator[Server]:
    """Run the service without the recording of creations during the block."""
    _, *options = serve_command(storage)
    with running((sys.executable, "-P", str(_UNRECORDED), *options)) as server:
        yield server


@contextmanager
def ceiling(response: ConstantResponse) -> Iterator[Server]:
    """Run the same host with that response as a constant."""
    command = (sys.executable, "-P", str(_CEILING), str(THREADS))
    with running(command, content=json.dumps(asdict(response)).encode()) as server:
        yield server


def serve_command(storage: str, *options: str) -> tuple[str, ...]:
    """Return the command of the service, on a free port unless the options set one."""
    return (
        *(str(SCRIPT), "--storage", storage, "serve", "--listen", "127.0.0.1:0"),
        *("--threads", str(THREADS), "--field-limit", str(_FIELD_LIMIT), *options),
    )


@contextmanager
def running(
    command: Sequence[str],
    *,
    content: bytes = b"",
    environment: Mapping[str, str] | None = None,
    url: str | None = None,
) -> Iterator[Server]:
    """Run a server with that standard input during the block.

    `url` is the URL of a server that does not log it, and is used when `/healthz` responds there.
    """
    with TemporaryFile() as stdin, TemporaryFile() as log:
        stdin.write(content)
        stdin.seek(0)
        process = psutil.Popen(
            command, stdin=stdin, stdout=log, stderr=log, env=environment_with(environment or {})
        )
        try:
            if url is not None:
                eventually(lambda: http_status(urlsplit(url).port or 0, "/healthz") == 200)
            yield Server(process, log, url)
        finally:
            process.terminate()
            process.wait(TIMEOUT)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
