"""What clients of nginx see, and what its logs contain, with the configuration in `docs/deploy`."""

from __future__ import annotations

import re
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path

import pytest

from recipient_fields.entrypoints.console import MAX_FORM_SIZE
from recipient_fields.entrypoints.http.problems import problem

from ..support.network import free_port, http_status
from ..support.service import FIELDS, Response, Service
from ..support.waiting import eventually
from .files import DEPLOY
from .test_proxies import HOST, nginx_with, request, responds, running, tls_connection

SITE = (DEPLOY / "nginx.conf").read_text("utf-8")
LINK = "/console/links/w4lHBzjvP2b0S5vWfPUoE3dgNyBdV3KBHqmUuC7Vf2Q"
INVITATION = LINK.replace("links", "invitations")
BURST = 500


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Start a process with the console."""
    options = ("--console", "--console-url", f"https://{HOST}", "--trusted-proxies", "127.0.0.1")
    service = Service(f"sqlite:{tmp_path / 'fields.db'}", *options)
    yield service
    service.kill()


@pytest.fixture
def port(tmp_path: Path, certificate: Path, service: Service) -> Iterator[int]:
    """Run nginx in front of the service, and return its port."""
    with front(tmp_path, certificate, service.url.removeprefix("http://")) as port:
        eventually(lambda: responds(port))
        yield port


@contextmanager
def front(folder: Path, certificate: Path, address: str) -> Iterator[int]:
    """Run nginx in front of this address during the block."""
    port = free_port()
    with running(nginx_with(SITE, folder, port, certificate, [address])):
        eventually(lambda: accepts(port))
        yield port


def accepts(port: int) -> bool:
    try:
        tls_connection(port).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("path", [LINK, INVITATION])
def test_no_log_contains_the_link_of_an_invitation(port: int, tmp_path: Path, path: str) -> None:
    assert request(port, path).status == 410
    # Its page loads a style sheet, and browsers send the address of the page as the Referer.
    style = request(port, "/console/static/none.css", Referer=f"https://{HOST}{path}").status
    http_port = int((tmp_path / "http-port").read_text())
    assert http_status(http_port, path, Host=HOST) == 301

    token = path.rpartition("/")[2]
    logs = eventually(lambda: requests_in(tmp_path))
    assert (style, token in logs) == (404, False)
    assert token not in (tmp_path / "error.log").read_text()


def requests_in(folder: Path) -> str:
    """Return the access log as soon as it has the last request."""
    text = (folder / "access.log").read_text()
    return text if "none.css" in text else ""


@pytest.mark.parametrize("path", [LINK, INVITATION])
def test_a_link_is_in_no_log_while_the_service_is_down(
    tmp_path: Path, certificate: Path, path: str
) -> None:
    with front(tmp_path, certificate, f"127.0.0.1:{free_port()}") as port:
        assert request(port, path).status == 502
        assert request(port, FIELDS).status == 502
        error = eventually((tmp_path / "error.log").read_text)
    assert FIELDS in error
    assert path.rpartition("/")[2] not in error + (tmp_path / "access.log").read_text()


def test_an_outage_is_an_error_object(tmp_path: Path, certificate: Path) -> None:
    with front(tmp_path, certificate, f"127.0.0.1:{free_port()}") as port:
        response = request(port, FIELDS)
        assert response.status == HTTPStatus.BAD_GATEWAY
        assert response.code == "service_unavailable"
        assert response.document["error"]["message"] == problem("service_unavailable").message
        assert response.headers["Retry-After"] == "1"
        sent = request(port, FIELDS, X_Request_Id="order-41.7")
        assert (sent.code, sent.headers["X-Request-Id"]) == ("service_unavailable", "order-41.7")
        unsafe = request(port, FIELDS, X_Request_Id='", "x": "')
        assert re.fullmatch(r"[0-9a-f]{32}", unsafe.document["error"]["request_id"])
        assert request(port, "/console").headers["Content-Type"] == "text/html"


def test_a_body_that_is_too_large_is_an_error_object(port: int) -> None:
    response = request(port, FIELDS, method="POST", body=b" " * (4 * 1024 * 1024 + 1))

    assert response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert response.code == "payload_too_large"
    assert response.document["error"]["message"] == problem("payload_too_large").message
    assert response.headers["Retry-After"] is None


def test_the_console_accepts_the_largest_form(port: int) -> None:
    """Nginx passes it to the service, which has no session for it."""

    def post(size: int) -> Response:
        return request(port, "/console/sign-in", method="POST", body=b"a" * size)

    largest, larger = post(MAX_FORM_SIZE), post(MAX_FORM_SIZE + 1)

    assert largest.headers["X-Request-Id"]
    assert (larger.status, larger.headers["X-Request-Id"]) == (413, None)


def test_the_log_of_the_service_has_the_request_id_of_nginx(port: int, service: Service) -> None:
    identifier = request(port, FIELDS).headers["X-Request-Id"]

    assert re.fullmatch(r"[0-9a-f]{32}", identifier)
    assert eventually(lambda: identifier in {line["request_id"] for line in service.requests})


def test_the_probes_are_not_public(port: int) -> None:
    assert [request(port, path).status for path in ("/readyz", "/metrics")] == [404, 404]


def test_browsers_use_tls_only(port: int, tmp_path: Path) -> None:
    http_port = int((tmp_path / "http-port").read_text())
    (tmp_path / ".well-known" / "acme-challenge").mkdir(parents=True)
    (tmp_path / ".well-known" / "acme-challenge" / "token").write_text("proof")

    assert request(port, FIELDS).headers["Strict-Transport-Security"] == "max-age=31536000"
    assert http_status(http_port, "/docs?page=2", Host=HOST) == 301
    assert http_status(http_port, "/.well-known/acme-challenge/token", Host=HOST) == 200


def test_another_host_name_is_rejected(port: int, tmp_path: Path, service: Service) -> None:
    eventually(lambda: service.requests)
    before = len(service.requests)
    with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
        tls_connection(port, "attacker.example")
    with tls_connection(port) as tls:
        tls.sendall(b"GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n")
        assert tls.recv(4096).startswith(b"HTTP/1.1 421 ")

    http_port = int((tmp_path / "http-port").read_text())
    assert http_status(http_port, "/", Host="attacker.example") == 421
    assert len(service.requests) == before


def test_one_address_can_send_a_burst_of_requests_and_not_more(
    tmp_path: Path, certificate: Path
) -> None:
    """Nginx alone is fast enough to exceed 500 requests per second."""
    with front(tmp_path, certificate, f"127.0.0.1:{free_port()}") as port:
        statuses = [status for _ in range(4) for status in pipelined(port, 900)]

    assert statuses[:BURST] == [502] * BURST
    assert Counter(statuses)[503] > 0


def pipelined(port: int, number: int) -> list[int]:
    """Send that many requests on one connection, and return their statuses."""
    text = f"GET {FIELDS} HTTP/1.1\r\nHost: {HOST}\r\n"
    requests = f"{text}\r\n" * (number - 1) + f"{text}Connection: close\r\n\r\n"
    received = b""
    with tls_connection(port) as tls:
        tls.sendall(requests.encode())
        while part := tls.recv(65536):
            received += part
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", received)]


def test_one_address_can_not_occupy_all_connections(tmp_path: Path, certificate: Path) -> None:
    """The upstream server accepts connections and never responds."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=256))
        address = f"127.0.0.1:{server.getsockname()[1]}"
        port = stack.enter_context(front(tmp_path, certificate, address))
        for _ in range(100):
            tls = stack.enter_context(tls_connection(port))
            tls.sendall(f"GET {FIELDS} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        rejected = request(port, FIELDS)

    assert (rejected.status, rejected.code) == (503, "overloaded")
    assert rejected.document["error"]["message"] == problem("overloaded").message
