"""The contract over sockets: framing, limits, and rejections of the server."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from recipient_fields.entrypoints.console import MAX_FORM_SIZE
from recipient_fields.entrypoints.server.limits import MAX_HEAD_SIZE

from ..support.command_line import environment_with
from ..support.postgres import NewDatabase
from ..support.redaction import log_lines_with_secrets
from ..support.service import StreamReader
from .api import FIELDS, MEGABYTE, Api, ApiResponse, Headers, assert_contract, enveloped
from .conftest import STORAGES

CITY = {"name": "City", "data_type": "text"}
PROGRAM = Path(sys.executable).with_name("recipient-fields")


class RunningService:
    """A service in another process, with demonstration data."""

    def __init__(self, storage: str) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "--storage", storage, "serve", "--demo", "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            env=environment_with({}),  # Those of `make test-citus` are no settings.
        )
        self.host, self.port = "", 0
        url = urlsplit(self._wait_for_line(r"listening on (http://\S+)"))
        self.host, self.port = str(url.hostname), int(url.port or 0)
        self.api = Api(self.request, self._wait_for_line(r"shown this once: (rfk_\w+)"))
        assert self.process.stderr is not None
        self._log = StreamReader(self.process.stderr)

    def _wait_for_line(self, pattern: str) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            match = re.search(pattern, line.decode())
            if match is not None:
                return match[1]
        raise AssertionError(f"the service exited without writing {pattern}")

    def stop(self) -> None:
        self.process.terminate()
        self._log.join()
        self.process.wait()
        assert log_lines_with_secrets(self._log.text) == []

    def connect(self) -> HTTPConnection:
        return HTTPConnection(self.host, self.port, timeout=30)

    def request(
        self, method: str, target: str, headers: Headers, body: bytes
    ) -> tuple[int, Headers, bytes]:
        """Send a request over a new connection. This is a Transport."""
        connection = self.connect()
        try:
            return send(connection, method, target, headers, body)
        finally:
            connection.close()

    def exchange(self, head: str, body: bytes = b"") -> ApiResponse:
        """Return the only response to these lines and this body."""
        lines = head.format(key=self.api.key).strip().splitlines()
        return self.exchange_bytes("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def exchange_bytes(self, sent: bytes) -> ApiResponse:
        """Return the only response to these bytes. The server then closes the connection."""
        with socket.create_connection((self.host, self.port), timeout=30) as connection:
            connection.sendall(sent)
            received = b""
            while chunk := connection.recv(65_536):
                received += chunk
        return parse(received, sent.split(b" ")[0].decode())


def send(
    connection: HTTPConnection, method: str, target: str, headers: Headers, body: bytes
) -> tuple[int, Headers, bytes]:
    connection.putrequest(method, target, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value.encode("latin-1"))
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body or None)
    response = connection.getresponse()
    return response.status, response.getheaders(), response.read()


def parse(received: bytes, method: str) -> ApiResponse:
    """Parse the only response, and check its length."""
    head, _, content = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    response = ApiResponse(method, "", int(status.split(" ")[1]), headers, content)
    assert int(headers["content-length"]) == len(content)
    return response


def chunked(body: bytes, size: int) -> bytes:
    chunks = [body[n : n + size] for n in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


@pytest.fixture(scope="module")
def server_database(migrated_database: NewDatabase) -> Iterator[str]:
    with migrated_database() as url:
        yield url


@pytest.fixture(scope="module", params=STORAGES)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningService]:
    path = tmp_path_factory.mktemp("server") / "fields.db"
    urls = {"memory": "memory:", "sqlite": f"sqlite:{path}"}
    if request.param == "postgresql":
        urls["postgresql"] = request.getfixturevalue("server_database")
    server = RunningService(urls[request.param])
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def api(server: RunningService) -> Iterator[Api]:
    """Return a client of the demonstration, and delete the fields that the test creates."""
    before = server.api.list().keys
    yield server.api
    for key in set(server.api.list().keys) - set(before):
        assert server.api.delete(key).status == 204


def test_a_field_is_created_read_changed_and_deleted(api: Api):
    created = api.post({**CITY, "name": "Größe 😀"})
    assert created.status == 201
    path = created.headers["location"]
    assert api.send("GET", path, if_none_match=created.etag).status == 304
    assert api.patch(created.field["key"], {"insertable": False}).field["insertable"] is False
    assert api.send("HEAD", path).status == 200
    assert api.send("DELETE", path).status == 204
    assert api.send("GET", path).status_and_code == (404, "not_found")


def test_a_batch_of_900_creations_takes_effect_completely_or_not_at_all(api: Api):
    before = api.state()
    creations = [
        {"operation": "create", "recipient_field": {**CITY, "key": f"k{n}"}} for n in range(900)
    ]
    failed = api.apply(*creations, {"operation": "delete", "reference": "missing"})
    assert failed.status_and_code == (404, "not_found")
    assert api.state() == before
    created = api.apply(*creations).results
    assert [field for field in api.list().fields if field in created] == created
    deletions = [{"operation": "delete", "reference": f"k{n}"} for n in range(900)]
    assert api.apply(*deletions).results == [None] * 900
    assert api.list().content == before[1]


def test_headers_have_their_usual_spelling(server: RunningService, api: Api):
    created = api.post(CITY)
    requests: list[tuple[str, str, list[tuple[str, str]]]] = [
        ("GET", f"{FIELDS}?limit=1", []),
        ("GET", f"{FIELDS}/city", [("If-None-Match", created.etag)]),
        ("GET", "/docs", []),
        ("DELETE", f"{FIELDS}/city", [("If-Match", '"a"')]),
        ("POST", f"{FIELDS}/city", []),
        ("GET", f"{FIELDS}?{'q' * 10_000}", []),
    ]
    key = ("Authorization", f"Bearer {api.key}")
    names = {
        name
        for method, target, headers in requests
        for _, received, _ in (
            server.request(method, target, [key, *headers], b""),
            server.request(method, target, headers, b""),
        )
        for name, _ in received
    }
    assert names == {
        "Allow",
        "Cache-Control",
        "Connection",
        "Content-Length",
        "Content-Security-Policy",
        "Content-Type",
        "Date",
        "ETag",
        "Link",
        "Referrer-Policy",
        "Total-Count",
        "Vary",
        "WWW-Authenticate",
        "X-Content-Type-Options",
        "X-Request-Id",
    }


def test_exactly_one_of_fifty_creations_of_a_key_succeeds(api: Api):
    with ThreadPoolExecutor(50) as pool:
        responses = list(pool.map(lambda _: api.post(CITY), range(50)))
    assert Counter(response.status for response in responses) == {201: 1, 409: 49}
    assert api.list().keys.count("city") == 1


def test_a_connection_stays_open_after_every_response(server: RunningService, api: Api):
    connection = server.connect()
    client = Api(lambda *request: send(connection, *request), api.key)
    connection.connect()
    opened = connection.sock
    for response in (
        client.list(),
        client.send("HEAD", FIELDS),
        client.get("missing"),
        client.with_key(None).send("POST", FIELDS, "{}"),
        client.send("POST", FIELDS, "{"),
        client.send("GET", FIELDS, "an ignored body"),
        client.send("HEAD", "/nothing"),
        client.post({"name": " "}),
    ):
        assert response.status < 500
        assert client.send("GET", "/healthz").json == {"status": "ok"}
    assert connection.sock is opened
    connection.close()


def test_a_body_of_one_mebibyte_is_read(api: Api):
    body = enveloped(CITY).encode().ljust(MEGABYTE)
    assert api.send("POST", FIELDS, body).status == 201


def test_a_body_of_one_byte_more_is_rejected(api: Api):
    body = enveloped(CITY).encode().ljust(MEGABYTE + 1)
    assert api.send("POST", FIELDS, body).status_and_code == (413, "payload_too_large")
    assert "city" not in api.list().keys


CHUNKED = f"""
POST {FIELDS} HTTP/1.1
Host: localhost
Authorization: Bearer {{key}}
Content-Type: application/json
Transfer-Encoding: chunked
Connection: close
"""


@pytest.mark.parametrize(("length", "size"), [(100, 1), (100, 7), (MEGABYTE, 4_096)])
def test_a_chunked_body_is_read(server: RunningService, api: Api, length: int, size: int):
    body = enveloped(CITY).encode().ljust(length)
    response = server.exchange(CHUNKED, chunked(body, size))
    assert_contract(response)
    assert response.status == 201


@pytest.mark.parametrize("length", [MEGABYTE + 1, MAX_FORM_SIZE + 1, 2 * MAX_FORM_SIZE])
def test_a_larger_chunked_body_is_rejected(server: RunningService, api: Api, length: int):
    """With the console, the server accepts `MAX_FORM_SIZE` for other routes."""
    sent = chunked(enveloped(CITY).encode().ljust(length), 65_536)[: MAX_FORM_SIZE + MEGABYTE]
    response = server.exchange(CHUNKED, sent)
    assert_contract(response)
    assert response.status_and_code == (413, "payload_too_large")
    assert "city" not in api.list().keys


def test_a_huge_body_is_rejected_before_it_is_sent(server: RunningService):
    for length in (MAX_FORM_SIZE + 1, 2 * MAX_FORM_SIZE, 10**12):
        response = server.exchange(
            f"POST {FIELDS} HTTP/1.1\nHost: localhost\nX-Request-Id: mine\nConnection: close\n"
            f"Content-Length: {length}",
            b" " * (length if length < MAX_FORM_SIZE * 2 else 0),
        )
        assert_contract(response, "mine")
        assert response.status_and_code == (413, "payload_too_large")


GET = f"GET {FIELDS} HTTP/1.1\nHost: localhost\nConnection: close\n"


def test_two_api_keys_are_rejected(server: RunningService):
    response = server.exchange(GET + "Authorization: Bearer {key}\nAuthorization: Bearer {key}")
    assert response.status_and_code == (401, "unauthorized")


@pytest.mark.parametrize("name", ["authorization", "AUTHORIZATION", "aUTHORIZATION"])
def test_the_names_of_headers_are_case_insensitive(server: RunningService, name: str):
    assert server.exchange(GET + name + ": bEARER {key}").status == 200


def test_the_target_can_be_an_absolute_url(server: RunningService):
    head = GET.replace(FIELDS, f"http://localhost{FIELDS}") + "Authorization: Bearer {key}"
    assert server.exchange(head).status == 200


@pytest.mark.parametrize(
    "target",
    [f"/{FIELDS}", f"//{FIELDS}", f"{FIELDS}/", f"{FIELDS}%2Fcity", f"http://localhost/{FIELDS}",
     f"http://localhost{FIELDS}%2fcity", f"{FIELDS}/loyalty_tier/", "*", "/", "//", "/healthz/"],
)  # fmt: skip
def test_other_targets_are_not_found(server: RunningService, target: str):
    response = server.exchange(GET.replace(FIELDS, target, 1) + "Authorization: Bearer {key}")
    assert response.status_and_code == (404, "not_found")


@pytest.mark.parametrize("method", ["BREW", "PROPFIND", "TRACE", "QUERY"])
def test_an_unknown_method_is_rejected(server: RunningService, method: str):
    head = GET.replace("GET", method, 1)
    assert server.exchange(head).status_and_code == (401, "unauthorized")
    response = server.exchange(head + "Authorization: Bearer {key}")
    assert response.status_and_code == (405, "method_not_allowed")
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (GET + "no header", (400, "malformed_request")),
        (GET + "Content-Length: -1", (400, "malformed_request")),
        (GET + "Content-Length: 1_0", (400, "malformed_request")),
        (GET + "Content-Length: 1\nContent-Length: 2", (400, "malformed_request")),
        (GET + "Transfer-Encoding: gzip", (501, "not_implemented")),
    ],
    ids=["header", "negative", "underscore", "two lengths", "encoding"],
)
def test_rejections_of_the_server_have_the_same_format(server: RunningService, head: str, expected):
    response = server.exchange(head)
    assert_contract(response)
    assert response.status_and_code == expected
    assert response.headers["connection"] == "close"


def test_headers_of_more_than_16_kib_are_rejected(server: RunningService):
    sent = (GET.replace("\n", "\r\n") + "X: ").ljust(MAX_HEAD_SIZE, "x")
    response = server.exchange_bytes(sent.encode())
    assert_contract(response)
    assert response.status_and_code == (431, "headers_too_large")


def test_a_malformed_chunk_is_rejected(server: RunningService, api: Api):
    response = server.exchange(CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n")
    assert_contract(response)
    assert response.status_and_code == (400, "malformed_request")


def test_the_server_does_not_name_itself(server: RunningService, api: Api):
    for response in (api.list(), api.send("GET", "/nothing"), server.exchange(GET + "no header")):
        assert not {"server", "via", "x-powered-by"} & response.headers.keys()


def test_an_incomplete_request_does_not_block_others(server: RunningService, api: Api):
    with socket.create_connection((server.host, server.port)) as connection:
        connection.sendall(GET.replace("\n", "\r\n").encode())
        assert api.list().status == 200


def test_a_client_that_disconnects_early_does_not_affect_others(server: RunningService, api: Api):
    for _ in range(20):
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(GET.replace("\n", "\r\n").encode() + b"\r\n")
    assert api.list().status == 200
