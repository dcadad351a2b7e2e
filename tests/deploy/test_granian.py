"""Two processes of Granian behind nginx, as on the page, of which one ends under load."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event

from recipient_fields.entrypoints.service.selection import open_core

from ..service.test_granian import add_large_organization
from ..service.test_other_hosts import hosted
from ..support.network import free_port, http_status
from ..support.service import FIELDS
from ..support.waiting import eventually
from .files import DEPLOY
from .test_proxies import HOST, UNAUTHORIZED, nginx_with, responds, running, status, tls_connection

CLIENTS = 8
_log = logging.getLogger(__name__)


@contextmanager
def ready_granian(storage: str) -> Iterator[int]:
    with hosted("granian", storage) as port:
        eventually(lambda: http_status(port, "/readyz") == 200)
        yield port


@contextmanager
def behind_nginx(folder: Path, certificate: Path, ports: list[int]) -> Iterator[int]:
    """Run nginx without connections that stay open, and return its port."""
    lines = (DEPLOY / "nginx.conf").read_text("utf-8").splitlines(keepends=True)
    site = "".join(line for line in lines if not line.lstrip().startswith("keepalive"))
    old = 'proxy_set_header Connection "";'
    assert old in site
    site = site.replace(old, "proxy_set_header Connection close;")
    port = free_port()
    addresses = [f"127.0.0.1:{each}" for each in ports]
    with running(nginx_with(site, folder, port, certificate, addresses)):
        eventually(lambda: responds(port))
        yield port


def test_no_request_fails_while_one_of_two_processes_ends(
    tmp_path: Path, certificate: Path
) -> None:
    outcomes: Counter[object] = Counter()
    ended = Event()

    def request(port: int) -> None:
        while not ended.is_set():
            try:
                outcomes[status(port)] += 1
            except OSError as error:
                outcomes[repr(error)] += 1

    storage = f"sqlite:{tmp_path / 'fields.db'}"
    with ExitStack() as stack:
        first = ExitStack()
        ports = [first.enter_context(ready_granian(storage))]
        stack.callback(first.close)
        ports.append(stack.enter_context(ready_granian(storage)))
        front = stack.enter_context(behind_nginx(tmp_path, certificate, ports))
        clients = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        for _ in range(CLIENTS):
            clients.submit(request, front)
        eventually(lambda: outcomes[UNAUTHORIZED] > 200)
        first.close()
        before = outcomes.total()
        eventually(lambda: outcomes.total() > before + 200)
        ended.set()
    _log.info("%s", dict(outcomes))
    assert set(outcomes) == {UNAUTHORIZED}


def test_a_client_of_nginx_that_does_not_read_occupies_no_slot(
    tmp_path: Path, certificate: Path
) -> None:
    storage = f"sqlite:{tmp_path / 'fields.db'}"
    core = open_core(storage)
    with closing(core.storage):
        key = add_large_organization(core)
    head = f"GET {FIELDS} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {key}\r\n\r\n"
    with ExitStack() as stack:
        port = stack.enter_context(ready_granian(storage))
        front = stack.enter_context(behind_nginx(tmp_path, certificate, [port]))
        for _ in range(3):
            client = stack.enter_context(tls_connection(front))
            client.sendall(head.encode())
            assert client.recv(12) == b"HTTP/1.1 200"
            eventually(lambda: http_status(port, FIELDS, key) == 200)
