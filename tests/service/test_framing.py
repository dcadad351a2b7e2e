"""Requests that the server rejects with the error object of the API."""

from __future__ import annotations

import json
import socket
from http.client import HTTPResponse
from urllib.parse import urlsplit

import pytest

from ..support.waiting import TIMEOUT

POST = b"POST /api/v1/recipient_fields HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
GET = b"GET /healthz HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
REQUEST = GET + HOST + b"\r\n"

MALFORMED = [
    # Both a length and a transfer coding, invalid transfer codings, ambiguous lengths.
    POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    CHUNKED.replace(b"/1.1", b"/1.0") + b"0\r\n\r\n",
    CHUNKED.replace(b"/1.1", b"/1.2") + b"0\r\n\r\n",
    POST + b"Transfer-Encoding:\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n{",
    POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{",
    POST + b"Content-Length: ten\r\n\r\n",
    POST + b"Content-Length: -1\r\n\r\n",
    POST + b"Content-Length: +1\r\n\r\n{",
    POST + b"Content-Length: 1, 1\r\n\r\n{",
    POST + b"Content-Length: 1_0\r\n\r\n{",
    POST + b"Content-Length: \xb2\r\n\r\n{",
    POST + b"Content-Length: 0x1\r\n\r\n{",
    POST + b"Content-Length:\r\n\r\n",
    # The host.
    GET + b"\r\n",
    GET + HOST + HOST + b"\r\n",
    GET + HOST + b"Host: other\r\n\r\n",
    GET + b"Host: a b\r\n\r\n",
    GET + b"Host: user@localhost\r\n\r\n",
    # Headers.
    GET + HOST + b"X: a\r\n b\r\n\r\n",
    GET + b" X: a\r\n" + HOST + b"\r\n",
    GET + b"Host : localhost\r\n\r\n",
    GET + HOST + b"X\x00: a\r\n\r\n",
    GET + HOST + b"X(: a\r\n\r\n",
    GET + HOST + b": a\r\n\r\n",
    GET + HOST + b"no colon\r\n\r\n",
    GET + HOST + b"X: a\x00b\r\n\r\n",
    GET + HOST + b"X: a\rb\r\n\r\n",
    GET + HOST + b"X: a\nY: b\r\n\r\n",
    GET + HOST + b"X: a\x7f\r\n\r\n",
    GET + HOST + b"X: a\r\r\n\r\n",
    # The request line.
    b"Recipient fields, please.\r\n\r\n",
    b"GET /healthz\r\n\r\n",
    b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n",
    b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n",
    b"GET /healthz HTTP/1.10\r\n" + HOST + b"\r\n",
    b"GET /healthz http/1.1\r\n" + HOST + b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"get /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET\t/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    b" GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /health\x00z HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /health\x80z HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /healthz#x HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET ?x HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET http://[::1/ HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET http://a@b/ HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET ftp://localhost/ HTTP/1.1\r\n" + HOST + b"\r\n",
    b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    b"\r\n\r\n" + REQUEST,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    # The server rejects these before the end of the headers.
    b"GET /healthz\r\n",
    b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    # Chunks.
    CHUNKED + b"ten\r\n",
    CHUNKED + b"-1\r\n",
    CHUNKED + b"0x1\r\n{\r\n0\r\n\r\n",
    CHUNKED + b"1 \r\n{\r\n0\r\n\r\n",
    CHUNKED + b"\r\n1\r\n{\r\n0\r\n\r\n",
    CHUNKED + b"1\n{\r\n0\r\n\r\n",
    CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
    CHUNKED + b"1\r\n{\n0\r\n\r\n",
    CHUNKED + b"f" * 17 + b"\r\n",
    CHUNKED + b"1;\r\n{\r\n0\r\n\r\n",
    CHUNKED + b"1;a=\x00\r\n{\r\n0\r\n\r\n",
    CHUNKED + b"1;a\rb\r\n{\r\n0\r\n\r\n",
    CHUNKED + b"1;" + b"a" * 300,
    CHUNKED + b"0\r\nno colon\r\n\r\n",
    CHUNKED + b"0\r\nX: a\nb\r\n\r\n",
]

TOO_LARGE = [
    (GET + b"X: " + b"a" * 17_000 + b"\r\n\r\n", 431, "headers_too_large"),
    (GET + b"X: a\r\n" * 3_000 + b"\r\n", 431, "headers_too_large"),
    (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "uri_too_long"),
    (b"GET /" + b"a" * 20_000, 414, "uri_too_long"),
    (CHUNKED + b"0\r\n" + b"X: a\r\n" * 3_000, 431, "headers_too_large"),
    (CHUNKED + b"0\r\nX: " + b"a" * 5_000, 431, "headers_too_large"),
    (CHUNKED + b"400001\r\n", 413, "payload_too_large"),
    (CHUNKED + b"f" * 16 + b"\r\n", 413, "payload_too_large"),
    (CHUNKED + b"1;aaaaaaaa\r\n{\r\n" * 320_000, 413, "payload_too_large"),
    (POST + b"Content-Length: 4194305\r\n\r\n", 413, "payload_too_large"),
    (POST + b"Content-Length: 99999999\r\n\r\n", 413, "payload_too_large"),
    (POST + b"Content-Length: 12345678901234567890\r\n\r\n", 413, "payload_too_large"),
    (POST + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n", 413, "payload_too_large"),
    (
        POST + b"Expect: 100-continue\r\nContent-Length: 4194305\r\n\r\n",
        413,
        "payload_too_large",
    ),
]

UNSUPPORTED = [
    (POST + b"Transfer-Encoding: gzip\r\n\r\n", 501, "not_implemented"),
    (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "not_implemented"),
    (POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n", 501, "not_implemented"),
    (POST + b"Transfer-Encoding: identity\r\n\r\n", 501, "not_implemented"),
]


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [*((sent, 400, "malformed_request") for sent in MALFORMED), *TOO_LARGE, *UNSUPPORTED],
    ids=lambda value: ascii(value)[-40:],
)
def test_a_rejected_request_gets_an_error_object_and_closes_the_connection(
    service, request_, status, code
):
    response = service.anonymous.send_bytes(request_)

    assert (response.status, response.code) == (status, code)
    assert response.headers["Connection"] == "close"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Vary"] == "Authorization, Accept"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Server" not in response.headers
    assert service.anonymous("GET", "/healthz").status == 200


def test_a_request_after_a_rejected_one_is_not_processed(service):
    hidden = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for malformed in MALFORMED:
        assert service.anonymous.send_bytes(malformed + hidden).status == 400


@pytest.mark.parametrize(
    "rest",
    [
        b"Host: localhost\r\nHost: localhost\r\n\r\n",
        b"X : a\r\n\r\n",
        b"X: \x01\r\n\r\n",
        b"X: " + b"a" * 17_000,
        b"Content-Length: 2, 2\r\n" + HOST + b"\r\n",
    ],
)
def test_headers_before_the_fault_apply_to_the_rejection(service, rest):
    response = service.anonymous.send_bytes(GET + b"X-Request-Id: mine\r\n" + rest)

    assert response.headers["X-Request-Id"] == "mine"
    assert json.loads(response.body)["error"]["request_id"] == "mine"


@pytest.mark.parametrize(
    "sent",
    [
        GET + b"X: a\r\n\r\nX-Request-Id: mine\r\n\r\n",
        GET + b"X_Request_Id: mine\r\nX : a\r\n\r\n",
        GET + b"X : a\r\nX-Request-Id: mine\r\n\r\n",
        b"\r\n\r\nX-Request-Id: mine\r\nX: a\r\n\r\n",
    ],
)
def test_other_lines_do_not_apply_to_the_rejection(service, sent):
    assert service.anonymous.send_bytes(sent).headers["X-Request-Id"] != "mine"


@pytest.mark.parametrize(
    "sent",
    [
        b"HEAD /" + b"a" * 9_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"HEAD /a# HTTP/1.1\r\n" + HOST + b"\r\n",
        b"HEAD / HTTP/1.1\r\nX: \x01\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nX : a\r\n\r\n",
    ],
    ids=lambda value: ascii(value)[-40:],
)
def test_a_rejected_head_request_gets_no_body(service, sent):
    host = urlsplit(service.url)
    with socket.create_connection((host.hostname, host.port), timeout=TIMEOUT) as connection:
        connection.sendall(sent)
        response = b"".join(iter(lambda: connection.recv(65_536), b""))

    assert response.startswith(b"HTTP/1.1 4")
    assert response.endswith(b"\r\n\r\n")


def test_a_client_that_is_rejected_while_it_sends_can_read_the_response(service):
    body = b" " * (8 * 1024 * 1024)
    response = service.anonymous.send_bytes(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    assert (response.status, response.code) == (413, "payload_too_large")


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n" + REQUEST,
        GET.replace(b"/healthz", b"http://LOCALHOST:80/healthz?") + HOST + b"\r\n",
        GET + HOST + b"X:\r\nY:\ta\x80 b \t\r\nX: again\r\nX_Y: (\r\n\r\n",
        GET.replace(b"1.1", b"1.0") + b"\r\n",
        GET + HOST + b"Content-Length: 01\r\n\r\n{",
        GET + HOST + b"Expect: 100-continue\r\n\r\n",
        GET + HOST + b"Transfer-Encoding: CHUNKED\r\n\r\n"
        b'01;a;b=c;d="e\\"; f"\r\n{\r\n00\r\nX: dropped\r\n\r\n',
    ],
    ids=lambda value: ascii(value)[-40:],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_unusual_but_unambiguous_requests_are_accepted(service, sent, at_once):
    host = urlsplit(service.url)
    with socket.create_connection((host.hostname, host.port), timeout=TIMEOUT) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in [sent] if at_once else [sent[n : n + 1] for n in range(len(sent))]:
            connection.sendall(piece)
        with HTTPResponse(connection) as response:
            response.begin()
            assert (response.status, response.read()) == (200, b'{"status":"ok"}')
