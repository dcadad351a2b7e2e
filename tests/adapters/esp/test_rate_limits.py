"""The rate limits that ESPs describe in headers of their own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import repeat
from time import time

import pytest
from attrs import evolve

from recipient_fields.domain.integrations import EspUnavailable

from ...support.http_server import StubResponse, always
from .accounts import ACCOUNTS, BRAZE, BREVO, SENDGRID, TEST_LIMITS, Account, Serve, refusal

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


def limited(headers: Mapping[str, str], status: int = 429) -> StubResponse:
    return StubResponse(status, b"", headers)


def test_a_run_waits_until_the_limit_ends(account, serve, waits):
    server = serve(account.listing_after([limited(limited_for(account, 1_800))]))
    assert tuple(account.source(server.url, limits=HOUR).fields()) == account.reported
    assert waits == [pytest.approx(1_800, abs=60)]


def test_a_limit_beyond_the_deadline_ends_the_run_at_once(account, serve, waits):
    server = serve(always(limited(limited_for(account, 1_800))))
    message = refusal(account.source(server.url), EspUnavailable)
    assert "limits the rate of requests (429)" in message
    assert (len(server.requests), waits) == (1, [])
    stated = message.partition("Sync again after ")[2].removesuffix(" UTC.")
    wait = datetime.fromisoformat(f"{stated}+00:00") - datetime.now(UTC)
    assert wait.total_seconds() == pytest.approx(1_800, abs=60)


def test_the_longer_wait_counts(account, serve, waits):
    headers = {**limited_for(account, 9), "Retry-After": "70"}
    server = serve(account.listing_after([limited(headers)]))
    list(account.source(server.url, limits=HOUR).fields())
    assert waits == [pytest.approx(70, abs=1)]


def require_no_wait(
    account: Account, reply: StubResponse, serve: Serve, waits: list[float]
) -> None:
    """Check that the list is requested again at once after this response."""
    server = serve(account.listing_after([reply]))
    assert tuple(account.source(server.url).fields()) == account.reported
    assert sum(waits) < 1


@pytest.mark.parametrize("value", ["", "soon", "-5", "1e3", "nan", "٣", "1800, 1800"])
def test_a_limit_that_is_not_a_number_is_ignored(value, account, serve, waits):
    headers = dict.fromkeys(limited_for(account, 0), value.encode().decode("latin-1"))
    require_no_wait(account, limited(headers), serve, waits)


def test_a_limit_that_has_ended_is_ignored(account, serve, waits):
    headers = limited_for(account, -60 if account is not BREVO else 0)
    require_no_wait(account, limited(headers), serve, waits)


def test_the_headers_of_other_responses_are_ignored(account, serve, waits):
    require_no_wait(account, limited(limited_for(account, 1_800), status=503), serve, waits)


@pytest.mark.parametrize(
    "account",
    [each for each in ACCOUNTS if each not in WITH_HEADERS],
    ids=lambda account: account.esp,
    indirect=True,
)
def test_other_esps_do_not_have_the_headers(account, serve, waits):
    headers = {**limited_for(BREVO, 1_800), **limited_for(BRAZE, 1_800)}
    require_no_wait(account, limited(headers), serve, waits)


def test_a_limit_is_named_after_the_last_attempt(account, serve, waits):
    server = serve(account.listing_after(repeat(limited(limited_for(account, 1)))))
    message = refusal(account.source(server.url), EspUnavailable)
    assert "(429), in 3 attempts. Sync again after" in message
    assert len(waits) == 2
