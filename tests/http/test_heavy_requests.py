"""The slots for heavy requests, and the limit of large responses that clients do not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from io import SEEK_END
from threading import Barrier, Thread
from typing import Any, TypeAlias

import pytest

from recipient_fields.domain import OrganizationId
from recipient_fields.entrypoints.http.heavy_requests import HEAVY_SIZE, HeavyRequests
from recipient_fields.entrypoints.http.problems import RequestRejected
from recipient_fields.entrypoints.http.responses import ResponsePieces, UnreadResponses

ACME, BAKERY, BREWERY = map(OrganizationId, (1, 2, 3))
HEAVY = [HEAVY_SIZE + 1]


Take: TypeAlias = Callable[[HeavyRequests, OrganizationId], Callable[[], None]]
"""Takes a slot, and returns the function that frees it."""


@pytest.fixture
def take() -> Iterator[Take]:
    """Return a function whose slots are free again after the test."""
    with ExitStack() as all_taken:

        def take(heavy: HeavyRequests, organization: OrganizationId) -> Callable[[], None]:
            with ExitStack() as taken:
                request = taken.enter_context(heavy.request(organization))
                request.require_slot_above(HEAVY_SIZE, HEAVY)
                free = taken.pop_all().close
            all_taken.callback(free)
            return free

        yield take


class TestSlots:
    @pytest.mark.parametrize(
        ("threads", "slots"), [(1, 1), (4, 1), (7, 1), (8, 2), (12, 3), (64, 16)]
    )
    def test_a_quarter_of_the_threads_has_slots(self, take, threads, slots):
        heavy = HeavyRequests(threads)
        for number in range(slots):
            take(heavy, OrganizationId(number + 1))
        with pytest.raises(RequestRejected) as rejected:
            take(heavy, OrganizationId(slots + 1))

        assert rejected.value.problem.status == 503
        assert rejected.value.problem.code == "overloaded"
        assert rejected.value.problem.headers == {"Retry-After": "1"}
        assert heavy.rejected == 1

    @pytest.mark.parametrize(("threads", "share"), [(8, 1), (12, 2), (64, 15)])
    def test_one_organization_never_has_all_slots_if_there_are_several(self, take, threads, share):
        heavy = HeavyRequests(threads)
        for _ in range(share):
            take(heavy, ACME)
        with pytest.raises(RequestRejected):
            take(heavy, ACME)
        take(heavy, BAKERY)

    def test_the_only_slot_can_be_taken_by_any_organization(self, take):
        heavy = HeavyRequests(4)
        free = take(heavy, ACME)
        with pytest.raises(RequestRejected):
            take(heavy, BAKERY)
        free()
        free = take(heavy, BAKERY)
        with pytest.raises(RequestRejected):
            take(heavy, ACME)

    def test_a_request_that_fails_frees_its_slot(self, take):
        heavy = HeavyRequests(4)
        with suppress(ZeroDivisionError), heavy.request(ACME) as request:
            request.require_slot_above(HEAVY_SIZE, HEAVY)
            raise ZeroDivisionError
        take(heavy, ACME)

    def test_a_request_takes_one_slot_only(self, take):
        heavy = HeavyRequests(8)
        with heavy.request(ACME) as request:
            for _ in range(3):
                request.require_slot_above(HEAVY_SIZE, HEAVY)
            take(heavy, BAKERY)

    @pytest.mark.parametrize("sizes", [[], [HEAVY_SIZE], [HEAVY_SIZE - 1, 1]])
    def test_requests_up_to_the_limit_take_no_slot(self, take, sizes):
        heavy = HeavyRequests(4)
        take(heavy, BAKERY)
        with heavy.request(ACME) as request:
            request.require_slot_above(HEAVY_SIZE, sizes)

    def test_sizes_are_read_until_they_exceed_the_limit(self):
        sizes = iter([HEAVY_SIZE, 1, 2, 3])
        with HeavyRequests().request(ACME) as request:
            request.require_slot_above(HEAVY_SIZE, sizes)
        assert list(sizes) == [2, 3]

    def test_threads_never_take_more_slots_than_there_are(self, take):
        heavy, most, barrier = HeavyRequests(8), [0], Barrier(8)
        taken: set[int] = set()

        def repeat(number: int) -> None:
            barrier.wait()
            for _ in range(300):
                try:
                    free = take(heavy, OrganizationId(number % 3 + 1))
                except RequestRejected:
                    continue
                taken.add(number)
                most[0] = max(most[0], len(taken))
                taken.discard(number)
                free()

        threads = [Thread(target=repeat, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 1 <= most[0] <= 2
        take(heavy, ACME)
        take(heavy, BAKERY)


class TestSlotsOfLargeResponses:
    @pytest.mark.parametrize(("threads", "slots"), [(1, 1), (2, 1), (4, 2), (16, 8)])
    def test_half_of_the_threads_send_one_response_to_each_organization(self, threads, slots):
        heavy = HeavyRequests(threads)
        for number in range(slots):
            heavy.sending.take(OrganizationId(number))
            with pytest.raises(RequestRejected):
                heavy.sending.take(OrganizationId(number))
        with pytest.raises(RequestRejected):
            heavy.sending.take(OrganizationId(slots))
        heavy.sending.free(OrganizationId(0))
        heavy.sending.take(OrganizationId(slots))

        assert heavy.rejected == slots + 1

    def test_heavy_requests_need_other_slots(self, take):
        heavy = HeavyRequests(4)
        heavy.sending.take(ACME)
        take(heavy, ACME)

    @pytest.mark.parametrize("times", [1, 2])
    def test_a_closed_response_frees_its_slot_once(self, times):
        freed: list[int] = []
        pieces = ResponsePieces(bytes(300_000), lambda: freed.append(1))
        assert [len(piece) for piece in pieces] == [131_072, 131_072, 37_856]
        assert freed == []
        for _ in range(times):
            pieces.close()
        assert freed == [1]

    @pytest.mark.parametrize("is_started", [False, True])
    def test_a_response_that_the_host_forgets_frees_its_slot(self, is_started):
        freed: list[int] = []
        pieces = iter(ResponsePieces(bytes(300_000), lambda: freed.append(1)))
        if is_started:
            next(pieces)
        del pieces
        assert freed == [1]


class TestUnreadResponses:
    def test_a_response_is_read_like_a_file(self):
        response = UnreadResponses().open(ACME, b"0123456789")

        assert response.seek(0, SEEK_END) == 10
        assert response.seek(0) == 0
        assert (response.read(4), response.tell(), response.read(4)) == (b"0123", 4, b"4567")
        assert response.seek(-3, 1) == 5
        assert response.read() == b"56789"
        assert response.read(1) == b""

    def test_clients_of_one_body_share_its_bytes(self):
        unread, body = UnreadResponses(max_bytes=15), b"0123456789"
        responses = [unread.open(ACME, body) for _ in range(100)]

        assert {response.read() for response in responses} == {body}
        assert unread.interrupted == 0

    def test_the_oldest_response_is_interrupted_if_they_are_too_large(self):
        unread = UnreadResponses(max_bytes=25)
        first, second, third = (unread.open(ACME, bytes([n]) * 10) for n in range(3))

        assert (second.read(), third.read()) == (b"\1" * 10, b"\2" * 10)
        with pytest.raises(ConnectionAbortedError):
            first.read()
        assert unread.interrupted == 1

    def test_the_organization_with_most_bytes_is_interrupted(self):
        unread = UnreadResponses(max_bytes=25)
        small = unread.open(BAKERY, b"0" * 5)
        large = [unread.open(ACME, bytes([n]) * 10) for n in range(5)]
        other = unread.open(BREWERY, b"1" * 5)

        assert (small.read(), other.read()) == (b"0" * 5, b"1" * 5)
        assert large[-1].read() == b"\4" * 10
        for response in large[:-1]:
            with pytest.raises(ConnectionAbortedError):
                response.read()

    def test_a_body_beyond_the_limit_is_sent(self):
        unread = UnreadResponses(max_bytes=5)
        response = unread.open(ACME, b"0123456789")

        assert response.read() == b"0123456789"

    @pytest.mark.parametrize("times", [1, 2])
    def test_a_closed_response_makes_room(self, times):
        unread = UnreadResponses(max_bytes=25)
        for number in range(10):
            response: Any = unread.open(ACME, bytes([number]) * 10)
            for _ in range(times):
                response.close()

        assert unread.interrupted == 0
        with pytest.raises(ConnectionAbortedError):
            response.read()
