"""What a call costs: how it grows with its input, and how often it calls a function.

A limit in seconds fails on a busy machine, and passes on a fast one.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from time import thread_time
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

_FACTOR = 4
"""For an input of 4 times the size, a quadratic call takes 16 times as long."""
_LIMIT = 9
_STEEP = 7
_ROUNDS = 5


def assert_grows_linearly(
    call: Callable[[T], object],
    build: Callable[[int], T],
    size: int,
    clock: Callable[[], float] = thread_time,
) -> None:
    """Fail if the call with an input of `size` costs far more than 4 times that of a fourth of it.

    `build` returns the input of a size. Choose a size for which a call takes several milliseconds.
    The call runs in this thread, whose CPU time `clock` returns.
    """
    inputs = build(size // _FACTOR), build(size)
    # In turns, and the fastest of each, so that both sides have the same conditions.
    rounds = [[_seconds(call, each, clock) for each in inputs] for _ in range(_ROUNDS)]
    small, large = map(min, zip(*rounds, strict=True))
    assert large <= _LIMIT * small, _costs(size // _FACTOR, small, size, large)


SMALLEST, LARGEST = 1_024, 65_536
_ENOUGH = 0.008
"""Seconds. A quadratic call that takes less for the largest input takes 2 s for 1,000,000."""


def find_growth(
    call: Callable[[T], object],
    build: Callable[[int], T],
    smallest: int = SMALLEST,
    largest: int = LARGEST,
    clock: Callable[[], float] = thread_time,
) -> str | None:
    """Return the costs of inputs of growing size if they grow far more than the size, or None.

    The size grows fourfold from `smallest` to `largest`, until the call takes 8 ms. If it has become
    far more than 4 times as slow, it must become so again for the next size: a call can do nothing
    before it reaches a limit, or less after it.
    """
    call(build(smallest))  # Fill the caches.
    size, small = smallest, _seconds(call, build(smallest), clock)
    steep: list[str] = []
    while size * _FACTOR <= largest or (steep and size <= largest):
        large = _seconds(call, build(size * _FACTOR), clock)
        for _ in range(_ROUNDS):
            if large <= _STEEP * small:
                break
            small = min(small, _seconds(call, build(size), clock))
            large = min(large, _seconds(call, build(size * _FACTOR), clock))
        is_steep = large > _STEEP * small and large >= _ENOUGH
        steep = [*steep, _costs(size, small, size * _FACTOR, large)] if is_steep else []
        if len(steep) == 2:
            return " ".join(steep)
        if large >= _ENOUGH and not is_steep:
            return None
        size, small = size * _FACTOR, large
    return None


def _seconds(call: Callable[[T], object], argument: T, clock: Callable[[], float]) -> float:
    collects = gc.isenabled()
    gc.disable()
    try:
        started = clock()
        call(argument)
        return clock() - started
    finally:
        if collects:
            gc.enable()


def _costs(small_size: int, small: float, large_size: int, large: float) -> str:
    return (
        f"{small_size} took {small * 1_000:.2f} ms, and {large_size} took {large * 1_000:.2f} ms."
    )


def count_calls(function: Callable[..., object], work: Callable[[], object]) -> int:
    """Return how often the work calls this function of Python in this thread."""
    wanted, calls = function.__code__, 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is wanted

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
