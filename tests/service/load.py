"""Load on a service: requests at a steady rate, whatever becomes of those before."""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from urllib.parse import urlsplit

from attrs import field, frozen

_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)")


@frozen
class Figures:
    """What became of some requests."""

    seconds: float
    """Until the last was answered."""
    statuses: Counter[str]
    latencies: dict[str, list[float]] = field(repr=False)
    """In seconds, by status, in ascending order."""

    def rate(self, status: str = "200") -> float:
        return self.statuses[status] / self.seconds

    def percentile(self, hundredth: float, status: str = "200") -> float:
        latencies = self.latencies[status]
        return latencies[min(int(len(latencies) * hundredth / 100), len(latencies) - 1)]

    def slowest(self, status: str) -> float:
        return self.latencies[status][-1] if self.latencies.get(status) else 0.0


class _Exchange:
    """A connection, and the one request that is under way on it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.socket()
        self.socket.setblocking(False)
        with suppress(BlockingIOError):
            self.socket.connect(address)
        self.begun = 0.0
        self.received = b""
        self.asked = False

    def is_over(self) -> bool:
        """Has the service ended the connection? Clients look before they ask."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


def requests_at(
    rate: float, seconds: float, url: str, request: bytes, *, kept: bool = True
) -> Figures:
    """Ask that often, over kept connections where one is free; then wait for what is missing."""
    host = urlsplit(url)
    address = (host.hostname or "", host.port or 0)
    statuses: Counter[str] = Counter()
    latencies: dict[str, list[float]] = {}
    free: list[_Exchange] = []
    selector = selectors.DefaultSelector()
    started = time.perf_counter()
    sent = under_way = 0

    def ask() -> None:
        while free and free[-1].is_over():
            free.pop().socket.close()
        exchange = free.pop() if free else _Exchange(address)
        exchange.begun, exchange.received, exchange.asked = time.perf_counter(), b"", False
        selector.register(exchange.socket, selectors.EVENT_WRITE, exchange)

    def end(exchange: _Exchange, outcome: str, *, keep: bool) -> None:
        selector.unregister(exchange.socket)
        statuses[outcome] += 1
        latencies.setdefault(outcome, []).append(time.perf_counter() - exchange.begun)
        if keep:
            free.append(exchange)
        else:
            exchange.socket.close()

    def proceed(exchange: _Exchange) -> bool:
        """Is the exchange over?"""
        try:
            if not exchange.asked:
                exchange.socket.send(request)
                exchange.asked = True
                selector.modify(exchange.socket, selectors.EVENT_READ, exchange)
                return False
            part = exchange.socket.recv(65_536)
        except OSError as error:
            end(exchange, type(error).__name__, keep=False)
            return True
        exchange.received += part
        head, found, body = exchange.received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if found and length and len(body) >= int(length[1]):
            keep = kept and b"\r\nConnection: close" not in head
            end(exchange, head[9:12].decode(), keep=keep)
            return True
        if not part:
            end(exchange, "cut off", keep=False)
        return not part

    while (now := time.perf_counter()) < started + seconds or under_way:
        due = min(int((now - started) * rate), int(rate * seconds))
        while sent < due:
            ask()
            sent, under_way = sent + 1, under_way + 1
        for key, _ in selector.select(0.002):
            under_way -= proceed(key.data)
        if now > started + seconds + 15:
            statuses["unanswered"] += under_way
            break
    ended = time.perf_counter()
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    for exchange in free:
        exchange.socket.close()
    selector.close()
    for values in latencies.values():
        values.sort()
    return Figures(ended - started, statuses, latencies)


@contextmanager
def in_background(step: Callable[[], None], pause: float) -> Iterator[None]:
    """Takes the step again and again, until the block ends."""
    ends = Event()

    def run() -> None:
        while not ends.wait(pause):
            step()

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


class Drip:
    """Connections that send a request byte by byte, and begin anew when they are cut off."""

    def __init__(self, url: str, number: int) -> None:
        host = urlsplit(url)
        self._address = (host.hostname or "", host.port or 0)
        self._sockets = [self._connect() for _ in range(number)]
        self.cut_off = 0

    def drop(self) -> None:
        """One byte more of each."""
        for number, dripping in enumerate(self._sockets):
            try:
                dripping.send(b"G")
            except OSError:
                self.cut_off += 1
                dripping.close()
                with suppress(ConnectionRefusedError):  # The service is about to end.
                    self._sockets[number] = self._connect()

    def close(self) -> None:
        for dripping in self._sockets:
            dripping.close()

    def _connect(self) -> socket.socket:
        connected = socket.create_connection(self._address)
        connected.setblocking(False)
        with suppress(OSError):
            connected.send(b"GET / HTTP/1.1\r\nX: ")
        return connected


class SlowReaders:
    """Connections that ask for much and take little of it."""

    def __init__(self, url: str, number: int, request: bytes) -> None:
        host = urlsplit(url)
        self._sockets = []
        for _ in range(number):
            reader = socket.socket()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect((host.hostname, host.port))
            reader.sendall(request)
            reader.setblocking(False)
            self._sockets.append(reader)

    def sip(self) -> None:
        for reader in self._sockets:
            with suppress(OSError):
                reader.recv(100)

    def close(self) -> None:
        for reader in self._sockets:
            reader.close()
