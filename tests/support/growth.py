"""What a call costs: how it grows with its input, and how often it calls a function.

A limit in seconds fails on a busy machine, and passes on a fast one.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from math import inf
from time import thread_time
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

_FACTOR = 4
"""For an input of 4 times the size, a quadratic call takes 16 times as long."""
_LIMIT = 9
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
    growth = find_growth(call, build, size, clock=clock)
    assert growth is None, growth


def find_growth(
    call: Callable[[T], object],
    build: Callable[[int], T],
    size: int,
    *,
    enough: float = 0.0,
    most: float = inf,
    clock: Callable[[], float] = thread_time,
) -> str | None:
    """Return both costs if the call fails `assert_grows_linearly`, or None.

    A call that takes less than `enough` seconds is not judged, and one that takes more than `most`
    is as if it had failed.
    """
    inputs = build(size), build(size // _FACTOR)
    large = small = inf
    for _ in range(_ROUNDS):
        # In turns, and the fastest of each, so that both sides have the same conditions. The large
        # one is first: imports and empty caches must not make the small one slow.
        large = min(large, _seconds(call, inputs[0], clock))
        small = min(small, _seconds(call, inputs[1], clock))
        if large <= min(max(_LIMIT * small, enough), most):
            return None
    return f"{size // _FACTOR} took {small * 1_000:.2f} ms, and {size} took {large * 1_000:.2f} ms."


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
