"""A host of its own for each test, with an application that does as it is told, and raw clients."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from threading import Event, Thread, current_thread
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from attrs import frozen

from recipient_fields.entrypoints.http.bodies import LARGEST_BODY
from recipient_fields.entrypoints.http.host_rejections import HostRejections
from recipient_fields.entrypoints.server.addresses import listen
from recipient_fields.entrypoints.server.listener import Listener

TIMEOUT = 20


@frozen
class Answer:
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


class Peer:
    """One connection to a host."""

    def __init__(self, address: tuple[str, int], receives: int | None = None) -> None:
        self.socket = socket.socket()
        if receives is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(address)

    def send(self, text: str) -> None:
        self.socket.sendall(text.encode("latin-1"))

    def get(self, path: str, method: str = "GET", *fields: str) -> Answer:
        self.ask(path, method, *fields)
        return self.answer(method)

    def ask(self, path: str, method: str = "GET", *fields: str) -> None:
        self.send("\r\n".join([f"{method} {path} HTTP/1.1", "Host: h", *fields, "", ""]))

    def answer(self, method: str = "GET") -> Answer:
        response = HTTPResponse(self.socket, method=method)
        # Unbuffered, so that nothing of the next answer is taken from the socket.
        response.fp = self.socket.makefile("rb", 0)  # type: ignore[assignment]
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        body = b""
        while response.length and (part := response.read(response.length)):
            body += part
        assert not response.length, "The answer is cut off."
        return Answer(response.status, headers, body)

    @property
    def ended(self) -> bool:
        """Waits for the host's end of the connection; False where it says something instead."""
        return self.socket.recv(1) == b""

    def close(self) -> None:
        self.socket.close()


class Host:
    """A listener in a thread. Its application answers by the path of the request."""

    def __init__(self, threads: int, connections: int) -> None:
        listening = listen("127.0.0.1", 0, shared=False)
        self.address: tuple[str, int] = listening.getsockname()
        self.release = Event()
        """What `/wait` waits for."""
        self.answered = 0
        self.listener = Listener(
            self._app,
            listening,
            reject=HostRejections(),
            largest_body=LARGEST_BODY,
            threads=threads,
            connections=connections,
        )
        self._peers: list[Peer] = []
        self._thread = Thread(target=self.listener.run)
        self._thread.start()

    def connect(self, receives: int | None = None) -> Peer:
        peer = Peer(self.address, receives)
        self._peers.append(peer)
        return peer

    def working(self, path: str = "/wait") -> Peer:
        """A connection whose request a worker has begun to answer."""
        begun = self.begun
        peer = self.connect()
        peer.ask(path)
        eventually(lambda: self.begun > begun)
        return peer

    def has_connections(self, number: int) -> bool:
        return len(self.listener.active_channels) == number

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> None:
        self.release.set()
        self.listener.drain()
        for peer in self._peers:
            peer.close()
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
        self.answered += 1
        if kind in {"204", "304"}:
            start_response(f"{kind} Fine", [("ETag", '"1"')])
            return []
        body = b"x" * int(environ["PATH_INFO"].split("/")[2]) if kind == "large" else b"ok"
        if kind == "thread":
            body = current_thread().name.encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


@contextmanager
def host(threads: int = 2, connections: int = 20) -> Iterator[Host]:
    host = Host(threads, connections)
    try:
        yield host
    finally:
        host.stop()


def eventually(ask: Callable[[], Any]) -> None:
    end = time.monotonic() + TIMEOUT
    while not ask():
        assert time.monotonic() < end, "It has not happened in time."
        time.sleep(0.005)
