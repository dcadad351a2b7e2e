"""The rate limits that ESPs describe in headers of their own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import repeat
from time import time

import pytest
from attrs import evolve

from recipient_fields.domain.integrations import EspUnavailable

from ...support.http_server import StubResponse, in_turn
from .accounts import ACCOUNTS, BRAZE, BREVO, SENDGRID, TEST_LIMITS, Account

WITH_HEADERS = (BREVO, BRAZE, SENDGRID)
HOUR = evolve(TEST_LIMITS, run_timeout=3_600)


def limited_for(account: Account, seconds: float) -> Mapping[str, str]:
    """Return the headers with which the ESP says that its limit ends in so many seconds."""
    if account is BREVO:
        return {"x-sib-ratelimit-limit": "36000", "x-sib-ratelimit-reset": str(round(seconds))}
    return {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(round(time() + seconds))}


@pytest.fixture(params=WITH_HEADERS, ids=lambda account: account.esp)
def account(request: pytest.FixtureRequest) -> Account:
    return request.param


def test_a_run_waits_until_the_limit_ends(account, serve, waits):
    replies = [StubResponse(429, b"", limited_for(account, 1_800))]
    server = serve(in_turn(replies, account.handler))
    assert tuple(account.source(server.url, limits=HOUR).fields()) == account.reported
    assert waits == [pytest.approx(1_800, abs=60)]


def test_a_limit_beyond_the_deadline_ends_the_run_at_once(account, serve, waits):
    server = serve(lambda _: StubResponse(429, b"{}", limited_for(account, 1_800)))
    with pytest.raises(EspUnavailable, match=r"limits the rate of requests \(429\)") as error:
        list(account.source(server.url).fields())
    assert (len(server.requests), waits) == (1, [])
    stated = str(error.value).partition("Sync again after ")[2].removesuffix(" UTC.")
    wait = datetime.fromisoformat(f"{stated}+00:00") - datetime.now(UTC)
    assert wait.total_seconds() == pytest.approx(1_800, abs=60)


def test_the_longer_wait_counts(account, serve, waits):
    headers = {**limited_for(account, 9), "Retry-After": "70"}
    server = serve(in_turn([StubResponse(429, b"", headers)], account.handler))
    list(account.source(server.url, limits=HOUR).fields())
    assert waits == [pytest.approx(70, abs=1)]


@pytest.mark.parametrize("value", ["", "soon", "-5", "1e3", "nan", "٣", "1800, 1800"])
def test_a_limit_that_is_not_a_number_is_ignored(value, account, serve, waits):
    headers = dict.fromkeys(limited_for(account, 0), value.encode().decode("latin-1"))
    server = serve(in_turn([StubResponse(429, b"", headers)], account.handler))
    assert tuple(account.source(server.url).fields()) == account.reported
    assert sum(waits) < 1


def test_a_limit_that_has_ended_is_ignored(account, serve, waits):
    headers = limited_for(account, -60 if account is not BREVO else 0)
    server = serve(in_turn([StubResponse(429, b"", headers)], account.handler))
    assert tuple(account.source(server.url).fields()) == account.reported
    assert sum(waits) < 1


def test_the_headers_of_other_responses_are_ignored(account, serve, waits):
    replies = [StubResponse(503, b"", limited_for(account, 1_800))]
    server = serve(in_turn(replies, account.handler))
    assert tuple(account.source(server.url).fields()) == account.reported
    assert sum(waits) < 1


@pytest.mark.parametrize(
    "account",
    [each for each in ACCOUNTS if each not in WITH_HEADERS],
    ids=lambda account: account.esp,
    indirect=True,
)
def test_other_esps_do_not_have_the_headers(account, serve, waits):
    headers = {**limited_for(BREVO, 1_800), **limited_for(BRAZE, 1_800)}
    server = serve(in_turn([StubResponse(429, b"", headers)], account.handler))
    assert tuple(account.source(server.url).fields()) == account.reported
    assert sum(waits) < 1


def test_a_limit_is_named_after_the_last_attempt(account, serve, waits):
    server = serve(
        in_turn(repeat(StubResponse(429, b"", limited_for(account, 1))), account.handler)
    )
    with pytest.raises(EspUnavailable, match=r"\(429\), in 3 attempts\. Sync again after"):
        list(account.source(server.url).fields())
    assert len(waits) == 2
