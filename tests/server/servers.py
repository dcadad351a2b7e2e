"""A server for each test, whose application does what the path of a request says, and clients."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from io import BytesIO
from threading import Event, Thread, current_thread
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from attrs import frozen

from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE
from recipient_fields.entrypoints.server import limits
from recipient_fields.entrypoints.server.addresses import listen
from recipient_fields.entrypoints.server.listener import Listener
from recipient_fields.entrypoints.service.host_rejections import HostRejections

from ..support.waiting import eventually

TIMEOUT = 20


@frozen
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        code: str = json.loads(self.body)["error"]["code"]
        return code

    @property
    def outcome(self) -> tuple[int, str]:
        return self.status, self.code


class Client:
    """One connection to a server."""

    def __init__(self, address: tuple[str, int], receives: int | None = None) -> None:
        self.socket = socket.socket()
        if receives is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(address)

    def send(self, text: str) -> None:
        self.socket.sendall(text.encode("latin-1"))

    def get(self, path: str, method: str = "GET", *fields: str) -> Response:
        self.send_request(path, method, *fields)
        return self.response(method)

    def send_request(self, path: str, method: str = "GET", *fields: str) -> None:
        self.send("\r\n".join([f"{method} {path} HTTP/1.1", "Host: h", *fields, "", ""]))

    def response(self, method: str = "GET") -> Response:
        response = HTTPResponse(self.socket, method=method)
        # Unbuffered, so that nothing of the next response is taken from the socket.
        response.fp = self.socket.makefile("rb", 0)  # type: ignore[assignment]
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        body = b""
        while response.length and (part := response.read(response.length)):
            body += part
        assert not response.length, "The response is cut off."
        return Response(response.status, headers, body)

    @property
    def ended(self) -> bool:
        """Wait for the server, and return whether it closes the connection instead of sending."""
        return self.socket.recv(1) == b""

    def close(self) -> None:
        self.socket.close()


class ResponseFile(BytesIO):
    """A response, of which the application can interrupt the rest."""

    interrupted = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.interrupted:
            raise ConnectionAbortedError
        return super().read(size)


class RunningServer:
    """A listener in a thread. The path of a request selects the response of its application."""

    def __init__(self, threads: int, connections: int) -> None:
        listening = listen("127.0.0.1", 0, shared=False)
        self.address: tuple[str, int] = listening.getsockname()
        self.release = Event()
        """Set it to end the requests for `/wait`."""
        self.responded = 0
        self.files: list[ResponseFile] = []
        """The responses to requests for `/file/SIZE`."""
        self.listener = Listener(
            self._app,
            listening,
            reject=HostRejections(),
            max_body_size=MAX_BODY_SIZE,
            threads=threads,
            connections=connections,
            computations={"/wait/compute"},
        )
        self._clients: list[Client] = []
        self._thread = Thread(target=self.listener.run)
        self._thread.start()

    def connect(self, receives: int | None = None) -> Client:
        client = Client(self.address, receives)
        self._clients.append(client)
        return client

    def working(self, path: str = "/wait") -> Client:
        """Return a client whose request the application has begun to process."""
        begun = self.begun
        client = self.connect()
        client.send_request(path)
        eventually(lambda: self.begun > begun)
        return client

    def has_connections(self, number: int) -> bool:
        return len(self.listener.active_channels) == number

    def is_idle(self) -> bool:
        return all(each.idle for each in [*self.listener.active_channels.values()])

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> None:
        self.release.set()
        self.listener.drain()
        for client in self._clients:
            client.close()
        self._thread.join(TIMEOUT)
        assert self.ended
        eventually(lambda: not self.listener.task_dispatcher.threads)
        self.listener.trigger.close()

    begun = 0

    def _app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.begun += 1
        kind = environ["PATH_INFO"].split("/")[1]
        if kind == "wait":
            assert self.release.wait(TIMEOUT)
        self.responded += 1
        if kind in {"204", "304"}:
            start_response(f"{kind} Fine", [("ETag", '"1"')])
            return []
        body = b"x" * int(environ["PATH_INFO"].split("/")[2]) if kind == "large" else b"ok"
        if kind == "thread":
            body = current_thread().name.encode()
        if kind == "file":
            self.files.append(ResponseFile(b"x" * int(environ["PATH_INFO"].split("/")[2])))
            start_response("200 OK", [("Content-Length", environ["PATH_INFO"].split("/")[2])])
            wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](self.files[-1])
            return wrapped
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


@contextmanager
def running_server(
    threads: int = 2, connections: int = 20, **changed: float
) -> Iterator[RunningServer]:
    """Run a server with other limits, by their names in `limits.py`."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in changed.items():
            patch.setattr(limits, name, value)
        server = RunningServer(threads, connections)
        try:
            yield server
        finally:
            server.stop()
