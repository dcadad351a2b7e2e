"""Truth values with a third one, UNKNOWN: the documentation does not establish the result.

The result of a condition is unknown only if it depends on an unknown part, so the evaluators don't
assume that an engine stops at the first part that decides.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from .errors import NotRendered

Truth: TypeAlias = bool | None
UNKNOWN = None
ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
UNESTABLISHED = "The documentation does not establish the result."
NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"


def both(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else True


def either(left: Truth, right: Truth) -> Truth:
    return negate(both(negate(left), negate(right)))


def negate(truth: Truth) -> Truth:
    return UNKNOWN if truth is UNKNOWN else not truth


def known(truth: Truth) -> bool:
    if truth is UNKNOWN:
        raise NotRendered(UNESTABLISHED)
    return truth


def is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


def in_order(symbol: str, left: str, right: str) -> Truth:
    """Return whether the numbers are in this order. It is unknown for other texts."""
    if not is_number(left) or not is_number(right):
        return UNKNOWN
    return ORDER[symbol](float(left), float(right))


def equal_texts(left: str, right: str) -> Truth:
    """Return whether the texts are equal, unless they differ only in case, white space or zeros."""
    if left == right:
        return True
    if is_number(left) and is_number(right) and float(left) == float(right):
        return UNKNOWN
    return UNKNOWN if left.strip().casefold() == right.strip().casefold() else False
