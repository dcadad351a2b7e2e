"""An HTTP server on the loopback address that simulates an external service and its faults."""

from __future__ import annotations

import json
import socket
import ssl
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import TypeAlias
from urllib.parse import parse_qsl, urlsplit

from attrs import field, frozen


@frozen
class ReceivedRequest:
    """A request that the server has received; `origin` is the URL of the server."""

    origin: str
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))


@frozen
class StubResponse:
    """A response; `content_length` replaces its `Content-Length` if it is not None."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(factory=dict)
    content_length: int | None = None

    @classmethod
    def json(cls, value: object, **headers: str) -> StubResponse:
        return cls(200, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


HANG = "hang"
"""Send no response until the server is closed."""

RESET = "reset"
"""Reset the connection instead of sending a response."""

Pieces: TypeAlias = Iterable[bytes]
"""Send these pieces, which include the headers, one after the other."""

Reply: TypeAlias = StubResponse | Pieces | str
Handler: TypeAlias = Callable[[ReceivedRequest], Reply]


class StubServer:
    """The handler of a server, and the requests that the server has received."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[ReceivedRequest] = []
        self.errors: list[Exception] = []
        self.connections = 0
        self.closing = Event()
        self.url = ""

    def reply(self, request: ReceivedRequest) -> Reply:
        """Record the request and return the handler's reply. An exception fails the test."""
        self.requests.append(request)
        try:
            return self.handler(request)
        except Exception as error:  # noqa: BLE001
            self.errors.append(error)
            return StubResponse(418)


@contextmanager
def stub_server(handler: Handler, *, certificate: Path | None = None) -> Iterator[StubServer]:
    """Run a server on a free port, over TLS if there is a certificate with its key."""
    stub = StubServer(handler)
    server = _Server(("127.0.0.1", 0), _handler_class(stub))
    server.daemon_threads = False  # Closing the server waits until every connection is closed.
    stub.url = f"http://127.0.0.1:{server.server_port}"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        stub.url = f"https://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
    assert stub.errors == []


def always(reply: Reply) -> Handler:
    """Return a handler that sends this reply to every request."""
    return lambda _: reply


def in_turn(replies: Iterable[Reply], then: Handler) -> Handler:
    """Return a handler that sends one of these replies per request, and then calls `then`."""
    remaining = iter(replies)

    def handler(request: ReceivedRequest) -> Reply:
        reply = next(remaining, None)
        return then(request) if reply is None else reply

    return handler


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignore clients that close the connection: some tests do so."""


def _handler_class(stub: StubServer) -> type[BaseHTTPRequestHandler]:
    class RequestHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def handle(self) -> None:
            stub.connections += 1
            try:
                super().handle()
            finally:
                stub.connections -= 1

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = ReceivedRequest(stub.url, self.command, self.path, headers, body)
            self.send(stub.reply(request))

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815

        def send(self, reply: Reply) -> None:
            if isinstance(reply, StubResponse):
                self.send_stub_response(reply)
                return
            self.close_connection = True
            if reply == HANG:
                stub.closing.wait(10)
            elif reply == RESET:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            else:
                assert not isinstance(reply, str)
                self.send_pieces(reply)

        def send_stub_response(self, response: StubResponse) -> None:
            self.send_response(response.status)
            length = response.content_length
            if length is None:
                length = len(response.body)
            for name, value in {"Content-Length": str(length), **response.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.body)
            self.close_connection = response.content_length is not None

        def send_pieces(self, pieces: Pieces) -> None:
            try:
                for piece in pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                pass  # the client has closed the connection

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return RequestHandler
