"""The contract over sockets, also for what the server rejects before the application reads it.

`tests/service/test_framing.py` tests which requests the server rejects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from attrs import frozen

from recipient_fields.entrypoints.console import MAX_FORM_SIZE
from recipient_fields.entrypoints.server.limits import MAX_HEAD_SIZE

from ..support.postgres import NewDatabase
from ..support.redaction import log_lines_with_secrets
from ..support.service import Service
from .api import FIELDS, MEGABYTE, Api, ApiResponse, Headers, Transport, assert_contract, enveloped
from .conftest import STORAGES

CITY = {"name": "City", "data_type": "text"}


@frozen
class Demonstration:
    """A process of the service with demonstration data, and its key."""

    service: Service
    url: str
    api: Api

    @property
    def connection(self) -> HTTPConnection:
        return HTTPConnection(urlsplit(self.url).netloc, timeout=30)

    def exchange(self, head: str, body: bytes = b"") -> ApiResponse:
        """Return the only response to these lines and this body."""
        lines = head.format(key=self.api.key).strip().splitlines()
        sent = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
        received = self.service.anonymous.send_bytes(sent)
        headers = {name.lower(): value for name, value in received.headers.items()}
        return ApiResponse(head.split()[0], "", received.status, headers, received.body)


def send(
    connection: HTTPConnection, method: str, target: str, headers: Headers, body: bytes
) -> tuple[int, Headers, bytes]:
    """Send a request over the connection."""
    connection.putrequest(method, target, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value.encode("latin-1"))
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body or None)
    response = connection.getresponse()
    return response.status, response.getheaders(), response.read()


def chunked(body: bytes, size: int) -> bytes:
    chunks = [body[n : n + size] for n in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


@pytest.fixture(scope="module")
def server_database(migrated_database: NewDatabase) -> Iterator[str]:
    with migrated_database() as url:
        yield url


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demonstration]:
    """Run the service on memory, or on the storage of the case."""
    storage = getattr(request, "param", "memory")
    urls = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path_factory.mktemp('server')}/fields.db"}
    if storage == "postgresql":
        urls["postgresql"] = request.getfixturevalue("server_database")
    service = Service(urls[storage], "--demo")
    try:
        url, key = service.url, service.wait_for(r"shown this once: (rfk_\w+)")[1]
        yield Demonstration(service, url, Api(transport_to(url), key))
    finally:
        service.stop()
    assert log_lines_with_secrets(service.stderr) == []


def transport_to(url: str) -> Transport:
    """Return a transport that sends each request over a new connection."""

    def transport(
        method: str, target: str, headers: Headers, body: bytes
    ) -> tuple[int, Headers, bytes]:
        connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
        try:
            return send(connection, method, target, headers, body)
        finally:
            connection.close()

    return transport


@pytest.fixture
def api(server: Demonstration) -> Iterator[Api]:
    """Return a client of the demonstration, and delete the fields that the test creates."""
    before = server.api.list().keys
    yield server.api
    for key in set(server.api.list().keys) - set(before):
        assert server.api.delete(key).status == 204


on_each_storage = pytest.mark.parametrize(
    "server",
    ["memory", *(pytest.param(each, marks=pytest.mark.slow) for each in STORAGES[1:])],
    indirect=True,
)


@on_each_storage
def test_a_field_is_created_read_changed_and_deleted(api):
    created = api.post({**CITY, "name": "Größe 😀"})
    assert created.status == 201
    path = created.headers["location"]
    assert api.send("GET", path, if_none_match=created.etag).status == 304
    assert api.patch(created.field["key"], {"insertable": False}).field["insertable"] is False
    assert api.send("HEAD", path).status == 200
    assert api.send("DELETE", path).status == 204
    assert api.send("GET", path).status_and_code == (404, "not_found")


@on_each_storage
def test_a_batch_of_900_creations_takes_effect_completely_or_not_at_all(api):
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


@on_each_storage
def test_exactly_one_of_fifty_creations_of_a_key_succeeds(api):
    with ThreadPoolExecutor(50) as pool:
        responses = list(pool.map(lambda _: api.post(CITY), range(50)))
    assert Counter(response.status for response in responses) == {201: 1, 409: 49}
    assert api.list().keys.count("city") == 1


def test_headers_have_their_usual_spelling(server, api):
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
        for more in ([key], [])
        for name, _ in api.transport(method, target, [*more, *headers], b"")[1]
    }
    assert names == {
        *("Allow", "Cache-Control", "Connection", "Content-Length", "Content-Security-Policy"),
        *("Content-Type", "Date", "ETag", "Link", "Referrer-Policy", "Total-Count", "Vary"),
        *("WWW-Authenticate", "X-Content-Type-Options", "X-Request-Id"),
    }


def test_a_connection_stays_open_after_every_response(server, api):
    connection = server.connection
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


CHUNKED = f"""
POST {FIELDS} HTTP/1.1
Host: localhost
Authorization: Bearer {{key}}
Content-Type: application/json
Transfer-Encoding: chunked
Connection: close
"""


@pytest.mark.parametrize(
    ("length", "size"), [(100, 1), (100, 7), (MEGABYTE, 4_096), (MEGABYTE, None)]
)
def test_a_body_of_up_to_one_mebibyte_is_read(server, api, length, size):
    body = enveloped(CITY).encode().ljust(length)
    if size is None:
        response = api.send("POST", FIELDS, body)
    else:
        response = server.exchange(CHUNKED, chunked(body, size))
    assert_contract(response)
    assert response.status == 201


@pytest.mark.parametrize("length", [MEGABYTE + 1, MAX_FORM_SIZE + 1, 2 * MAX_FORM_SIZE])
def test_a_larger_body_is_rejected(server, api, length):
    """With the console, the server accepts `MAX_FORM_SIZE` for other routes."""
    sent = chunked(enveloped(CITY).encode().ljust(length), 65_536)[: MAX_FORM_SIZE + MEGABYTE]
    response = server.exchange(CHUNKED, sent)
    assert_contract(response)
    assert response.status_and_code == (413, "payload_too_large")
    whole = api.send("POST", FIELDS, enveloped(CITY).encode().ljust(length)[: MEGABYTE + 1])
    assert whole.status_and_code == (413, "payload_too_large")
    assert "city" not in api.list().keys


def test_a_huge_body_is_rejected_before_it_is_sent(server):
    for length in (MAX_FORM_SIZE + 1, 2 * MAX_FORM_SIZE, 10**12):
        response = server.exchange(
            f"POST {FIELDS} HTTP/1.1\nHost: localhost\nX-Request-Id: mine\nConnection: close\n"
            f"Content-Length: {length}",
            b" " * (length if length < MAX_FORM_SIZE * 2 else 0),
        )
        assert_contract(response, "mine")
        assert response.status_and_code == (413, "payload_too_large")


GET = f"GET {FIELDS} HTTP/1.1\nHost: localhost\nConnection: close\n"
KEY = "Authorization: Bearer {key}"


@pytest.mark.parametrize(
    "head",
    [
        *(f"{GET}{name}: bEARER {{key}}" for name in ("authorization", "aUTHORIZATION")),
        GET.replace(FIELDS, f"http://localhost{FIELDS}") + KEY,
    ],
    ids=["a name in small letters", "a name in mixed letters", "an absolute URL"],
)
def test_the_server_accepts(server, head):
    assert server.exchange(head).status == 200


REJECTED = {
    "two API keys": (f"{GET}{KEY}\n{KEY}", (401, "unauthorized")),
    **{
        f"the target {target}": (GET.replace(FIELDS, target, 1) + KEY, (404, "not_found"))
        for target in (
            *(f"/{FIELDS}", f"//{FIELDS}", f"{FIELDS}/", f"{FIELDS}%2Fcity"),
            *(f"http://localhost/{FIELDS}", f"http://localhost{FIELDS}%2fcity"),
            *(f"{FIELDS}/loyalty_tier/", "*", "/", "//", "/healthz/"),
        )
    },
    "an unknown method without a key": (GET.replace("GET", "BREW", 1), (401, "unauthorized")),
    "a line that is no header": (f"{GET}no header", (400, "malformed_request")),
    "two lengths": (f"{GET}Content-Length: 1\nContent-Length: 2", (400, "malformed_request")),
    "another encoding": (f"{GET}Transfer-Encoding: gzip", (501, "not_implemented")),
    "large headers": (f"{GET}X: ".ljust(MAX_HEAD_SIZE, "x"), (431, "headers_too_large")),
}


@pytest.mark.parametrize(("head", "expected"), REJECTED.values(), ids=REJECTED)
def test_a_rejection_has_the_format_of_the_api_and_does_not_name_the_server(server, head, expected):
    response = server.exchange(head)
    assert_contract(response)
    assert response.status_and_code == expected
    assert response.headers["connection"] == "close"
    assert not {"server", "via", "x-powered-by"} & response.headers.keys()


@pytest.mark.parametrize("method", ["BREW", "PROPFIND", "TRACE", "QUERY"])
def test_the_response_to_an_unknown_method_lists_the_methods(server, method):
    response = server.exchange(GET.replace("GET", method, 1) + KEY)
    assert response.status_and_code == (405, "method_not_allowed")
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"
