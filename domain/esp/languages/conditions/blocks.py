"""Conditions in nested blocks, for languages without `and`, `or` and variables.

The texts are copied: `a or b` is a block for `a` and, in its else part, a block for `b`.
"""

from __future__ import annotations

from ...errors import NotExpressible
from .code_parts import ConditionLanguage
from .formulas import Atom, Conjunction, Formula

MAX_COPIES = 32
"""The number of copies of the two texts in one condition."""


def write_nested_blocks(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str
) -> str:
    """Return a tree of blocks. Raises: NotExpressible if it has too many copies of the texts."""
    thens, otherwises = _count_copies(formula)
    if thens + (otherwises if otherwise else 0) > MAX_COPIES:
        raise NotExpressible(
            f"Nested blocks would contain more than {MAX_COPIES} copies of the texts."
            " Simplify the condition."
        )
    return _blocks(language, formula, then, otherwise)


def _blocks(language: ConditionLanguage, formula: Formula, then: str, otherwise: str) -> str:
    if isinstance(formula, Atom):
        if formula.negated:
            then, otherwise = otherwise, then
        return language.block(formula.code, then, otherwise)
    code = _blocks(language, formula.parts[-1], then, otherwise)
    for part in reversed(formula.parts[:-1]):
        if isinstance(formula, Conjunction):
            code = _blocks(language, part, code, otherwise)
        else:
            code = _blocks(language, part, then, code)
    return code


def _count_copies(formula: Formula) -> tuple[int, int]:
    """Return how often the code contains `then` and `otherwise`."""
    if isinstance(formula, Atom):
        return 1, 1
    thens, otherwises = _count_copies(formula.parts[-1])
    for part in reversed(formula.parts[:-1]):
        part_thens, part_otherwises = _count_copies(part)
        if isinstance(formula, Conjunction):
            thens, otherwises = part_thens * thens, part_thens * otherwises + part_otherwises
        else:
            thens, otherwises = part_thens + part_otherwises * thens, part_otherwises * otherwises
    return thens, otherwises
