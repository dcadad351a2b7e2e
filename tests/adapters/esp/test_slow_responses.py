"""An ESP that sends its response byte by byte does not extend the deadline of a run."""

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

from ...support.slow_responses import SLOW_RESPONSES


@contextmanager
def slow_server(beginning: bytes) -> Iterator[str]:
    """Run a server that sends `beginning`, and then a byte each 50 ms. Yield its URL."""
    stopped = Event()

    def respond(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.recv(65_536)
            client.sendall(beginning)
            while not stopped.wait(0.05):
                client.sendall(b"0")

    def accept() -> None:
        with suppress(OSError):
            while True:
                Thread(target=respond, args=[listener.accept()[0]]).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = Thread(target=accept)
        accepting.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        stopped.set()
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()


@pytest.mark.parametrize("beginning", SLOW_RESPONSES.values(), ids=SLOW_RESPONSES)
def test_a_slow_response_ends_the_run_at_its_deadline(beginning: bytes):
    limits = Limits(run_timeout=0.5, read_timeout=5, backoff=0.01)
    with slow_server(beginning) as url:
        source = MailchimpFieldSource(api_key="key-us1", list_id="1", url=url, limits=limits)
        started = monotonic()
        with pytest.raises(EspUnavailable):
            list(source.fields())
        assert monotonic() - started < 2
