"""How processes hand a shared address over."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress

import pytest

from recipient_fields.entrypoints.server.addresses import authority, listen, refuse_handshakes

TIMEOUT = 20
_LOCK_FILTER = 44
"""SO_LOCK_FILTER of Linux: the filter is not to be replaced any more."""


def test_clients_who_begin_to_connect_go_to_another_process_and_those_connected_stay() -> None:
    with ExitStack() as sockets:
        old = sockets.enter_context(listen("127.0.0.1", 0, shared=True))
        address = old.getsockname()
        early = sockets.enter_context(socket.create_connection(address))
        assert refuse_handshakes(old)
        new = sockets.enter_context(listen(*address, shared=True))
        late = [sockets.enter_context(socket.socket()) for _ in range(20)]
        for client in late:
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect(address)

        old.settimeout(TIMEOUT)
        served, _ = old.accept()
        sockets.enter_context(served)
        early.sendall(b"?")
        assert served.recv(1) == b"?"
        old.setblocking(False)
        with pytest.raises(BlockingIOError):
            old.accept()
        old.close()

        new.settimeout(TIMEOUT)
        for _ in late:  # The system asks again, a second later, for those who were not heard.
            sockets.enter_context(new.accept()[0])


def test_where_the_system_takes_no_filter_it_could_not_be_done() -> None:
    with listen("127.0.0.1", 0, shared=True) as listening:
        assert refuse_handshakes(listening)
        listening.setsockopt(socket.SOL_SOCKET, _LOCK_FILTER, 1)
        assert not refuse_handshakes(listening)


@pytest.mark.parametrize(
    ("host", "written"), [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80"), ("h", "h:80")]
)
def test_an_authority_is_written_as_in_a_url(host: str, written: str) -> None:
    assert authority(host, 80) == written
