"""Conditions in one tag, for languages with parentheses."""

from __future__ import annotations

from .code_parts import ConditionLanguage
from .formulas import Atom, Conjunction, Formula


def write_inline(language: ConditionLanguage, formula: Formula, then: str, otherwise: str) -> str:
    """Return one block, whose test has the structure of the formula."""
    return language.block(_expression(language, formula), then, otherwise)


def _expression(language: ConditionLanguage, formula: Formula) -> str:
    if isinstance(formula, Atom):
        return language.code(formula)
    both, either = language.joiners
    joiner = both if isinstance(formula, Conjunction) else either
    return joiner.join(
        _expression(language, part)
        if isinstance(part, Atom)
        else f"({_expression(language, part)})"
        for part in formula.parts
    )
