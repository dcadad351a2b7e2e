"""Which sockets the system is asked about."""

from __future__ import annotations

import select
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Any

from waitress.wasyncore import readwrite

_FLAGS = {
    EVENT_READ: select.POLLIN,
    EVENT_WRITE: select.POLLOUT,
    EVENT_READ | EVENT_WRITE: select.POLLIN | select.POLLOUT,
}


class Poll:
    """Sockets, each with what it waits for; wasyncore's dispatchers, as Waitress knows them.

    wasyncore asks all of them at every turn, which costs the more the more there are. Here a socket
    is asked when something has happened to it, and the system keeps it in mind. What it does not
    wait for any more is only dropped once the system tells of it in vain: a connection that is
    being answered will nearly always be read again before that.

    It belongs to one thread at a time, but for `reads`.
    """

    def __init__(self) -> None:
        self._selector = DefaultSelector()
        self._expected: dict[int, int] = {}

    def add(self, socket: Any) -> None:
        """Tell of a socket from now on, which waits to be read."""
        self._expect(socket._fileno, socket, EVENT_READ)

    def remove(self, descriptor: int) -> None:
        """Never tell of that socket again, which is about to be closed."""
        if self._expected.pop(descriptor, 0):
            self._selector.unregister(descriptor)

    def reads(self, socket: Any) -> bool:
        """Will this be told when the socket can be read?"""
        return bool(self._expected.get(socket._fileno, 0) & EVENT_READ)

    def look_at(self, socket: Any) -> None:
        """Ask the socket what else it waits for by now; nothing where it is closed."""
        descriptor = socket._fileno
        if descriptor is not None:
            self._expect(descriptor, socket, self._expected.get(descriptor, 0) | _wishes(socket))

    def turn(self, seconds: float) -> None:
        """Wait so long for something to happen, and let the sockets act on what did."""
        for key, told in self._selector.select(seconds):
            socket = key.data
            if socket._fileno != key.fd:
                continue  # Another one has closed it in this turn.
            wishes = _wishes(socket)
            if told & ~wishes:
                self._expect(key.fd, socket, wishes)
            if told & wishes:
                readwrite(socket, _FLAGS[told & wishes])
            self.look_at(socket)

    def close(self) -> None:
        """Give back what the system holds for this."""
        self._selector.close()

    def _expect(self, descriptor: int, socket: Any, events: int) -> None:
        expected = self._expected.get(descriptor, 0)
        if events == expected:
            return
        if not events:
            self._selector.unregister(descriptor)
        elif expected:
            self._selector.modify(descriptor, events, socket)
        else:
            self._selector.register(descriptor, events, socket)
        self._expected[descriptor] = events


def _wishes(socket: Any) -> int:
    """What the socket waits for. One that listens can't be written to, whatever it says."""
    reads = EVENT_READ if socket.readable() else 0
    writes = EVENT_WRITE if socket.writable() and not socket.accepting else 0
    return reads | writes
