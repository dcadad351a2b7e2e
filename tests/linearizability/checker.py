"""A linearizability checker, after Wing and Gong (1993) and Lowe (2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final, Protocol, TypeVar

NEVER: Final = math.inf
"""The time of return of a call without a known outcome."""
_UNLIKELY: Final = 10
"""The penalty for an order in which such a call took effect, in completed calls."""


class Timed(Protocol):
    """A call. It took effect at one moment between these two times, or never."""

    @property
    def invoked(self) -> float: ...

    @property
    def returned(self) -> float: ...


C = TypeVar("C", bound=Timed)
S = TypeVar("S")


def contradiction(history: Iterable[C], state: S, after: Callable[[S, C], S | None]) -> Sequence[C]:
    """Return the calls with outcomes that can't be next at the end of the longest valid order.

    The result is empty if the history is linearizable. `after` returns the state after a call, or
    None if the outcome of the call is impossible in that state. A call that never returned may
    have taken effect at any moment after its invocation, or not at all.
    """
    calls = sorted(history, key=lambda call: call.invoked)
    completed = sum(1 << n for n, call in enumerate(calls) if call.returned != NEVER)
    latest = count(0, -1)
    furthest, tried, untried = 0, set(), [(0, next(latest), 0, state)]
    while untried:
        *_, done, state = heappop(untried)
        if done & completed == completed:
            return ()
        if (done, state) in tried:
            continue
        tried.add((done, state))
        furthest = max(furthest, done, key=lambda done: (done & completed).bit_count())
        for n in _next(calls, done):
            then = after(state, calls[n])
            if then is not None and (then != state or calls[n].returned != NEVER):
                more = done | 1 << n
                heappush(untried, (_promise(more, completed), next(latest), more, then))
    return [calls[n] for n in reversed(_next(calls, furthest)) if completed >> n & 1]


def _promise(done: int, completed: int) -> int:
    """Return the priority of an order, the lowest first: completed calls before pending ones."""
    return _UNLIKELY * (done & ~completed).bit_count() - (done & completed).bit_count()


def _next(calls: Sequence[Timed], done: int) -> list[int]:
    """Return the possible next calls: invoked before any other returned. The first is last."""
    found, earliest = [], NEVER
    for n in range((~done & done + 1).bit_length() - 1, len(calls)):
        if calls[n].invoked > earliest:
            break
        if not done >> n & 1:
            found.append(n)
            earliest = min(earliest, calls[n].returned)
    return sorted(found, key=lambda n: calls[n].returned, reverse=True)
