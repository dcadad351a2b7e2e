"""Connections: how long they last, who waits for whom, and how all of it ends."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from random import Random
from threading import Thread
from typing import Any

import pytest

from recipient_fields.domain import PlainKey
from recipient_fields.entrypoints.server import limits

from .hosts import Peer, eventually, host

BEGUN = "GET / HTTP/1.1\r\nHost: h\r\n"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Shortens what the host waits for."""

    def hurried(**seconds: float) -> None:
        for name, value in seconds.items():
            monkeypatch.setattr(limits, name, value)

    return hurried


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("HEAD", "/"), ("GET", "/204"), ("GET", "/304"), ("DELETE", "/204")],
)
def test_a_connection_serves_on_after_every_answer(method: str, path: str) -> None:
    with host() as it:
        peer = it.connect()
        for _ in range(3):
            answer = peer.get(path, method)
            assert "connection" not in answer.headers
            assert ("content-length" in answer.headers) == (path == "/")
        assert peer.get("/").body == b"ok"


@pytest.mark.parametrize("option", ["close", "Close", "keep-alive, close", "x,close ,y"])
def test_a_client_that_wants_to_close_gets_its_way(option: str) -> None:
    with host() as it:
        peer = it.connect()
        assert peer.get("/", "GET", f"Connection: {option}").headers["connection"] == "close"
        assert peer.ended


def test_http_1_0_keeps_a_connection_only_where_asked() -> None:
    with host() as it:
        peer = it.connect()
        peer.send("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
        assert peer.answer().headers["connection"].lower() == "keep-alive"
        peer.send("GET / HTTP/1.0\r\n\r\n")
        assert peer.answer().headers["connection"] == "close"
        assert peer.ended


def test_pipelined_requests_are_answered_in_order() -> None:
    with host() as it:
        peer = it.connect()
        for path in ("/large/1", "/204", "/large/3"):
            peer.ask(path)
        assert [peer.answer().body for _ in range(3)] == [b"x", b"", b"xxx"]


def test_a_client_that_has_said_all_it_will_is_answered() -> None:
    with host() as it:
        peer = it.connect()
        peer.ask("/")
        peer.socket.shutdown(socket.SHUT_WR)
        assert peer.answer().body == b"ok"
        assert peer.ended


def test_a_body_that_is_awaited_is_asked_for() -> None:
    with host() as it:
        peer = it.connect()
        peer.ask("/", "POST", "Expect: 100-continue", "Content-Length: 2")
        assert peer.socket.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.send("{}")
        assert peer.answer("POST").body == b"ok"


def test_nothing_is_asked_for_where_no_body_comes() -> None:
    with host() as it:
        peer = it.connect()
        peer.ask("/large/1", "GET", "Expect: 100-continue")
        peer.ask("/large/2")
        assert [peer.answer().body for _ in range(2)] == [b"x", b"xx"]


@pytest.mark.parametrize(
    "begun",
    ["G", "GET / HT", BEGUN, BEGUN + "Content-Length: 9\r\n\r\n{",
     BEGUN + "Transfer-Encoding: chunked\r\n\r\n1\r\n", BEGUN + "\r\n" + BEGUN],
)  # fmt: skip
def test_a_request_that_takes_too_long_is_answered_408(
    hurried: Callable[..., None], begun: str
) -> None:
    hurried(REQUEST_TIMEOUT=0.4)
    with host() as it:
        peer = it.connect()
        started = time.monotonic()
        peer.send(begun)
        if begun.count("GET") == 2:
            assert peer.answer().body == b"ok"
        answer = peer.answer()
        assert answer.outcome == (408, "request_timeout")
        assert answer.headers["connection"] == "close"
        assert 0.3 < time.monotonic() - started < 2
        assert peer.ended
        assert it.listener.refused == 1


@pytest.mark.parametrize(
    ("begun", "drop"),
    [("G", "G"), (BEGUN + "X: ", "x"), (BEGUN + "Content-Length: 99\r\n\r\n", "x"),
     (BEGUN + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")],
)  # fmt: skip
def test_a_request_that_drips_in_gains_no_time(
    hurried: Callable[..., None], begun: str, drop: str
) -> None:
    hurried(REQUEST_TIMEOUT=0.4)
    with host() as it:
        peer = it.connect()
        peer.send(begun)
        for _ in range(10):
            peer.send(drop)
            time.sleep(0.1)
        assert it.listener.refused == 1
        assert peer.answer().outcome == (408, "request_timeout")


def test_each_request_of_a_connection_has_its_own_time(hurried: Callable[..., None]) -> None:
    hurried(REQUEST_TIMEOUT=0.4)
    with host() as it:
        peer = it.connect()
        for _ in range(4):
            time.sleep(0.2)
            assert peer.get("/").body == b"ok"


def test_a_request_does_not_age_behind_the_one_before(hurried: Callable[..., None]) -> None:
    hurried(REQUEST_TIMEOUT=0.4)
    with host() as it:
        peer = it.connect()
        peer.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET / HT")
        time.sleep(0.8)
        it.release.set()
        assert peer.answer().body == b"ok"
        time.sleep(0.2)
        peer.send("TP/1.1\r\nHost: h\r\n\r\n")
        assert peer.answer().body == b"ok"


def test_a_client_that_says_nothing_is_hung_up_on(hurried: Callable[..., None]) -> None:
    hurried(IDLE_TIMEOUT=0.3)
    with host() as it:
        silent, served = it.connect(), it.connect()
        assert served.get("/").body == b"ok"
        assert silent.ended
        assert served.ended


def test_a_client_that_takes_no_answer_is_hung_up_on(hurried: Callable[..., None]) -> None:
    hurried(RESPONSE_TIMEOUT=0.4, SLOWEST_RATE=10**9)
    with host() as it:
        peer = it.connect(receives=4096)
        peer.ask("/large/20000000")
        eventually(lambda: it.has_connections(1))
        eventually(lambda: it.has_connections(0))
        assert it.connect().get("/").body == b"ok"


def test_a_client_that_takes_a_large_answer_slowly_gets_all_of_it(
    hurried: Callable[..., None],
) -> None:
    hurried(RESPONSE_TIMEOUT=0.1, SLOWEST_RATE=1_000_000)
    with host() as it:
        peer = it.connect(receives=2**16)
        peer.ask("/large/20000000")
        time.sleep(0.5)
        assert len(peer.answer().body) == 20_000_000


def test_a_request_that_waits_too_long_for_a_worker_is_answered_503(
    hurried: Callable[..., None],
) -> None:
    hurried(QUEUE_TIMEOUT=0.3)
    with host(threads=1) as it:
        busy = it.working()
        waiting = [it.connect() for _ in range(5)]
        started = time.monotonic()
        for peer in waiting:
            peer.ask("/")
        for peer in waiting:
            answer = peer.answer()
            assert answer.outcome == (503, "overloaded")
            assert answer.headers["retry-after"] == "1"
            assert "connection" not in answer.headers
        assert 0.3 <= time.monotonic() - started < 0.8
        assert (it.answered, it.listener.shed) == (0, 5)
        it.release.set()
        assert busy.answer().body == b"ok"
        assert [peer.get("/").body for peer in waiting] == [b"ok"] * 5


def test_what_is_answered_503_to_a_head_has_no_body(hurried: Callable[..., None]) -> None:
    hurried(QUEUE_TIMEOUT=0.1)
    with host(threads=1) as it:
        it.working()
        peer = it.connect()
        assert peer.get("/", "HEAD").status == 503
        it.release.set()
        assert peer.get("/").body == b"ok"


def test_pipelined_requests_are_not_answered_out_of_order_when_one_waits_too_long(
    hurried: Callable[..., None],
) -> None:
    hurried(QUEUE_TIMEOUT=0.1)
    with host(threads=1) as it:
        it.working()
        peer = it.connect()
        peer.send((BEGUN + "\r\n") * 3)
        answer = peer.answer()
        assert (answer.status, answer.headers["connection"]) == (503, "close")
        assert peer.ended


def test_requests_in_flight_are_counted() -> None:
    with host(threads=1) as it:
        eventually(lambda: it.listener.task_dispatcher.in_flight == 0)
        it.working()
        for _ in range(2):
            it.connect().ask("/")
        eventually(lambda: it.listener.task_dispatcher.in_flight == 3)
        it.release.set()
        eventually(lambda: it.listener.task_dispatcher.in_flight == 0)


def test_whoever_has_been_idle_longest_makes_room(hurried: Callable[..., None]) -> None:
    hurried(EVICTION_AGE=0.1)
    with host(connections=4) as it:
        silent = it.connect()
        eventually(lambda: it.has_connections(1))
        kept = [it.connect() for _ in range(3)]
        assert [peer.get("/").body for peer in kept] == [b"ok"] * 3
        time.sleep(0.2)
        assert it.connect().get("/").body == b"ok"
        assert silent.ended
        assert kept[1].get("/").body == b"ok"
        assert it.connect().get("/").body == b"ok"
        assert kept[0].ended


def test_nobody_makes_room_who_has_just_asked_for_something(
    hurried: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried(EVICTION_AGE=0.1)
    with host(connections=2) as it:
        asks, silent = it.connect(), it.connect()
        eventually(lambda: it.has_connections(2))
        time.sleep(0.2)
        make_room = it.listener._make_room

        def ask_and_make_room() -> bool:
            asks.ask("/large/1")
            return make_room()

        monkeypatch.setattr(it.listener, "_make_room", ask_and_make_room)
        assert it.connect().get("/").body == b"ok"
        assert asks.answer().body == b"x"
        assert silent.ended


def test_whoever_has_not_finished_for_longest_makes_room(hurried: Callable[..., None]) -> None:
    hurried(EVICTION_AGE=0.1)
    with host(connections=4) as it:

        def are_unfinished(number: int) -> bool:
            return _unfinished(it) == number

        slow = [it.connect() for _ in range(4)]
        for number, peer in enumerate(slow, 1):
            peer.send(BEGUN)
            eventually(partial(are_unfinished, number))
        time.sleep(0.2)
        assert it.connect().get("/").body == b"ok"
        assert slow[0].answer().outcome == (408, "request_timeout")
        slow[1].send("\r\n")
        assert slow[1].answer().body == b"ok"


def test_who_finds_no_room_is_told_so(hurried: Callable[..., None]) -> None:
    with host(threads=4, connections=4) as it:
        working = [it.working() for _ in range(4)]
        for _ in range(3):
            peer = it.connect()
            peer.ask("/")
            answer = peer.answer()
            assert answer.outcome == (503, "overloaded")
            assert answer.headers["connection"] == "close"
            assert answer.headers["retry-after"]
            assert peer.ended
        assert it.listener.shed == 3
        it.release.set()
        assert [peer.answer().body for peer in working] == [b"ok"] * 4


def test_a_host_without_room_bounds_what_lingers(hurried: Callable[..., None]) -> None:
    hurried(SPARE_CONNECTIONS=3)
    with host(threads=2, connections=2) as it:
        working = [it.working() for _ in range(2)]
        stubborn = [it.connect() for _ in range(20)]
        for peer in stubborn:
            assert peer.answer().outcome == (503, "overloaded")
        assert len(it.listener.active_channels) <= 5
        it.release.set()
        assert [peer.answer().body for peer in working] == [b"ok"] * 2


@pytest.mark.parametrize(
    "bound", [{"LINGER_TIMEOUT": 0.3}, {"LINGER_TIMEOUT": 60, "LARGEST_LINGER": 1_000_000}]
)
def test_a_refused_client_that_never_stops_sending_is_cut_off(
    hurried: Callable[..., None], bound: dict[str, float]
) -> None:
    hurried(**bound)
    with host() as it:
        peer = it.connect()
        peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\n\r\n")
        assert peer.answer().outcome == (413, "payload_too_large")
        with pytest.raises(ConnectionError):
            peer.send("x" * 100_000_000)


def test_an_ending_host_answers_what_it_has_received() -> None:
    with host(threads=1) as it:
        working, queued, pipelined = it.working(), it.connect(), it.connect()
        queued.ask("/")
        # At once: what comes while the first waits is not received before that is answered.
        pipelined.send("".join(f"GET /large/{n} HTTP/1.1\r\nHost: h\r\n\r\n" for n in (1, 2)))
        eventually(lambda: it.listener.task_dispatcher.in_flight == 3)
        it.listener.drain()
        time.sleep(0.2)
        it.release.set()
        for peer in (working, queued):
            answer = peer.answer()
            assert (answer.body, answer.headers["connection"]) == (b"ok", "close")
            assert peer.ended
        assert "connection" not in pipelined.answer().headers
        assert pipelined.answer().headers["connection"] == "close"


def test_an_ending_host_answers_who_speaks_at_the_last_moment() -> None:
    with host() as it:
        kept = it.connect()
        assert kept.get("/").body == b"ok"
        time.sleep(0.6)
        halfway = it.connect()
        halfway.send("GET / HT")
        eventually(lambda: _unfinished(it) == 1)
        it.listener.drain()
        time.sleep(0.2)
        answer = kept.get("/")
        assert (answer.body, answer.headers["connection"]) == (b"ok", "close")
        halfway.send("TP/1.1\r\nHost: h\r\n\r\n")
        assert halfway.answer().headers["connection"] == "close"


def test_an_ending_host_does_not_wait_for_who_says_nothing() -> None:
    with host() as it:
        silent, halfway = it.connect(), it.connect()
        halfway.send("GET / HT")
        eventually(lambda: _unfinished(it) == 1)
        started = time.monotonic()
        it.listener.drain()
        assert halfway.answer().outcome == (408, "request_timeout")
        assert silent.ended
        halfway.close()
        eventually(lambda: it.ended)
        assert time.monotonic() - started < 0.9


def test_an_ending_host_leaves_nobody_in_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Peer] = []
    with host(connections=50) as it:
        accept = it.listener._accept

        def connect_and_accept() -> bool:
            monkeypatch.undo()
            late.extend(it.connect() for _ in range(20))
            for peer in late:
                peer.ask("/")
            return accept()

        assert it.connect().get("/").body == b"ok"
        monkeypatch.setattr(it.listener, "_accept", connect_and_accept)
        it.listener.drain()
        eventually(lambda: len(late) == 20)
        assert [peer.answer().body for peer in late] == [b"ok"] * 20


def test_workers_that_never_finish_do_not_keep_a_host(hurried: Callable[..., None]) -> None:
    hurried(DRAIN_TIMEOUT=0.3)
    with host(threads=1) as it:
        it.working()
        it.listener.drain()
        eventually(lambda: it.ended)


def test_a_client_that_resets_while_it_is_answered_harms_nobody() -> None:
    with host() as it:
        for path in repeat("/large/5000000", 10):
            peer = it.connect()
            peer.ask(path)
            linger = bytes([1, 0, 0, 0, 0, 0, 0, 0])
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            peer.close()
        threads = [Thread(target=it.connect().get, args=("/",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        eventually(lambda: it.answered >= 4)


def test_what_fails_in_one_connection_fails_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with host() as it:
        kept, failing = it.connect(), it.connect()
        assert kept.get("/").body == b"ok"
        eventually(lambda: it.has_connections(2))
        *_, connection = it.listener.active_channels.values()
        monkeypatch.setattr(connection, "check", _fail)
        assert failing.ended
        monkeypatch.setattr(it.listener, "_make_room", _fail)
        it.connect()
        time.sleep(0.2)
        monkeypatch.undo()
        assert it.connect().get("/").body == b"ok"
        assert kept.get("/").body == b"ok"


def _fail(*_: object) -> None:
    raise RuntimeError


def _unfinished(it: object) -> int:
    channels = list(it.listener.active_channels.values())  # type: ignore[attr-defined]
    return sum(channel.unfinished for channel in channels)


def test_no_worker_waits_for_clients_that_ask_for_much_and_take_nothing() -> None:
    with host(threads=2) as it:
        greedy = [it.connect(receives=2**16) for _ in range(3)]
        for peer in greedy:
            peer.send("GET /large/9000000 HTTP/1.1\r\nHost: h\r\n\r\n" * 5)
        others = [it.connect() for _ in range(4)]
        assert [peer.get("/").body for peer in others * 5] == [b"ok"] * 20
        assert it.answered == 20 + len(greedy)
        assert [len(greedy[0].answer().body) for _ in range(5)] == [9_000_000] * 5


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("path", ["/204", "/large/3000000"])
def test_a_client_that_has_asked_for_all_it_will_gets_every_answer(path: str, number: int) -> None:
    with host() as it:
        for _ in range(40):
            peer = it.connect()
            peer.send(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n" * number)
            peer.socket.shutdown(socket.SHUT_WR)
            assert len({peer.answer().status for _ in range(number)}) == 1
            assert peer.ended
            peer.close()


def test_a_body_is_asked_for_only_after_the_answers_before() -> None:
    with host() as it:
        peer = it.connect(receives=4096)
        expecting = (
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        peer.send("GET /large/5000000 HTTP/1.1\r\nHost: h\r\n\r\n" + expecting)
        assert peer.answer().body == b"x" * 5_000_000
        assert peer.socket.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.send("{}")
        assert peer.answer("POST").body == b"ok"


def test_many_that_ask_in_every_rhythm_get_each_answer_whole_and_in_order() -> None:
    """Pipelined or one by one, slow to read or not, and some leave in the midst."""

    def behave(seed: int) -> None:
        chance = Random(seed)
        for _ in range(4):
            peer = it.connect(receives=chance.choice([None, 4096]))
            for _ in range(chance.randrange(1, 8)):
                sizes = [chance.choice([1, 300, 400_000]) for _ in range(chance.randrange(1, 6))]
                asked = "".join(f"GET /large/{size} HTTP/1.1\r\nHost: h\r\n\r\n" for size in sizes)
                cut = chance.randrange(len(asked))
                peer.send(asked[:cut])
                time.sleep(chance.choice([0, 0, 0.002]))
                peer.send(asked[cut:])
                if chance.random() < 0.1:
                    break
                assert [len(peer.answer().body) for _ in sizes] == sizes
            peer.close()

    with host(threads=3, connections=100) as it, ThreadPoolExecutor(12) as clients:
        list(clients.map(behave, range(24)))
        eventually(lambda: it.has_connections(0))


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    """The facts of the request log's lines so far."""
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
def test_a_request_that_the_host_refuses_is_a_line_of_the_log(
    told: Callable[[], list[dict[str, Any]]], sent: str, method: str, status: int
) -> None:
    with host() as it:
        peer = it.connect()
        peer.send(sent)
        answer = peer.answer()

    (line,) = told()
    assert 0 <= line.pop("milliseconds") < 5_000
    assert line == {
        "request_id": answer.headers["x-request-id"],
        "organization": None,
        "key_id": None,
        "route": "unrouted",
        "method": method,
        "status": status,
    }
    assert answer.status == status


def test_a_request_that_is_late_or_finds_no_worker_or_no_room_is_a_line_of_the_log(
    told: Callable[[], list[dict[str, Any]]], hurried: Callable[..., None]
) -> None:
    hurried(REQUEST_TIMEOUT=0.3, QUEUE_TIMEOUT=0.2)
    with host(threads=1, connections=2) as it:
        it.working()
        waiting = it.connect()
        waiting.ask("/", "GET", "X-Request-Id: find-me")
        assert waiting.answer().status == 503
        it.connect().answer()
        waiting.send("GET / HT")
        assert waiting.answer().status == 408

    lines = [(line["status"], line["method"], line["milliseconds"]) for line in told()]
    assert sorted(line[:2] for line in lines) == [(408, "other"), (503, "GET"), (503, "other")]
    took = {line[:2]: line[2] for line in lines}
    assert 200 <= took[503, "GET"] < 2_000
    assert took[503, "other"] < 200
    assert 300 <= took[408, "other"] < 2_000
    assert [line["request_id"] for line in told() if line["method"] == "GET"] == ["find-me"]


def test_the_line_of_a_refused_request_shows_no_key(
    told: Callable[[], list[dict[str, Any]]], hurried: Callable[..., None]
) -> None:
    key = PlainKey.generate().reveal()
    hurried(QUEUE_TIMEOUT=0.1)
    with host(threads=1) as it:
        it.working()
        for named, shown in ((key, key), ("theirs", "theirs"), (key, "other")):
            peer = it.connect()
            peer.ask("/", "GET", f"X-Request-Id: {named}", f"Authorization: Bearer {shown}")
            assert peer.answer().status == 503

    assert [line["request_id"] for line in told()] == ["[API key]"] * 3
