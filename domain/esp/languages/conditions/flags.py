"""Conditions in several tags, for languages without parentheses and precedence.

Each group that does not fit into one chain of `and` or `or` sets a variable first. Chains never mix
both operators, so the order of evaluation does not matter.
"""

from __future__ import annotations

from attrs import Factory, frozen

from .code_parts import ConditionLanguage
from .formulas import Atom, Conjunction, Formula, atoms, negation


def write_with_flags(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str
) -> str:
    """Return the assignments of the variables, and one block that tests them."""
    variables = "".join(dict.fromkeys(atom.assignment for atom in atoms(formula)))
    if isinstance(formula, Atom) and formula.negated and formula.opposite is None:
        formula, then, otherwise = negation(formula), otherwise, then
    flags = _Flags(language)
    test = flags.test(formula)
    return variables + "".join(flags.assignments) + language.block(test, then, otherwise)


def assign(name: str, value: str) -> str:
    """Return the tag that sets the variable with this name."""
    return f"{{% assign {name} = {value} %}}"


@frozen
class _Flags:
    """The assignments that precede a block."""

    language: ConditionLanguage
    assignments: list[str] = Factory(list)

    def test(self, formula: Formula) -> str:
        """Return the test of the formula: one comparison, or one chain."""
        if isinstance(formula, Atom):
            return self._operand(formula)
        both, either = self.language.joiners
        joiner = both if isinstance(formula, Conjunction) else either
        return joiner.join([self._operand(part) for part in formula.parts])

    def _operand(self, formula: Formula) -> str:
        """Return a part of a chain. Groups and negations become variables."""
        if not isinstance(formula, Atom):
            return self._assign(self.test(formula), held=True)
        if formula.negated and formula.opposite is None:
            return self._assign(formula.code, held=False)
        return self.language.code(formula)

    def _assign(self, test: str, *, held: bool) -> str:
        """Assign a new variable, whose value is `held` if the test holds, and return its name."""
        name = f"condition_{len(self.assignments) + 1}"
        then, otherwise = ("true", "false") if held else ("false", "true")
        block = self.language.block(test, assign(name, then), "")
        self.assignments.append(assign(name, otherwise) + block)
        return name
