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
    assert large <= _LIMIT * small, (
        f"{size // _FACTOR} took {small * 1_000:.2f} ms, and {size} took {large * 1_000:.2f} ms."
    )


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
