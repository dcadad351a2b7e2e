"""The circuit breaker rejects requests while PostgreSQL does not respond."""

from __future__ import annotations

from time import monotonic, sleep

import pytest

from recipient_fields.adapters.postgres.circuit_breaker import CircuitBreaker, CircuitOpen

TIMEOUT = 0.2


@pytest.fixture
def breaker() -> CircuitBreaker:
    return CircuitBreaker(TIMEOUT)


def test_without_a_check_it_stays_closed(breaker):
    sleep(TIMEOUT)
    assert breaker.allow()


def test_a_check_without_a_response_opens_it_and_a_response_closes_it(breaker):
    breaker.begin_check()
    assert breaker.allow()
    sleep(TIMEOUT)
    assert not breaker.allow()
    with pytest.raises(CircuitOpen, match="the server does not respond: no response"):
        breaker.require()
    breaker.record_success()
    breaker.require()
    sleep(TIMEOUT)
    breaker.require()


def test_failures_open_it_only_after_a_while_and_the_last_one_is_the_reason(breaker):
    began = monotonic()
    while monotonic() < began + TIMEOUT / 2:
        breaker.begin_check()
        breaker.record_failure("refused")
        assert breaker.allow()
    sleep(TIMEOUT / 2)
    with pytest.raises(CircuitOpen, match="the server does not respond: refused"):
        breaker.require()


def test_a_response_to_a_request_clears_a_failed_check(breaker):
    breaker.begin_check()
    breaker.record_failure("refused")
    breaker.record_response()
    sleep(TIMEOUT)
    assert breaker.allow()


def test_a_response_during_a_check_restarts_its_timeout(breaker):
    breaker.begin_check()
    sleep(TIMEOUT * 0.75)
    breaker.record_response()
    sleep(TIMEOUT * 0.5)
    assert breaker.allow()
    sleep(TIMEOUT * 0.5)
    assert not breaker.allow()


def test_each_outage_writes_two_lines_to_the_log(breaker, caplog):
    for rejected in (3, 0):
        breaker.begin_check()
        breaker.record_failure("refused")
        sleep(TIMEOUT)
        for _ in range(5):
            assert not breaker.allow()
        for _ in range(rejected):
            breaker.record_rejection()
        for _ in range(3):
            breaker.record_success()
    begin = "PostgreSQL does not respond (refused). Requests are rejected until it does."
    end = "PostgreSQL responds again after 0.2 s. {} requests were rejected."
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [begin, end.format(3), begin, end.format(0)]
    assert [record.facts["rejected"] for record in caplog.records[1::2]] == [3, 0]
