"""Connections on which urllib3 and http.client alone would err."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import HTTPError, ProtocolError
from urllib3.util import Timeout, parse_url

from recipient_fields.adapters import deadline_http

TIMEOUT = 10
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


def response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@contextmanager
def serving(*answers: bytes) -> Iterator[HTTPConnectionPool]:
    """A server that gives these answers in turn, over as many connections as are made."""
    left = iter(answers)

    def converse(peer: socket.socket) -> None:
        with peer:
            while heard := peer.recv(65_536):
                peer.sendall(next(left) if b"early" not in heard else EARLY)

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                Thread(target=converse, args=(peer,), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        url = parse_url(f"http://127.0.0.1:{listening.getsockname()[1]}")
        pool = deadline_http.connection_pool(url, size=4)
        yield pool
        pool.close()
        listening.shutdown(socket.SHUT_RDWR)


def ask(pool: HTTPConnectionPool, seconds: float = 5.0) -> bytes:
    with pool.urlopen(
        "GET",
        "/",
        timeout=Timeout(total=seconds),
        retries=False,
        preload_content=False,
        headers={"Host": "h"},
    ) as answered:
        return answered.read()


def test_what_comes_before_the_answer_is_not_taken_for_it() -> None:
    with serving(EARLY + EARLY + response(b"one"), response(b"two")) as pool:
        assert [ask(pool), ask(pool)] == [b"one", b"two"]


def test_nobody_switches_to_another_protocol() -> None:
    with (
        serving(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", response(b"two")
        ) as pool,
    ):
        with pytest.raises(ProtocolError):
            ask(pool)
        assert ask(pool) == b"two"


def test_a_forked_process_has_connections_of_its_own() -> None:
    """Over a shared one, each could be given the other's answer."""
    ports: list[int] = []

    def converse(peer: socket.socket, port: int) -> None:
        with peer:
            while peer.recv(65_536):
                peer.sendall(response(str(port).encode()))

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            for _ in range(2):
                peer, address = listening.accept()
                ports.append(address[1])
                Thread(target=converse, args=(peer, address[1]), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        url = parse_url(f"http://127.0.0.1:{listening.getsockname()[1]}")
        pool = deadline_http.connection_pool(url, size=4)
        ours = ask(pool)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, ask(pool))
            os._exit(0)
        os.waitpid(child, 0)
        theirs = os.read(reading, 100)
        os.close(reading)
        os.close(writing)
        assert ask(pool) == ours
        assert theirs not in (ours, b"")
        pool.close()


def test_an_address_of_a_family_that_the_system_lacks_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(response(b"one")) as pool:
        real = socket.getaddrinfo

        def both(*values: Any, **named: Any) -> list[Any]:
            lacking = (socket.AF_PPPOX, socket.SOCK_STREAM, 99, "", ("::1", 1))
            return [lacking, *real(*values, **named)]

        monkeypatch.setattr(socket, "getaddrinfo", both)
        assert ask(pool) == b"one"


def test_look_ups_that_hang_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    released, begun = Event(), []

    def hang(*_values: Any, **_named: Any) -> list[Any]:
        begun.append(1)
        released.wait(TIMEOUT)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    pool = deadline_http.connection_pool(parse_url("http://hangs.example"), size=1)
    try:
        for _ in range(deadline_http._MAX_LOOKUPS + 3):
            with pytest.raises(HTTPError):
                ask(pool, seconds=0.02)
        assert len(begun) == deadline_http._MAX_LOOKUPS
    finally:
        released.set()
