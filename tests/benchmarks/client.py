"""The bundled client: sends a load, read as JSON from standard input, and tells what it saw."""

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
_NOTHING_COMES = 10


class Conversation:
    """Requests that follow each other's answers, on one connection as long as it is kept."""

    def __init__(self, address: tuple[str, int], selector: DefaultSelector) -> None:
        self.asked = 0.0
        self._address = address
        self._selector = selector
        self._socket: socket | None = None
        self._received = bytearray()

    def ask(self, request: bytes) -> None:
        self.asked = perf_counter()
        if self._socket is None:
            self._socket = create_connection(self._address, timeout=_NOTHING_COMES)
            self._selector.register(self._socket, EVENT_READ, self)
        self._socket.sendall(request)

    def receive(self) -> bytes | None:
        """The head of the answer, once all of it is here."""
        assert self._socket is not None
        received = self._socket.recv(1 << 20)
        if not received:
            raise ConnectionResetError("the server hung up")
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
            self.end()
        return head

    def end(self) -> None:
        if self._socket is not None:
            self._selector.unregister(self._socket)
            self._socket.close()
            self._socket = None


class Findings:
    """How long answers took, and how many were not what they must be."""

    def __init__(self, status: int) -> None:
        self.latencies: list[float] = []
        self.wrong = 0
        self.repeated = 0
        self._begin = b"HTTP/1.1 %d " % status
        self._tags: set[bytes] = set()

    def note(self, head: bytes, latency: float) -> None:
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
    """The requests in turn."""
    sent = 0

    def following() -> bytes:
        nonlocal sent
        request = requests[sent % len(requests)].replace(number, f"{sent:09}")
        sent += 1
        return request.encode()

    return following


def drive(load: dict[str, Any]) -> dict[str, object]:
    """Keep every connection busy until the time is over, and wait for the last answers."""
    following = numbered(load["requests"], load["number"])
    findings = Findings(load["status"])
    selector = DefaultSelector()
    begin = perf_counter()
    for _ in range(load["connections"]):
        Conversation((load["host"], load["port"]), selector).ask(following())
    while selector.get_map():
        ready = selector.select(_NOTHING_COMES)
        if not ready:
            raise TimeoutError("no answer")
        for key, _ in ready:
            conversation = key.data
            head = conversation.receive()
            if head is None:
                continue
            now = perf_counter()
            findings.note(head, now - conversation.asked)
            if now - begin < load["seconds"]:
                conversation.ask(following())
            else:
                conversation.end()
    return findings.summary(perf_counter() - begin)


json.dump(drive(json.load(sys.stdin)), sys.stdout)
