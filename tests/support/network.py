"""Ports of the loopback address, and requests to them."""

from __future__ import annotations

import select
import socket
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from threading import Thread

from .waiting import TIMEOUT


def free_port() -> int:
    """Return a port of 127.0.0.1 on which no process listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def http_status(port: int, path: str, key: str = "", **headers: str) -> int | None:
    """Return the status of the response to a GET request, or None if nothing accepts it."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}", **headers})
        return connection.getresponse().status
    except ConnectionError:
        return None
    finally:
        connection.close()


class RoundTripCounter(socketserver.ThreadingTCPServer):
    """A relay to a port of 127.0.0.1 that counts the round trips of its clients."""

    daemon_threads = True

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), _Relay)
        self.target = target
        self.port: int = self.server_address[1]
        self.round_trips = 0

    @classmethod
    @contextmanager
    def running(cls, target: int) -> Iterator[RoundTripCounter]:
        """Run a relay to this port for the block."""
        with cls(target) as counter:
            thread = Thread(target=counter.serve_forever)
            thread.start()
            try:
                yield counter
            finally:
                counter.shutdown()
                thread.join()


class _Relay(socketserver.BaseRequestHandler):
    server: RoundTripCounter

    def handle(self) -> None:
        """Relay one connection. A round trip begins if the client sends after the server sent."""
        with socket.create_connection(("127.0.0.1", self.server.target)) as target:
            other = {self.request: target, target: self.request}
            sender = target
            while True:
                [readable, *_], _, _ = select.select(list(other), [], [])
                data = readable.recv(65536)
                if not data:
                    return
                self.server.round_trips += readable is not sender and readable is self.request
                sender = readable
                other[readable].sendall(data)
