"""An ESP whose answer drips, a byte at a time, can't keep a run beyond its time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic

import pytest

from recipient_fields.adapters.esp import MailchimpFieldSource
from recipient_fields.adapters.esp.run import Limits
from recipient_fields.domain.esp import EspUnavailable

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPPING = {
    "status line": b"",
    "a header": HEAD + b"X-Slow: ",
    "the body": HEAD + b"Content-Length: 1000\r\n\r\n",
    "a body of no length": HEAD + b"Connection: close\r\n\r\n",
    "the size of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "a trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Slow: ",
    "a failure": b"HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n",
}


@contextmanager
def dripping(begun: bytes) -> Iterator[str]:
    """The URL of a server that begins so, and then sends a byte now and then."""
    over = Event()

    def answer(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.recv(65_536)
            client.sendall(begun)
            while not over.wait(0.05):
                client.sendall(b"0")

    def accept() -> None:
        with suppress(OSError):
            while True:
                Thread(target=answer, args=[listener.accept()[0]]).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = Thread(target=accept)
        accepting.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()


@pytest.mark.parametrize("begun", DRIPPING.values(), ids=DRIPPING)
def test_a_run_ends_in_time_wherever_an_answer_drips(begun: bytes):
    limits = Limits(run_timeout=0.5, read_timeout=5, backoff=0.01)
    with dripping(begun) as url:
        source = MailchimpFieldSource(api_key="key-us1", list_id="1", url=url, limits=limits)
        asked = monotonic()
        with pytest.raises(EspUnavailable):
            list(source.fields())
        assert monotonic() - asked < 2
