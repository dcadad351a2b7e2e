"""The measure accepts a linear call, and rejects a quadratic one, whatever the machine does."""

from __future__ import annotations

import pytest

from .growth import assert_grows_linearly, count_calls, find_growth


class Work:
    """Calls that take a known time."""

    def __init__(self, power: int) -> None:
        self.now = 0.0
        self.power = power

    def clock(self) -> float:
        return self.now

    def __call__(self, size: int) -> None:
        self.now += (size / 1_000) ** self.power


def test_a_linear_call_is_accepted():
    work = Work(1)
    assert_grows_linearly(work, int, 4_000, work.clock)


def test_a_quadratic_call_is_rejected():
    work = Work(2)
    with pytest.raises(AssertionError, match=r"1000 took 1000\.00 ms, and 4000 took 16000\.00 ms"):
        assert_grows_linearly(work, int, 4_000, work.clock)


def test_a_short_call_is_not_judged_and_a_long_one_is_reported():
    linear, quadratic = Work(1), Work(2)
    assert find_growth(quadratic, int, 4_000, enough=17, clock=quadratic.clock) is None
    assert find_growth(linear, int, 4_000, most=3, clock=linear.clock) is not None


def test_the_calls_of_a_function_are_counted():
    def called() -> int:
        return 1

    assert count_calls(called, lambda: [called() for _ in range(3)]) == 3
    assert count_calls(called, lambda: None) == 0
