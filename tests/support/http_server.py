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
class Heard:
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
class Played:
    """A response; `promised` replaces its `Content-Length` if it is not None."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(factory=dict)
    promised: int | None = None

    @classmethod
    def json(cls, value: object, **headers: str) -> Played:
        return cls(200, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


HANG = "hang"
"""Send no response until the server is closed."""

RESET = "reset"
"""Reset the connection instead of sending a response."""

Drip: TypeAlias = Iterable[bytes]
"""Send these pieces, which include the headers, one after the other."""

Act: TypeAlias = Played | Drip | str
Play: TypeAlias = Callable[[Heard], Act]


class Stage:
    """The state of the server: its behavior, and the requests that it has received."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.heard: list[Heard] = []
        self.defects: list[Exception] = []
        self.connections = 0
        self.closing = Event()
        self.url = ""

    def act(self, heard: Heard) -> Act:
        """Record the request and return the act for it. An exception is a defect of the test."""
        self.heard.append(heard)
        try:
            return self.play(heard)
        except Exception as defect:  # noqa: BLE001
            self.defects.append(defect)
            return Played(418)


@contextmanager
def staged(play: Play, *, certificate: Path | None = None) -> Iterator[Stage]:
    """Run a server on a free port, over TLS if there is a certificate with its key."""
    stage = Stage(play)
    server = _Server(("127.0.0.1", 0), _handler(stage))
    server.daemon_threads = False  # so that closing waits for every connection to be closed
    stage.url = f"http://127.0.0.1:{server.server_port}"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        stage.url = f"https://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stage
    finally:
        stage.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
    assert stage.defects == []


def always(act: Act) -> Play:
    """Return a behavior: this act at every request."""
    return lambda _: act


def in_turn(acts: Iterable[Act], then: Play) -> Play:
    """Return a behavior: one of these acts per request, and then `then`."""
    remaining = iter(acts)

    def play(heard: Heard) -> Act:
        act = next(remaining, None)
        return then(heard) if act is None else act

    return play


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignore clients that close the connection: some tests do so."""


def _handler(stage: Stage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def handle(self) -> None:
            stage.connections += 1
            try:
                super().handle()
            finally:
                stage.connections -= 1

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.perform(stage.act(Heard(stage.url, self.command, self.path, headers, body)))

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815

        def perform(self, act: Act) -> None:
            if isinstance(act, Played):
                self.answer(act)
                return
            self.close_connection = True
            if act == HANG:
                stage.closing.wait(10)
            elif act == RESET:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            else:
                assert not isinstance(act, str)
                self.drip(act)

        def answer(self, act: Played) -> None:
            self.send_response(act.status)
            length = len(act.body) if act.promised is None else act.promised
            for name, value in {"Content-Length": str(length), **act.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(act.body)
            self.close_connection = act.promised is not None

        def drip(self, pieces: Drip) -> None:
            try:
                for piece in pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                pass  # nobody listens any more

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler
