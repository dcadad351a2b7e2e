"""Conditions in one tag, for languages in which `and` binds tighter than `or`, without parentheses.

The formula is written in disjunctive normal form: `a and b or a and c`.
"""

from __future__ import annotations

from itertools import product
from math import prod

from ..errors import NotExpressible
from .code_parts import Language
from .formulas import Atom, Disjunction, Formula, negation

MAX_TERMS = 60
"""The number of alternatives in one tag. A normal form can be exponentially large."""


def write_normal_form(language: Language, formula: Formula, then: str, otherwise: str) -> str:
    """Return one block, whose test is the normal form of the formula or of its negation.

    The shorter one is used. Raises: NotExpressible if both are too long.
    """
    tests, opposite = _normal_form(language, formula), _normal_form(language, negation(formula))
    if opposite is not None and (tests is None or len(opposite) < len(tests)):
        tests, then, otherwise = opposite, otherwise, then
    if tests is None:
        raise NotExpressible(
            f"Without parentheses, this condition has more than {MAX_TERMS} alternatives."
            " Simplify it."
        )
    return language.block(tests, then, otherwise)


def _normal_form(language: Language, formula: Formula) -> str | None:
    if _count_terms(formula) > MAX_TERMS:
        return None
    both, either = language.joiners
    return either.join(both.join(map(language.code, term)) for term in _terms(formula))


def _count_terms(formula: Formula) -> int:
    if isinstance(formula, Atom):
        return 1
    counts = [_count_terms(part) for part in formula.parts]
    return sum(counts) if isinstance(formula, Disjunction) else prod(counts)


def _terms(formula: Formula) -> list[tuple[Atom, ...]]:
    """Return the alternatives, each of which is a conjunction of different tests."""
    if isinstance(formula, Atom):
        return [(formula,)]
    parts = [_terms(part) for part in formula.parts]
    if isinstance(formula, Disjunction):
        return [term for terms in parts for term in terms]
    return [
        tuple(dict.fromkeys(atom for term in combination for atom in term))
        for combination in product(*parts)
    ]
