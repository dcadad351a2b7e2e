"""The configurations of proxies in `docs/deploy`, in front of two processes of the service."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from attrs import frozen

from ..support.network import free_port
from ..support.service import FIELDS, Response, Service
from ..support.waiting import eventually
from .files import DEPLOY

HOST = "fields.example.com"
UNAUTHORIZED = 401


@frozen
class Process:
    """A process of the service, with its addresses."""

    service: Service
    admin_address: str

    @property
    def address(self) -> str:
        return self.service.url.removeprefix("http://")


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[list[Process]]:
    """Start two processes on one storage."""
    with ExitStack() as stack:
        processes = []
        for _ in range(2):
            admin = f"127.0.0.1:{free_port()}"
            service = Service(f"sqlite:{tmp_path / 'fields.db'}", "--admin-listen", admin)
            stack.callback(service.kill)
            processes.append(Process(service, admin))
            assert service.url  # It has created the file.
        yield processes


def nginx(folder: Path, port: int, certificate: Path, processes: list[Process]) -> list[str]:
    """Write the configuration for nginx with these addresses, and return the command."""
    site = (DEPLOY / "nginx.conf").read_text("utf-8")
    return nginx_with(site, folder, port, certificate, [each.address for each in processes])


def nginx_with(
    site: str, folder: Path, port: int, certificate: Path, addresses: list[str]
) -> list[str]:
    """Write this configuration with these addresses, and return the command.

    The port for HTTP is in the file `http-port`, and both logs are `access.log` and `error.log`.
    """
    http_port = free_port()
    (folder / "http-port").write_text(str(http_port))
    servers = " ".join(f"server {address} max_fails=0;" for address in addresses)
    site = replaced(site, "server 127.0.0.1:8080 max_fails=0;", servers)
    site = replaced(site, "/etc/ssl/fields.example.com.pem", str(certificate))
    site = replaced(site, "/etc/ssl/fields.example.com.key", str(certificate))
    site = replaced(site, "/var/log/nginx/access.log", str(folder / "access.log"))
    site = replaced(site, "/var/www/letsencrypt", str(folder))
    # Both address families are on the loopback interface, on free ports.
    site = re.sub(r"listen \[::\]:.*\n", "", site)
    site = site.replace("listen 443 ", f"listen 127.0.0.1:{port} ")
    site = re.sub(r"listen 80\b", f"listen 127.0.0.1:{http_port}", site)
    temporary = "".join(
        f"{name}_temp_path {folder};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; user root; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        f"events {{ worker_connections 2048; }}\nhttp {{ access_log off;\n{temporary}{site}}}\n"
    )
    return ["nginx", "-c", str(file)]


def haproxy(folder: Path, port: int, certificate: Path, processes: list[Process]) -> list[str]:
    """Write the configuration for HAProxy with these addresses, and return the command."""
    text = (DEPLOY / "haproxy.cfg").read_text("utf-8")
    text = replaced(text, "bind :443", f"bind 127.0.0.1:{port}")
    text = replaced(text, "/etc/haproxy/fields.example.com.pem", str(certificate))
    for number, process in enumerate(processes, 1):
        admin_port = process.admin_address.rpartition(":")[2]
        written = f"10.0.0.1{number}:8080 check port 9400"
        text = replaced(text, written, f"{process.address} check port {admin_port}")
    file = folder / "haproxy.cfg"
    file.write_text(text)
    return ["haproxy", "-db", "-f", str(file)]


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} is in the file {text.count(old)} times"
    return text.replace(old, new)


@contextmanager
def running(command: list[str]) -> Iterator[None]:
    """Run this command during the block."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield
        assert process.poll() is None, "The proxy has ended."
    finally:
        process.terminate()
        process.wait(10)


def tls_connection(port: int, name: str = HOST) -> ssl.SSLSocket:
    """Connect over TLS to the server of this name."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    return context.wrap_socket(connection, server_hostname=name)


def request(
    port: int, path: str, *, method: str = "GET", body: bytes = b"", **headers: str
) -> Response:
    """Send a request over TLS, and return the response."""
    with tls_connection(port) as tls:
        connection = HTTPConnection(HOST)
        connection.sock = tls
        sent = {"Host": HOST, **{name.replace("_", "-"): text for name, text in headers.items()}}
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Response(response.status, response.headers, response.read())


def status(port: int) -> int:
    """Send a request without an API key over TLS, and return the status."""
    return request(port, FIELDS).status


def responds(port: int) -> bool:
    try:
        return status(port) == UNAUTHORIZED
    except OSError:
        return False


@pytest.mark.parametrize("proxy", [nginx, haproxy])
def test_no_request_fails_while_one_of_two_processes_ends(
    proxy: Callable[[Path, int, Path, list[Process]], list[str]],
    tmp_path: Path,
    certificate: Path,
    processes: list[Process],
) -> None:
    port = free_port()
    with running(proxy(tmp_path, port, certificate, processes)):
        eventually(lambda: responds(port))

        with ThreadPoolExecutor(max_workers=1) as client:
            statuses = client.submit(lambda: [status(port) for _ in range(400)])
            first, second = processes
            assert first.service.stop() == 0
            assert set(statuses.result()) == {UNAUTHORIZED}

        for process in (first, second):
            assert process.service.requests, "One process has served nothing."


def test_the_log_of_haproxy_contains_no_link(
    tmp_path: Path,
    certificate: Path,
    processes: list[Process],
    capfd: pytest.CaptureFixture[str],
) -> None:
    port = free_port()
    with running(haproxy(tmp_path, port, certificate, processes)):
        eventually(lambda: responds(port))
        for folder in ("links", "invitations"):
            request(port, f"/console/{folder}/secret")
        request(port, "/last")
        read: list[str] = []

        def last_is_logged() -> bool:
            read.extend(capfd.readouterr())
            return "GET /last" in "".join(read)

        eventually(last_is_logged)

    output = "".join(read)
    assert f"GET {FIELDS}" in output
    assert "secret" not in output
