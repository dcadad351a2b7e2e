"""Conditions without parentheses, in disjunctive normal form: `a and b or a and c`.

If the engines of an ESP differ in how tightly `and` binds, each alternative has a tag of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from ...errors import NotExpressible
from .blocks import MAX_COPIES
from .code_parts import ConditionLanguage
from .formulas import Atom, Disjunction, Formula, negation

MAX_TERMS = 60
"""The number of alternatives in one tag. A normal form can be exponentially large."""


def write_normal_form(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str
) -> str:
    """Return one block, whose test is the normal form of the formula or of its negation.

    The shorter one is used. Raises: NotExpressible if both are too long.
    """
    return _write(language, formula, then, otherwise, in_one_tag=True)


def write_alternatives(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str
) -> str:
    """Return one block with a tag per alternative, which contain copies of one of the texts.

    Each tag joins its tests by one kind of operator: `{% if a or b %}…{% elif c and d %}…`. Raises:
    NotExpressible if there are too many copies.
    """
    return _write(language, formula, then, otherwise, in_one_tag=False)


def _write(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str, *, in_one_tag: bool
) -> str:
    def tests(formula: Formula) -> list[str] | None:
        if _count_terms(formula) > MAX_TERMS:
            return None
        tests = list(_tests(language, _terms(formula), in_one_tag=in_one_tag))
        return tests if len(tests) <= MAX_COPIES else None

    positive, negative = tests(formula), tests(negation(formula))
    if negative is not None and (positive is None or _length(negative) < _length(positive)):
        positive, then, otherwise = negative, otherwise, then
    if positive is None:
        raise NotExpressible(
            f"Without parentheses, this condition has more than"
            f" {MAX_TERMS if in_one_tag else MAX_COPIES} alternatives. Simplify it."
        )
    return language.chain(positive, then, otherwise)


def _tests(
    language: ConditionLanguage, terms: list[tuple[Atom, ...]], *, in_one_tag: bool
) -> Iterator[str]:
    """Yield the test of each tag."""
    both, either = language.joiners
    alternatives = [both.join(map(language.code, term)) for term in terms]
    if in_one_tag:
        yield either.join(alternatives)
        return
    single = [test for test, term in zip(alternatives, terms, strict=True) if len(term) == 1]
    if single:
        yield either.join(single)
    yield from (test for test, term in zip(alternatives, terms, strict=True) if len(term) > 1)


def _length(tests: list[str]) -> int:
    return sum(map(len, tests))


def _count_terms(formula: Formula) -> int:
    if isinstance(formula, Atom):
        return 1
    counts = [_count_terms(part) for part in formula.parts]
    return sum(counts) if isinstance(formula, Disjunction) else prod(counts)


def _terms(formula: Formula) -> list[tuple[Atom, ...]]:
    """Return the alternatives, each of which is a conjunction of different tests.

    An alternative that contains all tests of another one is left out.
    """
    terms = list(dict.fromkeys(map(_without_implied, _combinations(formula))))
    tests = list(map(set, terms))
    return [
        term
        for term, these in zip(terms, tests, strict=True)
        if not any(others < these for others in tests)
    ]


def _without_implied(term: tuple[Atom, ...]) -> tuple[Atom, ...]:
    implied = {atom.implied for atom in term if not atom.negated}
    return tuple(atom for atom in term if atom.negated or atom.code not in implied)


def _combinations(formula: Formula) -> list[tuple[Atom, ...]]:
    if isinstance(formula, Atom):
        return [(formula,)]
    parts = [_combinations(part) for part in formula.parts]
    if isinstance(formula, Disjunction):
        return [term for terms in parts for term in terms]
    return [
        tuple(dict.fromkeys(atom for term in combination for atom in term))
        for combination in product(*parts)
    ]
