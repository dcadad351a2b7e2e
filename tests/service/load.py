"""Load on a service: requests at a constant rate, even if earlier ones have no response yet."""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from urllib.parse import urlsplit

from attrs import field, frozen

_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)")


@frozen
class Figures:
    """The results of the requests."""

    seconds: float
    """The time until the last response, in seconds."""
    statuses: Counter[str]
    latencies: dict[str, list[float]] = field(repr=False)
    """The response times in seconds, by status, in ascending order."""

    def rate(self, status: str = "200") -> float:
        return self.statuses[status] / self.seconds

    def percentile(self, hundredth: float, status: str = "200") -> float:
        latencies = self.latencies[status]
        return latencies[min(int(len(latencies) * hundredth / 100), len(latencies) - 1)]

    def slowest(self, status: str) -> float:
        return self.latencies[status][-1] if self.latencies.get(status) else 0.0


class _Exchange:
    """A connection and the request in flight on it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.socket()
        self.socket.setblocking(False)
        with suppress(BlockingIOError):
            self.socket.connect(address)
        self.begun = 0.0
        self.received = b""
        self.sent_request = False

    def is_over(self) -> bool:
        """Return whether the service has closed the connection."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


def send_at_rate(
    rate: float, seconds: float, url: str, request: bytes, *, keep_alive: bool = True
) -> Figures:
    """Send `rate` requests per second for `seconds`, and wait for their responses.

    With `keep_alive`, requests reuse idle connections.
    """
    host = urlsplit(url)
    address = (host.hostname or "", host.port or 0)
    statuses: Counter[str] = Counter()
    latencies: dict[str, list[float]] = {}
    free: list[_Exchange] = []
    selector = selectors.DefaultSelector()
    started = time.perf_counter()
    sent = in_flight = 0

    def begin() -> None:
        while free and free[-1].is_over():
            free.pop().socket.close()
        exchange = free.pop() if free else _Exchange(address)
        exchange.begun, exchange.received, exchange.sent_request = time.perf_counter(), b"", False
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
        """Continue the exchange, and return whether it has ended."""
        try:
            if not exchange.sent_request:
                exchange.socket.send(request)
                exchange.sent_request = True
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
            keep = keep_alive and b"\r\nConnection: close" not in head
            end(exchange, head[9:12].decode(), keep=keep)
            return True
        if not part:
            end(exchange, "closed", keep=False)
        return not part

    while (now := time.perf_counter()) < started + seconds or in_flight:
        due = min(int((now - started) * rate), int(rate * seconds))
        while sent < due:
            begin()
            sent, in_flight = sent + 1, in_flight + 1
        for key, _ in selector.select(0.002):
            in_flight -= proceed(key.data)
        if now > started + seconds + 15:
            statuses["no response"] += in_flight
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


def send_all(requests: Sequence[bytes], connections: int, url: str) -> Counter[str]:
    """Send each request on a new connection, and return the statuses.

    `connections` is the number of connections that are open at the same time. The requests must
    contain `Connection: close`.
    """
    host = urlsplit(url)
    address = (host.hostname or "", host.port or 0)
    statuses: Counter[str] = Counter()
    begun = 0
    with selectors.DefaultSelector() as selector:
        while statuses.total() < len(requests):
            while begun < len(requests) and begun - statuses.total() < connections:
                data = _Exchange(address), requests[begun]
                selector.register(data[0].socket, selectors.EVENT_WRITE, data)
                begun += 1
            for key, _ in selector.select():
                exchange, request = key.data
                part = b""
                try:
                    if not exchange.sent_request:
                        exchange.socket.send(request)
                        exchange.sent_request = True
                        selector.modify(exchange.socket, selectors.EVENT_READ, key.data)
                        continue
                    part = exchange.socket.recv(65_536)
                    exchange.received += part
                    outcome = exchange.received[9:12].decode() or "closed"
                except OSError as error:
                    outcome = type(error).__name__
                if not part:
                    selector.unregister(exchange.socket)
                    exchange.socket.close()
                    statuses[outcome] += 1
    return statuses


@contextmanager
def in_background(step: Callable[[], None], pause: float) -> Iterator[None]:
    """Repeat the step until the block ends, with `pause` seconds in between."""
    stopping = Event()

    def run() -> None:
        while not stopping.wait(pause):
            step()

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


class SlowSenders:
    """Connections that send a request byte by byte, and reconnect when the service closes them."""

    def __init__(self, url: str, number: int) -> None:
        host = urlsplit(url)
        self._address = (host.hostname or "", host.port or 0)
        self._sockets = [self._connect() for _ in range(number)]
        self.closed = 0

    def send_bytes(self) -> None:
        """Send one more byte on each connection."""
        for number, sender in enumerate(self._sockets):
            try:
                sender.send(b"G")
            except OSError:
                self.closed += 1
                sender.close()
                with suppress(ConnectionRefusedError):  # The service has stopped listening.
                    self._sockets[number] = self._connect()

    def close(self) -> None:
        for sender in self._sockets:
            sender.close()

    def _connect(self) -> socket.socket:
        connected = socket.create_connection(self._address)
        connected.setblocking(False)
        with suppress(OSError):
            connected.send(b"GET / HTTP/1.1\r\nX: ")
        return connected


class SlowReaders:
    """Connections that request a large response and read it slowly."""

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

    def read_some(self) -> None:
        for reader in self._sockets:
            with suppress(OSError):
                reader.recv(100)

    def close(self) -> None:
        for reader in self._sockets:
            reader.close()
