"""Waiting, with a time limit."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

TIMEOUT = 60
"""Seconds that a process or a condition may take before the test fails."""

T = TypeVar("T")


def eventually(condition: Callable[[], T | None], *, within: float = TIMEOUT) -> T:
    """Return what the condition returns as soon as that is true. Fail after `within` seconds."""
    deadline = monotonic() + within
    while not (value := condition()):
        assert monotonic() < deadline, f"The condition is still false after {within} s."
        sleep(0.01)
    return value
