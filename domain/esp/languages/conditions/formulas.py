"""Formulas: tests in the language of an ESP, joined by and and or.

A negation is always directly at a test: the functions apply De Morgan's laws.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from attrs import evolve, frozen


@frozen
class Atom:
    """One test. `opposite` is the code of the negated test, if the language has one.

    `assignment` is the tag that sets the variable in the test. `implied` is the code of another
    test, which holds whenever this one holds.
    """

    code: str
    opposite: str | None = None
    negated: bool = False
    assignment: str = ""
    implied: str | None = None


@frozen
class Conjunction:
    """A formula that holds if all of its parts hold."""

    parts: tuple[Formula, ...]


@frozen
class Disjunction:
    """A formula that holds if any of its parts holds."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = Atom | Conjunction | Disjunction


def conjunction(parts: Iterable[Formula]) -> Formula:
    """Return the formula that holds if all parts hold, without nested conjunctions."""
    flat = _flat(Conjunction, parts)
    return flat[0] if len(flat) == 1 else Conjunction(flat)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Return the formula that holds if any part holds, without nested disjunctions."""
    flat = _flat(Disjunction, parts)
    return flat[0] if len(flat) == 1 else Disjunction(flat)


def negation(formula: Formula) -> Formula:
    """Return the formula that holds if this one does not."""
    if isinstance(formula, Atom):
        return evolve(formula, negated=not formula.negated)
    join = disjunction if isinstance(formula, Conjunction) else conjunction
    return join(negation(part) for part in formula.parts)


def atoms(formula: Formula) -> Iterator[Atom]:
    """Yield the tests in the formula, in order."""
    if isinstance(formula, Atom):
        yield formula
    else:
        for part in formula.parts:
            yield from atoms(part)


def _flat(
    kind: type[Conjunction] | type[Disjunction], parts: Iterable[Formula]
) -> tuple[Formula, ...]:
    return tuple(
        each
        for part in parts
        for each in (part.parts if not isinstance(part, Atom) and type(part) is kind else (part,))
    )
