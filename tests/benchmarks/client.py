"""The bundled client: sends a load, read as JSON from standard input, and prints the results."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from selectors import EVENT_READ, DefaultSelector
from socket import create_connection, socket
from time import perf_counter
from typing import Any

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TAG = re.compile(rb"\r\netag: *(\S+)", re.IGNORECASE)
_LAST = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
_TIMEOUT = 10


class Connection:
    """Sends requests one after the other, over one connection while the server keeps it open."""

    def __init__(self, address: tuple[str, int], selector: DefaultSelector) -> None:
        self.sent_at = 0.0
        self._address = address
        self._selector = selector
        self._socket: socket | None = None
        self._received = bytearray()

    def send(self, request: bytes) -> None:
        self.sent_at = perf_counter()
        if self._socket is None:
            self._socket = create_connection(self._address, timeout=_TIMEOUT)
            self._selector.register(self._socket, EVENT_READ, self)
        self._socket.sendall(request)

    def receive(self) -> bytes | None:
        """Return the head of the response, or None until the response is complete."""
        assert self._socket is not None
        received = self._socket.recv(1 << 20)
        if not received:
            raise ConnectionResetError("the server closed the connection")
        self._received += received
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._received[:end])
        length = _LENGTH.search(head)
        if len(self._received) < end + 4 + (int(length[1]) if length else 0):
            return None
        self._received.clear()
        if _LAST.search(head):
            self.close()
        return head

    def close(self) -> None:
        if self._socket is not None:
            self._selector.unregister(self._socket)
            self._socket.close()
            self._socket = None


class Results:
    """Latencies of the responses, and the number of wrong ones."""

    def __init__(self, status: int) -> None:
        self.latencies: list[float] = []
        self.wrong = 0
        self.repeated = 0
        self._begin = b"HTTP/1.1 %d " % status
        self._tags: set[bytes] = set()

    def record(self, head: bytes, latency: float) -> None:
        self.latencies.append(latency)
        self.wrong += not head.startswith(self._begin)
        tag = _TAG.search(head)
        if tag is not None:
            self.repeated += tag[1] in self._tags
            self._tags.add(tag[1])

    def summary(self, seconds: float) -> dict[str, object]:
        latencies = sorted(self.latencies)
        return {
            "requests": len(latencies),
            "seconds": seconds,
            "p50": latencies[len(latencies) // 2],
            "p99": latencies[len(latencies) * 99 // 100],
            "wrong": self.wrong,
            "repeated": self.repeated,
        }


def numbered(requests: list[str], number: str) -> Callable[[], bytes]:
    """Return a function that returns the requests in turn, with a number in each."""
    sent = 0

    def next_request() -> bytes:
        nonlocal sent
        request = requests[sent % len(requests)].replace(number, f"{sent:09}")
        sent += 1
        return request.encode()

    return next_request


def drive(load: dict[str, Any]) -> dict[str, object]:
    """Keep every connection busy until the time is over, and wait for the last responses."""
    next_request = numbered(load["requests"], load["number"])
    results = Results(load["status"])
    selector = DefaultSelector()
    begin = perf_counter()
    for _ in range(load["connections"]):
        Connection((load["host"], load["port"]), selector).send(next_request())
    while selector.get_map():
        ready = selector.select(_TIMEOUT)
        if not ready:
            raise TimeoutError("no response")
        for key, _ in ready:
            connection = key.data
            head = connection.receive()
            if head is None:
                continue
            now = perf_counter()
            results.record(head, now - connection.sent_at)
            if now - begin < load["seconds"]:
                connection.send(next_request())
            else:
                connection.close()
    return results.summary(perf_counter() - begin)


json.dump(drive(json.load(sys.stdin)), sys.stdout)
