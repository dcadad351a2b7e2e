"""The same contract on a real socket: framing, limits, and what the server itself refuses."""

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

from recipient_fields.adapters.postgres import migrate
from recipient_fields.entrypoints.server.limits import LARGEST_HEAD

from ..support.postgres import new_database
from ..support.redaction import log_lines_with_keys
from ..support.service import Transcript
from .api import FIELDS, MEGABYTE, Answer, Api, Headers, enveloped, hold_to_the_contract
from .conftest import STORAGES

CITY = {"name": "City", "data_type": "text"}
PROGRAM = Path(sys.executable).with_name("recipient-fields")


class Wire:
    """A service in a process of its own, with demonstration data."""

    def __init__(self, storage: str) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "--storage", storage, "serve", "--demo", "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
        )
        self.host, self.port = "", 0
        url = urlsplit(self._said(r"listening on (http://\S+)"))
        self.host, self.port = str(url.hostname), int(url.port or 0)
        self.api = Api(self.request, self._said(r"shown this once: (rfk_\w+)"))
        assert self.process.stderr is not None
        self._told = Transcript(self.process.stderr)

    def _said(self, pattern: str) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            match = re.search(pattern, line.decode())
            if match is not None:
                return match[1]
        raise AssertionError(f"the service ended without saying {pattern}")

    def stop(self) -> None:
        self.process.terminate()
        self._told.join()
        self.process.wait()
        assert log_lines_with_keys(self._told.text) == []

    def connect(self) -> HTTPConnection:
        return HTTPConnection(self.host, self.port, timeout=30)

    def request(
        self, method: str, target: str, headers: Headers, body: bytes
    ) -> tuple[int, Headers, bytes]:
        """See Transport; over a connection of its own."""
        connection = self.connect()
        try:
            return ask(connection, method, target, headers, body)
        finally:
            connection.close()

    def exchange(self, head: str, body: bytes = b"") -> Answer:
        """The one answer to these lines and this body."""
        lines = head.format(key=self.api.key).strip().splitlines()
        return self.exchange_bytes("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def exchange_bytes(self, sent: bytes) -> Answer:
        """The one answer to these bytes, after which the server closes the connection."""
        with socket.create_connection((self.host, self.port), timeout=30) as connection:
            connection.sendall(sent)
            received = b""
            while chunk := connection.recv(65_536):
                received += chunk
        return parsed(received, sent.split(b" ")[0].decode())


def ask(
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


def parsed(received: bytes, method: str) -> Answer:
    """The one answer there is, checked."""
    head, _, content = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    answer = Answer(method, "", int(status.split(" ")[1]), headers, content)
    assert int(headers["content-length"]) == len(content)
    return answer


def chunked(body: bytes, size: int) -> bytes:
    chunks = [body[n : n + size] for n in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


@pytest.fixture(scope="module")
def wire_database(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        migrate(url)
        yield url


@pytest.fixture(scope="module", params=STORAGES)
def wire(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Wire]:
    path = tmp_path_factory.mktemp("wire") / "fields.db"
    urls = {"memory": "memory:", "sqlite": f"sqlite:{path}"}
    if request.param == "postgresql":
        urls["postgresql"] = request.getfixturevalue("wire_database")
    wire = Wire(urls[request.param])
    try:
        yield wire
    finally:
        wire.stop()


@pytest.fixture
def api(wire: Wire) -> Iterator[Api]:
    """A client of a catalog that has the demonstration's fields, and nothing else afterwards."""
    before = wire.api.list().keys
    yield wire.api
    for key in set(wire.api.list().keys) - set(before):
        assert wire.api.delete(key).status == 204


def test_a_field_is_made_read_changed_and_deleted(api: Api):
    created = api.post({**CITY, "name": "Größe 😀"})
    assert created.status == 201
    path = created.headers["location"]
    assert api.send("GET", path, if_none_match=created.etag).status == 304
    assert api.patch(created.field["key"], {"insertable": False}).field["insertable"] is False
    assert api.send("HEAD", path).status == 200
    assert api.send("DELETE", path).status == 204
    assert api.send("GET", path).outcome == (404, "not_found")


def test_headers_have_their_usual_spelling(wire: Wire, api: Api):
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
            wire.request(method, target, [key, *headers], b""),
            wire.request(method, target, headers, b""),
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


def test_of_fifty_creations_of_one_key_one_succeeds(api: Api):
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: api.post(CITY), range(50)))
    assert Counter(answer.status for answer in answers) == {201: 1, 409: 49}
    assert api.list().keys.count("city") == 1


def test_a_connection_serves_on_after_every_answer_with_a_body(wire: Wire, api: Api):
    connection = wire.connect()
    client = Api(lambda *request: ask(connection, *request), api.key)
    connection.connect()
    opened = connection.sock
    for answer in (
        client.list(),
        client.send("HEAD", FIELDS),
        client.get("missing"),
        client.bearing(None).send("POST", FIELDS, "{}"),
        client.send("POST", FIELDS, "{"),
        client.send("GET", FIELDS, "a body that nobody reads"),
        client.send("HEAD", "/nothing"),
        client.post({"name": " "}),
    ):
        assert answer.status < 500
        assert client.send("GET", "/healthz").json == {"status": "ok"}
    assert connection.sock is opened
    connection.close()


def test_a_body_of_one_mebibyte_is_read(api: Api):
    body = enveloped(CITY).encode().ljust(MEGABYTE)
    assert api.send("POST", FIELDS, body).status == 201


def test_a_body_of_one_byte_more_is_not(api: Api):
    body = enveloped(CITY).encode().ljust(MEGABYTE + 1)
    assert api.send("POST", FIELDS, body).outcome == (413, "payload_too_large")
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
def test_a_chunked_body_is_read(wire: Wire, api: Api, length: int, size: int):
    body = enveloped(CITY).encode().ljust(length)
    answer = wire.exchange(CHUNKED, chunked(body, size))
    hold_to_the_contract(answer)
    assert answer.status == 201


@pytest.mark.parametrize("length", [MEGABYTE + 1, 2 * MEGABYTE, 3 * MEGABYTE])
def test_a_chunked_body_of_more_is_not(wire: Wire, api: Api, length: int):
    begun = chunked(enveloped(CITY).encode().ljust(length), 65_536)[: 2 * MEGABYTE]
    answer = wire.exchange(CHUNKED, begun)
    hold_to_the_contract(answer)
    assert answer.outcome == (413, "payload_too_large")
    assert "city" not in api.list().keys


def test_a_huge_body_is_refused_before_it_is_sent(wire: Wire):
    for length in (MEGABYTE + 1, 2 * MEGABYTE, 10**12):
        answer = wire.exchange(
            f"POST {FIELDS} HTTP/1.1\nHost: localhost\nX-Request-Id: mine\nConnection: close\n"
            f"Content-Length: {length}",
            b" " * (length if length < MEGABYTE * 2 else 0),
        )
        hold_to_the_contract(answer, "mine")
        assert answer.outcome == (413, "payload_too_large")


GET = f"GET {FIELDS} HTTP/1.1\nHost: localhost\nConnection: close\n"


def test_two_keys_are_refused(wire: Wire):
    answer = wire.exchange(GET + "Authorization: Bearer {key}\nAuthorization: Bearer {key}")
    assert answer.outcome == (401, "unauthorized")


@pytest.mark.parametrize("name", ["authorization", "AUTHORIZATION", "aUTHORIZATION"])
def test_the_names_of_headers_are_case_insensitive(wire: Wire, name: str):
    assert wire.exchange(GET + name + ": bEARER {key}").status == 200


def test_the_target_may_be_a_whole_url(wire: Wire):
    head = GET.replace(FIELDS, f"http://localhost{FIELDS}") + "Authorization: Bearer {key}"
    assert wire.exchange(head).status == 200


@pytest.mark.parametrize(
    "target",
    [f"/{FIELDS}", f"//{FIELDS}", f"{FIELDS}/", f"{FIELDS}%2Fcity", f"http://localhost/{FIELDS}",
     f"http://localhost{FIELDS}%2fcity", f"{FIELDS}/loyalty_tier/", "*", "/", "//", "/healthz/"],
)  # fmt: skip
def test_other_targets_are_not_found(wire: Wire, target: str):
    answer = wire.exchange(GET.replace(FIELDS, target, 1) + "Authorization: Bearer {key}")
    assert answer.outcome == (404, "not_found")


@pytest.mark.parametrize("method", ["BREW", "PROPFIND", "TRACE", "QUERY"])
def test_an_unknown_method_is_refused(wire: Wire, method: str):
    head = GET.replace("GET", method, 1)
    assert wire.exchange(head).outcome == (401, "unauthorized")
    answer = wire.exchange(head + "Authorization: Bearer {key}")
    assert answer.outcome == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"


@pytest.mark.parametrize(
    ("head", "outcome"),
    [
        (GET + "no header", (400, "malformed_request")),
        (GET + "Content-Length: -1", (400, "malformed_request")),
        (GET + "Content-Length: 1_0", (400, "malformed_request")),
        (GET + "Content-Length: 1\nContent-Length: 2", (400, "malformed_request")),
        (GET + "Transfer-Encoding: gzip", (501, "not_implemented")),
    ],
    ids=["header", "negative", "underscore", "two lengths", "encoding"],
)
def test_what_the_server_refuses_is_told_in_the_same_shape(wire: Wire, head: str, outcome):
    answer = wire.exchange(head)
    hold_to_the_contract(answer)
    assert answer.outcome == outcome
    assert answer.headers["connection"] == "close"


def test_headers_of_more_than_16_kib_are_refused(wire: Wire):
    begun = (GET.replace("\n", "\r\n") + "X: ").ljust(LARGEST_HEAD, "x")
    answer = wire.exchange_bytes(begun.encode())
    hold_to_the_contract(answer)
    assert answer.outcome == (431, "headers_too_large")


def test_a_broken_chunk_is_refused(wire: Wire, api: Api):
    answer = wire.exchange(CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n")
    hold_to_the_contract(answer)
    assert answer.outcome == (400, "malformed_request")


def test_the_server_does_not_name_itself(wire: Wire, api: Api):
    for answer in (api.list(), api.send("GET", "/nothing"), wire.exchange(GET + "no header")):
        assert not {"server", "via", "x-powered-by"} & answer.headers.keys()


def test_a_request_that_nobody_finishes_blocks_no_other(wire: Wire, api: Api):
    with socket.create_connection((wire.host, wire.port)) as connection:
        connection.sendall(GET.replace("\n", "\r\n").encode())
        assert api.list().status == 200


def test_a_client_that_leaves_without_its_answer_harms_nobody(wire: Wire, api: Api):
    for _ in range(20):
        with socket.create_connection((wire.host, wire.port)) as connection:
            connection.sendall(GET.replace("\n", "\r\n").encode() + b"\r\n")
    assert api.list().status == 200
