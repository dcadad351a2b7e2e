"""Four ways to write a condition: in one tag, with variables, in nested blocks, in normal form.

A language without parentheses and precedence sets a variable for each group that does not fit into
one chain of `and` or `or`. Chains never mix both operators, so the order of evaluation does not
matter. A language without `and`, `or` and variables has nested blocks with copies of the texts:
`a or b` is a block for `a` and, in its else part or its next branch, one for `b`. The disjunctive
normal form of `a and (b or c)` is `a and b or a and c`. If the engines of an ESP differ in how
tightly `and` binds, each alternative has a tag of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from operator import itemgetter

from attrs import Factory, evolve, frozen

from ..errors import NotExpressible
from .conditions import Atom, ConditionLanguage, Conjunction, Disjunction, Formula, atoms, negation

MAX_COPIES = 32
"""The number of copies of the two texts in one condition."""
MAX_TERMS = 60
"""The number of alternatives in one tag. A normal form can be exponentially large."""


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


def write_with_flags(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str
) -> str:
    """Return the assignments of the variables, and one block that tests them."""
    variables = "".join(dict.fromkeys(atom.assignment for atom in atoms(formula)))
    flags, block = _Flags(language), language.block
    negated = [atom.negated for atom in atoms(formula) if atom.opposite is None]
    if 2 * sum(negated) > len(negated):  # The negation requires fewer flags.
        formula = negation(formula)
        if otherwise:
            then, otherwise = otherwise, then
        else:
            block = evolve(language, begin="unless {test}", end="endunless").block
    test = flags.test(formula)
    return variables + "".join(flags.assignments) + block(test, then, otherwise)


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


def write_nested_blocks(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str
) -> str:
    """Return a tree of blocks. Raises: NotExpressible if it has too many copies of the texts."""
    if language.truth is not None:
        formula = _paired(formula, language.truth)
    thens, otherwises = _count_copies(formula)
    if thens + (otherwises if otherwise else 0) > MAX_COPIES:
        raise NotExpressible(
            f"Nested blocks would contain more than {MAX_COPIES} copies of the texts."
            " Simplify the condition."
        )
    return _blocks(language, formula, then, otherwise)


def _paired(formula: Formula, truth: str) -> Formula:
    """Return the formula with one test for two tests of truth: `and a b`, which copies nothing."""
    if isinstance(formula, Atom):
        return formula
    parts = [_paired(each, truth) for each in formula.parts]
    for negated in (False, True):
        helper = "and" if isinstance(formula, Conjunction) != negated else "or"
        truths = [
            each
            for each in parts
            if isinstance(each, Atom) and each.negated == negated and each.code.startswith(truth)
        ]
        for first, second in zip(truths[::2], truths[1::2], strict=False):
            operands = f"{first.code.removeprefix(truth)} {second.code.removeprefix(truth)}"
            parts[parts.index(first)] = Atom(f"{helper} {operands}", negated=negated)
            parts.remove(second)
    return parts[0] if len(parts) == 1 else evolve(formula, parts=tuple(parts))


def _blocks(
    language: ConditionLanguage,
    formula: Formula,
    then: str,
    otherwise: str,
    *,
    is_chain: bool = False,
) -> str:
    """Return a tree of blocks. If `is_chain` is true, `otherwise` is such a tree."""
    if isinstance(formula, Atom):
        if formula.negated:
            return language.block(formula.code, otherwise, then)
        return language.block(formula.code, then, otherwise, is_chain=is_chain)
    code = _blocks(language, formula.parts[-1], then, otherwise, is_chain=is_chain)
    for part in reversed(formula.parts[:-1]):
        if isinstance(formula, Conjunction):
            code = _blocks(language, part, code, otherwise, is_chain=is_chain)
        else:
            code = _blocks(language, part, then, code, is_chain=True)
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


def write_normal_form(
    language: ConditionLanguage, formula: Formula, then: str, otherwise: str
) -> str:
    """Return one block, whose test is the normal form of the formula or of its negation.

    The one with fewer tests, or fewer negations without a short form, is used. Raises:
    NotExpressible if both are too long.
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
    forms: list[tuple[tuple[int, int, int], list[str], str, str]] = []
    for form, first, second in ((formula, then, otherwise), (negation(formula), otherwise, then)):
        if _count_terms(form) <= MAX_TERMS:
            terms = _terms(form)
            tests = list(_tests(language, terms, in_one_tag=in_one_tag))
            if len(tests) <= MAX_COPIES:
                used = [atom for term in terms for atom in term]
                size = len(tests), len(used), sum(map(_is_awkward, used))
                forms.append((size, tests, first, second))
    if not forms:
        raise NotExpressible(
            f"Without parentheses, this condition has more than"
            f" {MAX_TERMS if in_one_tag else MAX_COPIES} alternatives. Simplify it."
        )
    _, tests, then, otherwise = min(forms, key=itemgetter(0))
    return language.chain(tests, then, otherwise)


def _is_awkward(atom: Atom) -> bool:
    """Return whether this is a negation that the language has no short form for."""
    return atom.negated and (atom.opposite is None or len(atom.opposite) > 2 * len(atom.code))


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
