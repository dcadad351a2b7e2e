"""The retries and the deadline of a call."""

from __future__ import annotations

from time import monotonic

from attrs import field, frozen
from attrs.validators import ge, gt, le

from recipient_fields.domain import StorageUnavailable

from ..network import Connections, Failure, Outcome, Request, Response, jitter, retry_after, send
from .errors import code_of

_RETRIED_STATUSES = {408, 429, 502, 503, 504}
_NOT_STARTED_CODES = {"api_key_validation_unavailable", "overloaded", "request_timeout"}
"""The codes of responses that the service sends before it starts the request."""
_DAY = 86_400.0


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


def call(
    connections: Connections, request: Request, policy: RetryPolicy, *, stores: bool
) -> Response:
    """Send the request, retry it while that is safe, and return the last response.

    A request that stores nothing is retried after each failure that can be temporary. Another one
    is retried only if the service can't have started it: if the response is lost, the change may be
    stored. Raises: StorageUnavailable if no response arrives.
    """

    def wait(outcome: Outcome, attempt: int) -> float | None:
        if attempt >= policy.attempts or not _may_retry(outcome, stores):
            return None
        return retry_after(outcome) + jitter(policy.backoff * 2 ** (attempt - 1))

    outcome = send(connections, request, deadline=monotonic() + policy.deadline, wait=wait)
    if isinstance(outcome, Failure):
        raise StorageUnavailable(f"The service {outcome.what}.")
    return outcome


def _may_retry(outcome: Outcome, stores: bool) -> bool:  # noqa: FBT001
    if isinstance(outcome, Failure):
        return (outcome.not_sent or not stores) and not outcome.permanent
    if outcome.status not in _RETRIED_STATUSES:
        return False
    return not stores or code_of(outcome) in _NOT_STARTED_CODES
