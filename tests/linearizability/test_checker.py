"""The checker, on histories of one register."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, permutations

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from .checker import NEVER, contradiction


@frozen
class Call:
    """The value that was read, written or increased by one; the register starts at 0."""

    kind: str
    value: int
    invoked: float
    returned: float = NEVER


def after(value: int, call: Call) -> int | None:
    if call.kind == "write":
        return call.value
    if value != call.value:
        return None
    return value if call.kind == "read" else value + 1


def read(value: int, invoked: float, returned: float) -> Call:
    return Call("read", value, invoked, returned)


def write(value: int, invoked: float, returned: float = NEVER) -> Call:
    return Call("write", value, invoked, returned)


def increase(value: int, invoked: float, returned: float = NEVER) -> Call:
    return Call("increase", value, invoked, returned)


LINEARIZABLE = {
    "nothing happened": [],
    "one after the other": [read(0, 0, 1), write(1, 2, 3), read(1, 4, 5)],
    "a write is seen before it returns": [write(1, 0, 9), read(1, 1, 2)],
    "a write is not seen until it returns": [write(1, 0, 9), read(0, 1, 2), read(1, 10, 11)],
    "writes take effect in the other order": [write(1, 0, 5), write(2, 1, 4), read(1, 6, 7)],
    "reads overlap a write on both sides": [write(1, 2, 5), read(1, 3, 9), read(0, 0, 4)],
    "increases overlap": [increase(1, 0, 5), increase(0, 1, 6)],
    "a write without outcome is never seen": [write(1, 0), read(0, 1, 2), read(0, 3, 4)],
    "a write without outcome is seen late": [write(1, 0), read(0, 1, 2), read(1, 3, 4)],
    "a write without outcome overwrites a later one": [write(1, 0), write(2, 1, 2), read(1, 3, 4)],
    "one of two writes without outcome is seen": [write(1, 0), write(2, 0), read(2, 1, 2)],
}

CONTRADICTORY = {
    "a read of what was never written": [read(1, 0, 1)],
    "a stale read": [write(1, 0, 1), read(0, 2, 3)],
    "a read from the future": [read(1, 0, 1), write(1, 2, 3)],
    "a lost update": [increase(0, 0, 5), increase(0, 1, 6)],
    "a value that disappears and reappears": [write(1, 0, 9), read(1, 1, 2), read(0, 3, 4)],
    "readers who disagree on the order": [
        *(write(1, 0, 99), write(2, 0, 99)),
        *(read(1, 1, 2), read(2, 3, 4), read(1, 5, 6)),
    ],
    "a write without outcome seen before it was invoked": [read(1, 0, 1), write(1, 2)],
    "a write without outcome seen, then unseen": [write(1, 0), read(1, 1, 2), read(0, 3, 4)],
    "a increase without outcome seen twice": [increase(0, 0), read(2, 1, 2)],
}


@pytest.mark.parametrize("history", LINEARIZABLE.values(), ids=LINEARIZABLE)
def test_a_history_with_a_valid_order_is_linearizable(history: list[Call]) -> None:
    assert contradiction(history, 0, after) == ()


@pytest.mark.parametrize("history", CONTRADICTORY.values(), ids=CONTRADICTORY)
def test_a_history_without_a_valid_order_is_contradictory(history: list[Call]) -> None:
    assert contradiction(history, 0, after) != ()


def test_contradictory_calls_are_reported_in_the_order_of_their_returns() -> None:
    history = [write(1, 0, 1), write(2, 2, 3), read(1, 4, 9), read(7, 5, 8), write(3, 10, 11)]
    assert contradiction(history, 0, after) == [read(7, 5, 8), read(1, 4, 9)]


def test_the_cost_of_a_history_depends_on_its_overlaps() -> None:
    history = [write(n, 2 * n, 2 * n + 3) for n in range(2_000)]
    assert contradiction([*history, read(1_999, 4_010, 4_011)], 0, after) == ()
    assert contradiction([*history, read(1_000, 4_010, 4_011)], 0, after) != ()


def some_order_explains(history: Sequence[Call]) -> bool:
    """Try any subset of the calls without outcome, in any order that their times permit."""
    completed = [call for call in history if call.returned != NEVER]
    pending = [call for call in history if call.returned == NEVER]
    happened = chain.from_iterable(
        combinations(pending, count) for count in range(len(pending) + 1)
    )
    orders = chain.from_iterable(permutations([*completed, *some]) for some in happened)
    return any(in_time(order) and explains(order) for order in orders)


def in_time(order: Sequence[Call]) -> bool:
    return all(one.invoked <= other.returned for one, other in combinations(order, 2))


def explains(order: Sequence[Call]) -> bool:
    value: int | None = 0
    for call in order:
        value = None if value is None else after(value, call)
    return value is not None


@given(
    st.lists(
        st.builds(
            lambda kind, value, invoked, lasting: Call(kind, value, invoked, invoked + lasting),
            st.sampled_from(["read", "write", "increase"]),
            st.integers(0, 2),
            st.integers(0, 9),
            st.integers(1, 6) | st.just(NEVER),
        ),
        max_size=5,
    )
)
def test_the_checker_agrees_with_the_definition(history: list[Call]) -> None:
    assert (contradiction(history, 0, after) == ()) is some_order_explains(history)
