"""How long, and how often, a service is asked."""

from __future__ import annotations

from random import SystemRandom
from time import monotonic, sleep

from attrs import field, frozen
from attrs.validators import ge, gt, le
from urllib3 import Retry
from urllib3.exceptions import InvalidHeader

from recipient_fields.domain import StorageUnavailable

from .connections import Answer, Connections, Request, Silence
from .refusals import code_of

_RETRY_AFTER = Retry(retry_after_max=2**31)
_TROUBLED = {408, 429, 502, 503, 504}
_NOT_BEGUN = {"api_key_validation_unavailable", "overloaded", "request_timeout"}
"""The refusals that come before anything is done."""
_LONGEST = 86_400.0
_random = SystemRandom()


@frozen(kw_only=True)
class Patience:
    """What a request may take. Times in seconds.

    It ends within `deadline`, waiting and repeating included, and is made `attempts` times at most.
    Between them passes what the service asks for, or half of `backoff` to all of it by chance;
    `backoff` doubles each time. No time is longer than a day. An answer has at most
    `largest_answer` bytes; reading a large one takes time of its own. ValueError otherwise.
    """

    deadline: float = field(default=10.0, validator=[gt(0.0), le(_LONGEST)])
    connect_timeout: float = field(default=3.0, validator=[gt(0.0), le(_LONGEST)])
    attempts: int = field(default=4, validator=ge(1))
    backoff: float = field(default=0.1, validator=[ge(0.0), le(_LONGEST)])
    largest_answer: int = field(default=64 * 2**20, validator=ge(0))


def answer(connections: Connections, request: Request, patience: Patience) -> Answer:
    """What the service answers, after as many attempts as are harmless. StorageUnavailable.

    What reads is repeated whenever it may do better later. What writes is repeated only where the
    service can't have begun it: a change whose answer is lost may have happened.
    """
    ends = monotonic() + patience.deadline
    for attempt in range(1, patience.attempts + 1):
        outcome = connections.exchange(request, seconds=max(ends - monotonic(), 0.001))
        wait = _wait(request, outcome, patience.backoff * 2 ** (attempt - 1))
        if wait is None or attempt == patience.attempts or wait >= ends - monotonic():
            break
        sleep(wait)
    if isinstance(outcome, Silence):
        raise StorageUnavailable(f"The service {outcome.what}.")
    return outcome


def _wait(request: Request, outcome: Answer | Silence, backoff: float) -> float | None:
    """The seconds until the request may be repeated; None where it must not be."""
    by_chance = _random.uniform(backoff / 2, backoff)
    if isinstance(outcome, Silence):
        harmless = request.reads or outcome.unheard
        return by_chance if harmless and not outcome.lasting else None
    if outcome.status not in _TROUBLED:
        return None
    if not request.reads and code_of(outcome) not in _NOT_BEGUN:
        return None
    return _asked_wait(outcome) + by_chance


def _asked_wait(outcome: Answer) -> float:
    """The seconds of `Retry-After`, which may name a date; 0 where it says nothing of use."""
    try:
        return _RETRY_AFTER.parse_retry_after(outcome.headers.get("Retry-After", "0"))
    except (InvalidHeader, OverflowError, ValueError):
        return 0
