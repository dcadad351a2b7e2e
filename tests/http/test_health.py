"""Liveness and readiness (HTTP contract, section 4)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest

from recipient_fields.domain import StorageUnavailable
from recipient_fields.entrypoints.http.readiness import (
    DEADLINE_SECONDS,
    ContinualCheck,
    TimedCheck,
)

from .api import Api
from .conftest import Stand


def down() -> None:
    raise StorageUnavailable("down")


def never_asked() -> None:
    raise AssertionError("asked whether the storage is ready")


def test_a_process_that_is_up_says_so_without_asking_the_storage(stand: Stand):
    assert stand.client(check=never_asked).send("GET", "/healthz").status == 200


def test_a_service_is_ready_while_its_storage_answers(stand: Stand):
    assert stand.client().send("GET", "/readyz").status == 200
    answer = stand.client(check=down).send("GET", "/readyz")
    assert answer.outcome == (503, "service_unavailable")
    assert stand.client(check=down).send("GET", "/healthz").status == 200


def test_a_service_is_not_ready_without_the_current_schema(folder: Path):
    stand = Stand.over(f"sqlite:{folder / 'old.db'}")
    assert stand.client().send("GET", "/readyz").status == 200
    with sqlite3.connect(folder / "old.db") as connection:
        connection.execute("PRAGMA user_version = 0")
    connection.close()
    assert stand.client().send("GET", "/readyz").outcome == (503, "service_unavailable")
    stand.storage.close()


def test_whoever_asks_whether_the_storage_is_ready_is_told_before_that_it_may_wait(
    waits: list[str],
):
    TimedCheck(lambda: None)()
    assert waits == ["a wait"]


def test_the_storage_has_half_a_second_to_answer():
    assert DEADLINE_SECONDS == 0.5


class TestAStorageThatDoesNotAnswer:
    @pytest.fixture
    def answered(self) -> Event:
        return Event()

    @pytest.fixture
    def client(self, stand: Stand, answered: Event) -> Iterator[Api]:
        def check() -> None:
            answered.wait()

        yield stand.client(check=TimedCheck(check, seconds=0.05))
        answered.set()

    def test_is_not_ready(self, client: Api):
        assert client.send("GET", "/readyz").outcome == (503, "service_unavailable")

    def test_holds_up_no_later_check(self, client: Api):
        assert [client.send("GET", "/readyz").status for _ in range(3)] == [503] * 3

    def test_is_ready_once_it_answers(self, client: Api, answered: Event):
        assert client.send("GET", "/readyz").status == 503
        answered.set()
        assert 200 in (client.send("GET", "/readyz").status for _ in range(1_000))


def test_a_check_that_fails_fails_every_time(stand: Stand):
    client = stand.client(check=TimedCheck(down))
    assert [client.send("GET", "/readyz").status for _ in range(3)] == [503] * 3


def test_a_check_with_a_defect_is_an_internal_error(stand: Stand):
    client = stand.client(check=TimedCheck(lambda: 1 / 0))
    assert client.send("GET", "/readyz").outcome == (500, "internal_error")


class TestACheckThatIsMadeContinually:
    @staticmethod
    def passes(check: ContinualCheck) -> bool:
        try:
            check()
        except StorageUnavailable:
            return False
        return True

    def eventually(self, check: ContinualCheck, expected: bool) -> bool:
        end = monotonic() + 10
        while self.passes(check) is not expected and monotonic() < end:
            sleep(0.001)
        return self.passes(check) is expected

    def test_tells_how_the_last_one_went(self):
        failures: list[Exception] = []

        def check() -> None:
            for failure in failures:
                raise failure

        with ContinualCheck(TimedCheck(check), seconds=0.001) as continual:
            assert self.eventually(continual, True)
            for failure in (StorageUnavailable("down"), ZeroDivisionError("a defect")):
                failures.append(failure)
                assert self.eventually(continual, False)
                failures.clear()
                assert self.eventually(continual, True)

    def test_is_not_passed_before_it_is_made(self):
        assert not self.passes(ContinualCheck(TimedCheck(lambda: None)))

    def test_keeps_nobody_waiting_while_the_storage_does(self):
        answered = Event()
        with ContinualCheck(TimedCheck(lambda: answered.wait() and None)) as continual:
            assert not self.passes(continual)
            answered.set()

    def test_is_not_passed_from_the_moment_the_service_is_about_to_end(self):
        check = TimedCheck(lambda: None)
        with ContinualCheck(check, seconds=60) as continual:
            assert self.eventually(continual, True)
            check.retire()
            assert not self.passes(continual)
