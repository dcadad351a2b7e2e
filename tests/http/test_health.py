"""Liveness and readiness."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from threading import Event
from time import monotonic, sleep

import pytest

from recipient_fields.domain import StorageUnavailable
from recipient_fields.entrypoints.http.readiness import (
    CHECK_TIMEOUT,
    CheckWithDeadline,
    PeriodicCheck,
)

from .api import Api
from .conftest import Harness


def down() -> None:
    raise StorageUnavailable("down")


def fail_if_called() -> None:
    raise AssertionError("the storage was checked")


def test_liveness_does_not_check_the_storage(harness):
    assert harness.client(check=fail_if_called).send("GET", "/healthz").status == 200


def test_a_service_is_ready_while_its_storage_responds(harness):
    assert harness.client().send("GET", "/readyz").status == 200
    response = harness.client(check=down).send("GET", "/readyz")
    assert response.status_and_code == (503, "service_unavailable")
    assert harness.client(check=down).send("GET", "/healthz").status == 200


def test_a_service_is_not_ready_without_the_current_schema(folder):
    harness = Harness.open(f"sqlite:{folder / 'old.db'}")
    assert harness.client().send("GET", "/readyz").status == 200
    with sqlite3.connect(folder / "old.db") as connection:
        connection.execute("PRAGMA user_version = 0")
    connection.close()
    assert harness.client().send("GET", "/readyz").status_and_code == (503, "service_unavailable")
    harness.storage.close()


def test_the_deadline_is_half_a_second():
    assert CHECK_TIMEOUT == 0.5


class TestAStorageThatDoesNotRespond:
    @pytest.fixture
    def responds(self) -> Event:
        return Event()

    @pytest.fixture
    def client(self, harness: Harness, responds: Event) -> Iterator[Api]:
        def check() -> None:
            responds.wait()

        yield harness.client(check=CheckWithDeadline(check, timeout=0.05))
        responds.set()

    def test_is_not_ready(self, client):
        assert client.send("GET", "/readyz").status_and_code == (503, "service_unavailable")

    def test_delays_no_later_check(self, client):
        assert [client.send("GET", "/readyz").status for _ in range(3)] == [503] * 3

    def test_is_ready_once_it_responds(self, client, responds):
        assert client.send("GET", "/readyz").status == 503
        responds.set()
        assert 200 in (client.send("GET", "/readyz").status for _ in range(1_000))


def test_a_check_that_fails_fails_every_time(harness):
    client = harness.client(check=CheckWithDeadline(down))
    assert [client.send("GET", "/readyz").status for _ in range(3)] == [503] * 3


def test_a_check_with_a_defect_is_an_internal_error(harness):
    def defective() -> None:
        raise ZeroDivisionError

    client = harness.client(check=CheckWithDeadline(defective))
    assert client.send("GET", "/readyz").status_and_code == (500, "internal_error")


class TestAPeriodicCheck:
    @staticmethod
    def passes(check: PeriodicCheck) -> bool:
        try:
            check()
        except StorageUnavailable:
            return False
        return True

    def eventually(self, check: PeriodicCheck, expected: bool) -> bool:
        end = monotonic() + 10
        while self.passes(check) is not expected and monotonic() < end:
            sleep(0.001)
        return self.passes(check) is expected

    def test_reports_the_last_result(self):
        failures: list[Exception] = []

        def check() -> None:
            for failure in failures:
                raise failure

        with PeriodicCheck(CheckWithDeadline(check), interval=0.001) as periodic:
            assert self.eventually(periodic, True)
            for failure in (StorageUnavailable("down"), ZeroDivisionError("a defect")):
                failures.append(failure)
                assert self.eventually(periodic, False)
                failures.clear()
                assert self.eventually(periodic, True)

    def test_fails_before_its_first_result(self):
        assert not self.passes(PeriodicCheck(CheckWithDeadline(lambda: None)))

    def test_responds_at_once_if_the_storage_does_not(self):
        responds = Event()

        def wait() -> None:
            responds.wait()

        with PeriodicCheck(CheckWithDeadline(wait)) as periodic:
            assert not self.passes(periodic)
            responds.set()

    def test_fails_as_soon_as_the_service_shuts_down(self):
        check = CheckWithDeadline(lambda: None)
        with PeriodicCheck(check, interval=60) as periodic:
            assert self.eventually(periodic, True)
            check.begin_shutdown()
            assert not self.passes(periodic)
