"""The retries and the deadline of a call."""

from __future__ import annotations

from random import SystemRandom
from time import monotonic, sleep

from attrs import field, frozen
from attrs.validators import ge, gt, le
from urllib3 import Retry
from urllib3.exceptions import InvalidHeader

from recipient_fields.domain import StorageUnavailable

from .connections import Connections, Request, Response, TransportFailure
from .errors import code_of

_RETRY_AFTER = Retry(retry_after_max=2**31)
_RETRIED_STATUSES = {408, 429, 502, 503, 504}
_NOT_STARTED_CODES = {"api_key_validation_unavailable", "overloaded", "request_timeout"}
"""The codes of responses that the service sends before it starts the request."""
_DAY = 86_400.0
_random = SystemRandom()


@frozen(kw_only=True)
class RetryPolicy:
    """The limits of a call. Times are in seconds, up to a day.

    A call takes at most `deadline`, including waits and retries, and sends at most `attempts`
    requests. Opening a connection takes at most `connect_timeout`. Before a retry, the client waits
    for the time in `Retry-After` plus a random time between half of `backoff` and all of it.
    `backoff` doubles with each retry. A response has at most `max_response` bytes.
    Raises: ValueError if a value is out of range.
    """

    deadline: float = field(default=10.0, validator=[gt(0.0), le(_DAY)])
    connect_timeout: float = field(default=3.0, validator=[gt(0.0), le(_DAY)])
    attempts: int = field(default=4, validator=ge(1))
    backoff: float = field(default=0.1, validator=[ge(0.0), le(_DAY)])
    max_response: int = field(default=64 * 2**20, validator=ge(0))


def send(connections: Connections, request: Request, policy: RetryPolicy) -> Response:
    """Send the request, retry it while that is safe, and return the last response.

    A read is retried after each failure that can be temporary. A write is retried only if the
    service can't have started it: if the response is lost, the change may be stored.
    Raises: StorageUnavailable if no response arrives.
    """
    deadline = monotonic() + policy.deadline
    for attempt in range(1, policy.attempts + 1):
        outcome = connections.exchange(request, timeout=max(deadline - monotonic(), 0.001))
        wait = _wait(request, outcome, policy.backoff * 2 ** (attempt - 1))
        if wait is None or attempt == policy.attempts or wait >= deadline - monotonic():
            break
        sleep(wait)
    if isinstance(outcome, TransportFailure):
        raise StorageUnavailable(f"The service {outcome.what}.")
    return outcome


def _wait(request: Request, outcome: Response | TransportFailure, backoff: float) -> float | None:
    """Return the seconds before a retry, or None if the request must not be retried."""
    jitter = _random.uniform(backoff / 2, backoff)
    if isinstance(outcome, TransportFailure):
        safe = request.is_read or outcome.not_sent
        return jitter if safe and not outcome.permanent else None
    if outcome.status not in _RETRIED_STATUSES:
        return None
    if not request.is_read and code_of(outcome) not in _NOT_STARTED_CODES:
        return None
    return _retry_after(outcome) + jitter


def _retry_after(response: Response) -> float:
    """Return the seconds until the time in `Retry-After`, or 0 if it is absent or invalid."""
    try:
        return _RETRY_AFTER.parse_retry_after(response.headers.get("Retry-After", "0"))
    except (InvalidHeader, OverflowError, ValueError):
        return 0
