"""Connections: requests, responses, timeouts, evictions and drain."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead
from itertools import repeat
from random import Random
from threading import Thread
from typing import Any

import pytest

from recipient_fields.domain import PlainKey

from ..support.waiting import eventually
from .servers import Client, running_server

BEGUN = "GET / HTTP/1.1\r\nHost: h\r\n"


@pytest.fixture
def client() -> Iterator[Client]:
    with running_server() as server:
        yield server.connect()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("HEAD", "/"), ("GET", "/204"), ("GET", "/304"), ("DELETE", "/204")],
)
def test_a_connection_stays_open_after_each_response(client, method, path):
    for _ in range(3):
        response = client.get(path, method)
        assert "connection" not in response.headers
        assert ("content-length" in response.headers) == (path == "/")
    assert client.get("/").body == b"ok"


@pytest.mark.parametrize("option", ["close", "Close", "keep-alive, close", "x,close ,y"])
def test_the_server_closes_the_connection_if_the_client_requests_it(client, option):
    assert client.get("/", "GET", f"Connection: {option}").headers["connection"] == "close"
    assert client.ended


def test_an_http_1_0_connection_stays_open_only_with_keep_alive(client):
    client.send("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
    assert client.response().headers["connection"].lower() == "keep-alive"
    client.send("GET / HTTP/1.0\r\n\r\n")
    assert client.response().headers["connection"] == "close"
    assert client.ended


def test_responses_to_pipelined_requests_are_in_order(client):
    for path in ("/large/1", "/204", "/large/3"):
        client.send_request(path)
    assert [client.response().body for _ in range(3)] == [b"x", b"", b"xxx"]


def test_a_client_that_half_closes_the_connection_receives_the_response(client):
    client.send_request("/")
    client.socket.shutdown(socket.SHUT_WR)
    assert client.response().body == b"ok"
    assert client.ended


def test_100_continue_is_sent_if_the_client_expects_it(client):
    client.send_request("/", "POST", "Expect: 100-continue", "Content-Length: 2")
    assert client.socket.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send("{}")
    assert client.response("POST").body == b"ok"


def test_100_continue_is_not_sent_for_a_request_without_a_body(client):
    client.send_request("/large/1", "GET", "Expect: 100-continue")
    client.send_request("/large/2")
    assert [client.response().body for _ in range(2)] == [b"x", b"xx"]


@pytest.mark.parametrize(
    "begun",
    ["G", "GET / HT", BEGUN, BEGUN + "Content-Length: 9\r\n\r\n{",
     BEGUN + "Transfer-Encoding: chunked\r\n\r\n1\r\n", BEGUN + "\r\n" + BEGUN],
)  # fmt: skip
def test_a_request_that_takes_too_long_receives_408(begun):
    with running_server(REQUEST_TIMEOUT=0.4) as server:
        client = server.connect()
        started = time.monotonic()
        client.send(begun)
        if begun.count("GET") == 2:
            assert client.response().body == b"ok"
        response = client.response()
        assert response.outcome == (408, "request_timeout")
        assert response.headers["connection"] == "close"
        assert time.monotonic() - started > 0.3
        assert client.ended
        assert server.listener.refused == 1


@pytest.mark.parametrize(
    ("begun", "drop"),
    [("G", "G"), (BEGUN + "X: ", "x"), (BEGUN + "Content-Length: 99\r\n\r\n", "x"),
     (BEGUN + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")],
)  # fmt: skip
def test_a_request_that_arrives_byte_by_byte_gains_no_time(begun, drop):
    with running_server(REQUEST_TIMEOUT=0.4) as server:
        client = server.connect()
        client.send(begun)
        for _ in range(10):
            client.send(drop)
            time.sleep(0.1)
        assert server.listener.refused == 1
        assert client.response().outcome == (408, "request_timeout")


def test_each_request_of_a_connection_has_its_own_timeout() -> None:
    with running_server(REQUEST_TIMEOUT=0.4) as server:
        client = server.connect()
        for _ in range(4):
            time.sleep(0.2)
            assert client.get("/").body == b"ok"


def test_the_timeout_of_a_pipelined_request_starts_after_the_previous_response() -> None:
    with running_server(REQUEST_TIMEOUT=1) as server:
        client = server.connect()
        client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET / HT")
        time.sleep(1.2)
        server.release.set()
        assert client.response().body == b"ok"
        client.send("TP/1.1\r\nHost: h\r\n\r\n")
        assert client.response().body == b"ok"


def test_an_idle_connection_is_closed() -> None:
    with running_server(IDLE_TIMEOUT=1) as server:
        silent, served = server.connect(), server.connect()
        assert served.get("/").body == b"ok"
        assert silent.ended
        assert served.ended


def test_the_connection_of_a_client_that_does_not_read_is_closed() -> None:
    with running_server(RESPONSE_TIMEOUT=0.4, MIN_RATE=10**9) as server:
        client = server.connect(receives=4096)
        client.send_request("/large/20000000")
        eventually(lambda: server.has_connections(1))
        eventually(lambda: server.has_connections(0))
        assert server.connect().get("/").body == b"ok"


def test_a_client_that_reads_a_large_response_slowly_receives_all_of_it() -> None:
    with running_server(RESPONSE_TIMEOUT=0.1, MIN_RATE=1_000_000) as server:
        client = server.connect(receives=2**16)
        client.send_request("/large/20000000")
        time.sleep(0.5)
        assert len(client.response().body) == 20_000_000


class TestFiles:
    """Responses of `wsgi.file_wrapper`, which the server reads as the client receives them."""

    @pytest.mark.parametrize("size", [1, 5_000_000])
    def test_a_file_is_sent_and_closed_and_the_connection_stays_open(self, size):
        with running_server() as server:
            client = server.connect()
            for _ in range(3):
                assert client.get(f"/file/{size}").body == b"x" * size
            eventually(lambda: [file.closed for file in server.files] == [True] * 3)

    def test_a_file_is_read_only_as_far_as_the_client_receives_it(self) -> None:
        with running_server() as server:
            client = server.connect(receives=4096)
            client.send_request("/file/20000000")
            eventually(lambda: server.files and server.files[0].tell())
            time.sleep(0.2)
            assert server.files[0].tell() < 10_000_000
            client.close()
            eventually(lambda: server.files[0].closed)

    def test_the_connection_ends_when_the_file_is_interrupted(self, caplog):
        with running_server() as server:
            client = server.connect(receives=4096)
            client.send_request("/file/20000000")
            eventually(lambda: server.files and server.files[0].tell())
            server.files[0].interrupted = True
            with pytest.raises((IncompleteRead, AssertionError, ConnectionError)):
                client.response()
            eventually(lambda: server.has_connections(0))
        assert caplog.records == []

    @pytest.mark.slow
    def test_a_client_that_reads_fast_has_turns_with_the_others(self) -> None:
        with running_server() as server, ThreadPoolExecutor(1) as pool:
            fast = server.connect()
            received = pool.submit(fast.get, "/file/300000000")
            eventually(lambda: server.files and server.files[0].tell())
            assert server.connect().get("/").body == b"ok"
            assert not received.done()
            assert len(received.result().body) == 300_000_000


def test_a_request_that_waits_too_long_for_a_thread_receives_503() -> None:
    with running_server(threads=1, QUEUE_TIMEOUT=0.3) as server:
        busy = server.working()
        waiting = [server.connect() for _ in range(5)]
        started = time.monotonic()
        for client in waiting:
            client.send_request("/")
        for client in waiting:
            response = client.response()
            assert response.outcome == (503, "overloaded")
            assert response.headers["retry-after"] == "1"
            assert "connection" not in response.headers
        assert time.monotonic() - started >= 0.3
        assert (server.responded, server.listener.shed) == (0, 5)
        server.release.set()
        assert busy.response().body == b"ok"
        assert [client.get("/").body for client in waiting] == [b"ok"] * 5


def test_a_503_to_head_has_no_body() -> None:
    with running_server(threads=1, QUEUE_TIMEOUT=0.1) as server:
        server.working()
        client = server.connect()
        assert client.get("/", "HEAD").status == 503
        server.release.set()
        assert client.get("/").body == b"ok"


def test_the_connection_closes_if_a_pipelined_request_waits_too_long() -> None:
    with running_server(threads=1, QUEUE_TIMEOUT=0.1) as server:
        server.working()
        client = server.connect()
        client.send((BEGUN + "\r\n") * 3)
        response = client.response()
        assert (response.status, response.headers["connection"]) == (503, "close")
        assert client.ended


def test_requests_in_flight_are_counted() -> None:
    with running_server(threads=1) as server:
        eventually(lambda: server.listener.task_dispatcher.in_flight == 0)
        server.working()
        for _ in range(2):
            server.connect().send_request("/")
        eventually(lambda: server.listener.task_dispatcher.in_flight == 3)
        server.release.set()
        eventually(lambda: server.listener.task_dispatcher.in_flight == 0)


def test_the_connection_that_has_been_idle_longest_is_evicted() -> None:
    with running_server(connections=4, EVICTION_AGE=0.1) as server:
        silent = server.connect()
        eventually(lambda: server.has_connections(1))
        active = [server.connect() for _ in range(3)]
        for client in active:
            assert client.get("/").body == b"ok"
            eventually(server.is_idle)  # Otherwise, the next one can be idle first.
        time.sleep(0.2)
        assert server.connect().get("/").body == b"ok"
        assert silent.ended
        assert active[1].get("/").body == b"ok"
        assert server.connect().get("/").body == b"ok"
        assert active[0].ended


def test_a_connection_whose_request_has_just_arrived_is_not_evicted(monkeypatch):
    with running_server(connections=2, EVICTION_AGE=0.1) as server:
        ready, silent = server.connect(), server.connect()
        eventually(lambda: server.has_connections(2))
        time.sleep(0.2)
        longest_idle = server.listener._longest_idle

        def send_and_find_longest_idle() -> object:
            ready.send_request("/large/1")
            return longest_idle()

        monkeypatch.setattr(server.listener, "_longest_idle", send_and_find_longest_idle)
        assert server.connect().get("/").body == b"ok"
        assert ready.response().body == b"x"
        assert silent.ended


def test_more_clients_than_the_limit_can_keep_idle_connections() -> None:
    """Without an eviction, the fifth client would wait until its own timeout."""
    with running_server(connections=4, EVICTION_AGE=0.1, IDLE_TIMEOUT=60) as server:
        clients = [server.connect() for _ in range(12)]
        for client in clients:  # At once: a client that waits to send its request is idle, too.
            client.send_request("/")
        assert [client.response().body for client in clients] == [b"ok"] * 12
        assert server.has_connections(4)


def test_a_connection_above_the_limit_waits_until_another_closes() -> None:
    with running_server(threads=4, connections=4) as server:
        working = [server.working() for _ in range(4)]
        waiting = server.connect()
        waiting.send_request("/")
        time.sleep(0.3)
        assert server.has_connections(4)
        assert server.responded == 0
        server.release.set()
        assert [client.response().body for client in working] == [b"ok"] * 4
        working[0].close()
        assert waiting.response().body == b"ok"


def test_a_client_that_does_not_close_its_side_makes_room() -> None:
    with running_server(connections=2, EVICTION_AGE=0.1, LINGER_TIMEOUT=60) as server:
        rejected = [server.connect() for _ in range(2)]
        for client in rejected:
            client.send("GET / HTTP/1.1\r\n\r\n")
            assert client.response().status == 400
        time.sleep(0.2)
        assert server.connect().get("/").body == b"ok"


@pytest.mark.parametrize(
    "bound", [{"LINGER_TIMEOUT": 0.3}, {"LINGER_TIMEOUT": 60, "MAX_LINGER_SIZE": 1_000_000}]
)
def test_a_rejected_client_that_never_stops_sending_is_disconnected(bound):
    with running_server(**bound) as server:
        client = server.connect()
        client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\n\r\n")
        assert client.response().outcome == (413, "payload_too_large")
        with pytest.raises(ConnectionError):
            client.send("x" * 100_000_000)


def test_a_draining_server_responds_to_all_received_requests() -> None:
    with running_server(threads=1) as server:
        working, queued, pipelined = server.working(), server.connect(), server.connect()
        queued.send_request("/")
        # In one packet, because the server receives nothing more while the first request waits.
        pipelined.send("".join(f"GET /large/{n} HTTP/1.1\r\nHost: h\r\n\r\n" for n in (1, 2)))
        eventually(lambda: server.listener.task_dispatcher.in_flight == 3)
        server.listener.drain()
        time.sleep(0.2)
        server.release.set()
        for client in (working, queued):
            response = client.response()
            assert (response.body, response.headers["connection"]) == (b"ok", "close")
            assert client.ended
        assert "connection" not in pipelined.response().headers
        assert pipelined.response().headers["connection"] == "close"


def test_a_draining_server_responds_to_requests_that_arrive_at_once() -> None:
    with running_server(DRAIN_IDLE_TIMEOUT=1.5) as server:
        idle = server.connect()
        assert idle.get("/").body == b"ok"
        time.sleep(1.6)  # The time before the drain does not count.
        halfway = server.connect()
        halfway.send("GET / HT")
        eventually(lambda: _unfinished(server) == 1)
        server.listener.drain()
        time.sleep(0.2)
        response = idle.get("/")
        assert (response.body, response.headers["connection"]) == (b"ok", "close")
        halfway.send("TP/1.1\r\nHost: h\r\n\r\n")
        assert halfway.response().headers["connection"] == "close"


def test_a_draining_server_does_not_wait_for_idle_clients() -> None:
    with running_server(IDLE_TIMEOUT=60, REQUEST_TIMEOUT=60, LINGER_TIMEOUT=60) as server:
        silent, halfway = server.connect(), server.connect()
        halfway.send("GET / HT")
        eventually(lambda: _unfinished(server) == 1)
        server.listener.drain()
        assert halfway.response().outcome == (408, "request_timeout")
        assert silent.ended
        halfway.close()
        eventually(lambda: server.ended)


def test_a_draining_server_accepts_the_connections_that_wait(monkeypatch):
    late: list[Client] = []
    with running_server(connections=50) as server:
        accept = server.listener._accept

        def connect_and_accept() -> bool:
            monkeypatch.undo()
            late.extend(server.connect() for _ in range(20))
            for client in late:
                client.send_request("/")
            return accept()

        assert server.connect().get("/").body == b"ok"
        monkeypatch.setattr(server.listener, "_accept", connect_and_accept)
        server.listener.drain()
        eventually(lambda: len(late) == 20)
        assert [client.response().body for client in late] == [b"ok"] * 20


def test_a_request_that_never_ends_does_not_keep_the_server_from_ending() -> None:
    with running_server(threads=1, DRAIN_TIMEOUT=0.3) as server:
        server.working()
        server.listener.drain()
        eventually(lambda: server.ended)


def test_a_client_that_resets_the_connection_does_not_affect_others() -> None:
    with running_server() as server:
        for path in repeat("/large/5000000", 10):
            client = server.connect()
            client.send_request(path)
            linger = bytes([1, 0, 0, 0, 0, 0, 0, 0])
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            client.close()
        threads = [Thread(target=server.connect().get, args=("/",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        eventually(lambda: server.responded >= 4)


def test_an_error_in_one_connection_does_not_affect_others(monkeypatch):
    with running_server() as server:
        working, failing = server.connect(), server.connect()
        assert working.get("/").body == b"ok"
        eventually(lambda: server.has_connections(2))
        *_, connection = server.listener.active_channels.values()
        monkeypatch.setattr(connection, "check", _fail)
        assert failing.ended
        monkeypatch.setattr(server.listener, "set_socket_options", _fail)
        server.connect()
        time.sleep(0.2)
        monkeypatch.undo()
        assert server.connect().get("/").body == b"ok"
        assert working.get("/").body == b"ok"


def _fail(*_: object) -> None:
    raise RuntimeError


def _unfinished(server: object) -> int:
    channels = list(server.listener.active_channels.values())  # type: ignore[attr-defined]
    return sum(channel.unfinished for channel in channels)


def test_no_thread_waits_for_clients_that_request_much_and_read_nothing() -> None:
    with running_server(threads=2) as server:
        requesting = [server.connect(receives=2**16) for _ in range(3)]
        for client in requesting:
            client.send("GET /large/9000000 HTTP/1.1\r\nHost: h\r\n\r\n" * 5)
        others = [server.connect() for _ in range(4)]
        assert [client.get("/").body for client in others * 5] == [b"ok"] * 20
        assert server.responded == 20 + len(requesting)
        assert [len(requesting[0].response().body) for _ in range(5)] == [9_000_000] * 5


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("path", ["/204", "/large/3000000"])
def test_a_client_that_half_closes_after_several_requests_receives_each_response(path, number):
    with running_server() as server:
        for _ in range(40):
            client = server.connect()
            client.send(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n" * number)
            client.socket.shutdown(socket.SHUT_WR)
            assert len({client.response().status for _ in range(number)}) == 1
            assert client.ended
            client.close()


def test_100_continue_is_sent_after_the_previous_response() -> None:
    with running_server() as server:
        client = server.connect(receives=4096)
        expecting = (
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        client.send("GET /large/5000000 HTTP/1.1\r\nHost: h\r\n\r\n" + expecting)
        assert client.response().body == b"x" * 5_000_000
        assert client.socket.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send("{}")
        assert client.response("POST").body == b"ok"


def test_clients_at_any_pace_receive_each_response_complete_and_in_order() -> None:
    """They pipeline requests or not, read slowly or not, and some disconnect."""

    def behave(seed: int) -> None:
        rng = Random(seed)
        for _ in range(4):
            client = server.connect(receives=rng.choice([None, 4096]))
            for _ in range(rng.randrange(1, 8)):
                sizes = [rng.choice([1, 300, 400_000]) for _ in range(rng.randrange(1, 6))]
                requests = "".join(
                    f"GET /large/{size} HTTP/1.1\r\nHost: h\r\n\r\n" for size in sizes
                )
                cut = rng.randrange(len(requests))
                client.send(requests[:cut])
                time.sleep(rng.choice([0, 0, 0.002]))
                client.send(requests[cut:])
                if rng.random() < 0.1:
                    break
                assert [len(client.response().body) for _ in sizes] == sizes
            client.close()

    with running_server(threads=3, connections=100) as server, ThreadPoolExecutor(12) as clients:
        list(clients.map(behave, range(24)))
        eventually(lambda: server.has_connections(0))


@pytest.fixture
def log_facts(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    """Return the facts of the lines that the request log has so far."""
    caplog.set_level(logging.INFO, "recipient_fields.requests")
    return lambda: [vars(record)["facts"] for record in caplog.records if "facts" in vars(record)]


@pytest.mark.parametrize(
    ("sent", "method", "status"),
    [
        ("GET / HTTP/1.1\r\n\r\n", "GET", 400),
        ("\x16\x03\x01 hello\r\n\r\n", "other", 400),
        ("BREW / HTTP/1.1\r\nHost: a b\r\n\r\n", "other", 400),
        ("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n", "PUT", 413),
        ("GET /" + "secret" * 2_000, "other", 414),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: " + "secret" * 4_000, "GET", 431),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "POST", 501),
    ],
)
def test_a_rejected_request_is_logged(log_facts, sent, method, status):
    with running_server() as server:
        client = server.connect()
        client.send(sent)
        response = client.response()

    (line,) = log_facts()
    assert 0 <= line.pop("milliseconds") < 5_000
    assert line == {
        "request_id": response.headers["x-request-id"],
        "organization": None,
        "key_id": None,
        "route": "unrouted",
        "method": method,
        "status": status,
    }
    assert response.status == status


def test_a_request_rejected_for_a_timeout_or_overload_is_logged(log_facts):
    with running_server(threads=1, connections=2, REQUEST_TIMEOUT=0.3, QUEUE_TIMEOUT=0.2) as server:
        server.working()
        waiting = server.connect()
        waiting.send_request("/", "GET", "X-Request-Id: find-me")
        assert waiting.response().status == 503
        waiting.send("GET / HT")
        assert waiting.response().status == 408

    lines = [(line["status"], line["method"], line["milliseconds"]) for line in log_facts()]
    assert sorted(line[:2] for line in lines) == [(408, "other"), (503, "GET")]
    took = {line[:2]: line[2] for line in lines}
    assert 200 <= took[503, "GET"] < 20_000
    assert 300 <= took[408, "other"] < 20_000
    assert [line["request_id"] for line in log_facts() if line["method"] == "GET"] == ["find-me"]


def test_the_log_line_of_a_rejected_request_contains_no_key(log_facts):
    key = PlainKey.generate().reveal()
    with running_server(threads=1, QUEUE_TIMEOUT=0.1) as server:
        server.working()
        for named, shown in ((key, key), ("theirs", "theirs"), (key, "other")):
            client = server.connect()
            client.send_request(
                "/", "GET", f"X-Request-Id: {named}", f"Authorization: Bearer {shown}"
            )
            assert client.response().status == 503

    assert [line["request_id"] for line in log_facts()] == ["[API key]"] * 3
