"""A proxy between a service and its PostgreSQL that simulates a failing network."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import sleep
from types import TracebackType
from typing import Self

from attrs import frozen

_WAITING = 64
_LARGEST_PACKET = 65_536
_ATTACH_FILTER, _DETACH_FILTER = 26, 27
"""Options of Linux, which Python does not name."""
_STEP = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_KEEP_NOTHING = struct.pack("HP", 1, ctypes.addressof(_STEP))
"""A packet filter with one instruction, which returns how many bytes of a packet are kept."""
_RESET = bytes([1, 0, 0, 0, 0, 0, 0, 0])
"""SO_LINGER with no time to linger: closing resets the connection."""


@frozen
class Pair:
    """A client's connection, and the one to the server that continues it."""

    client: socket.socket
    server: socket.socket

    def end(self) -> None:
        """Close both, which also ends the waits of threads for either."""
        for side in (self.client, self.server):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()


class Proxy:
    """Listens on a free port, and forwards data in both directions."""

    def __init__(self, port: int) -> None:
        """Forward to this port of the server."""
        self.latency = 0.0
        """Seconds that each packet takes, in either direction."""
        self._server = ("127.0.0.1", port)
        self._passing = Event()
        self._passing.set()
        self._ending = False
        self._pairs: list[Pair] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=_WAITING)
        self._address = self._listening.getsockname()
        self._accepting = Thread(target=self._accept)
        self._pumps: list[Thread] = []

    @property
    def port(self) -> int:
        port: int = self._address[1]
        return port

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._ending = True
        self._passing.set()
        socket.create_connection(self._address).close()
        self._accepting.join()
        self._listening.close()
        for pair in self._pairs:
            pair.end()
        for pump in self._pumps:
            pump.join()

    @contextmanager
    def dropping_packets(self) -> Iterator[None]:
        """Drop every packet during the block, those of new connections too.

        The system drops incoming packets before it acknowledges them. The proxy forwards nothing.
        """
        self._passing.clear()
        self._lose(packets=True)
        try:
            yield
        finally:
            self._lose(packets=False)
            self._passing.set()

    def cut(self) -> None:
        """Reset every connection, on both sides."""
        for pair in self._pairs:
            for side in (pair.client, pair.server):
                with suppress(OSError):
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            pair.end()

    def _lose(self, *, packets: bool) -> None:
        for receiving in (self._listening, *(pair.client for pair in self._pairs)):
            with suppress(OSError):  # It has ended.
                if packets:
                    receiving.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, _KEEP_NOTHING)
                else:
                    receiving.setsockopt(socket.SOL_SOCKET, _DETACH_FILTER, 0)

    def _accept(self) -> None:
        while True:
            client, _ = self._listening.accept()
            self._passing.wait()
            if self._ending:
                client.close()
                return
            try:
                pair = Pair(client, socket.create_connection(self._server))
            except OSError:
                client.close()
                continue
            self._pairs.append(pair)
            for ends in ((pair.client, pair.server), (pair.server, pair.client)):
                pump = Thread(target=self._pump, args=(pair, *ends))
                pump.start()
                self._pumps.append(pump)

    def _pump(self, pair: Pair, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while packet := source.recv(_LARGEST_PACKET):
                sleep(self.latency)
                self._passing.wait()
                target.sendall(packet)
        self._passing.wait()  # The end of a connection is a packet, too.
        pair.end()
