"""The parts of which the conditional code of an ESP consists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from attrs import evolve, frozen

from ...conditions import Operator
from ...content import WarningCode
from ...fields.values import DataType

# Formulas: tests that `and` and `or` join. The functions apply De Morgan's laws, so that a negation
# is always directly at a test.


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
    """Return the formula that holds if all parts hold, without nested and equal ones."""
    flat = _flat(Conjunction, parts)
    return flat[0] if len(flat) == 1 else Conjunction(flat)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Return the formula that holds if any part holds, without nested and equal ones."""
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
        dict.fromkeys(
            each
            for part in parts
            for each in (
                part.parts if not isinstance(part, Atom) and type(part) is kind else (part,)
            )
        )
    )


# How an ESP writes them


class Feature(Enum):
    """The kinds of comparisons that a language supports or not."""

    TEXT_EQUALITY = "equality of texts"
    CONTAINS = "parts of texts"
    TEXT_SET = "whether a text is set"
    NUMBER_EQUALITY = "equality of numbers"
    ORDER = "order of numbers"
    NUMBER_SET = "whether a number is set"
    TRUE = "true"
    FALSE = "false"
    BOOLEAN_SET = "whether a boolean is set"
    DATE_SET = "whether a date is set"
    DATE_COMPARISON = "comparison of dates"
    INSTANT_COMPARISON = "comparison of date-times"


@frozen
class Caveat:
    """A known case in which an ESP can read code differently. `{title}` is the name of the ESP."""

    code: WarningCode
    message: str


_BLANK = re.compile(r"(?>(?:\s++|\{%(?>(?:(?!%\}).)*)%\})+)", re.DOTALL)
"""White space and tags. A search for tags would scan the rest of the text after each `{%`."""
_VALUE = Atom("{operand}")
_NO_TEST = Atom("")
_EQUAL = Atom("{operand} == {value}", "{operand} != {value}")


class Missing(Enum):
    """How the engines of an ESP read a missing number in a comparison."""

    IS_ZERO = "as 0"
    IS_ZERO_OR_FAILS = "some as 0, and for the others no order holds"
    FAILS = "the comparison does not hold"
    UNKNOWN = "not established, or with an error"


@frozen
class Reading:
    """How a language reads a value before it compares it.

    In `expression`, `{operand}` is the value expression. If tests can't contain this expression,
    `variable` is the variable that is set to it. In it, `{key}` is the key of the field.

    `date` is the code of a date or an instant that is compared with this reading. In it and in
    `expression`, `{iso}` is `2026-11-20` or `2026-11-20T09:15:00Z`, and `{digits}` is `20261120` or
    `20261120091500`. The reading of a missing value is not established. If `date` is None, dates
    are compared as numbers, such as 20261120, and instants as milliseconds since 1970; a missing
    value is read as 0.
    """

    expression: str
    variable: str | None = None
    date: str | None = None


class Falsy(Enum):
    """The values that languages read as false. The enum values are their names in messages."""

    MISSING = "a missing value"
    FALSE = "false"
    ZERO = "0"
    EMPTY_TEXT = "an empty text"
    WHITE_SPACE = "white space only"
    EMPTY_LIST = "an empty list"
    EMPTY_OBJECT = "an empty object"
    FALSE_TEXT = 'the text "false"'


FALSY_IN_PYTHON = frozenset(Falsy) - {Falsy.WHITE_SPACE, Falsy.FALSE_TEXT}


@frozen
class Presence:
    """Tests that together hold for each value, whatever its type, but the falsy ones."""

    tests: tuple[Atom, ...]
    falsy: frozenset[Falsy]


@frozen(kw_only=True)
class ConditionLanguage:
    """How one ESP writes conditions.

    `write` is the strategy that joins tests. `tag` contains the delimiters of a tag; `begin`,
    `alternative`, `otherwise` and `end` are the contents of the tags; a language without an
    `alternative` has a block in the else part instead. In these templates, `{test}`
    is a test, `{helper}` its first word, `{operand}` the value expression, and `{value}` a literal.
    A text in which the regular expression `inseparable` matches would form another tag together
    with the tags around it. `keeps_white_space` is code that shows nothing, and that a block of
    white space requires. `quote` encloses text literals, if the language has quotes.

    `is_set` contains the tests that together hold for a text, a date or a date-time that is set,
    and for neither a missing value nor null nor an empty text. `number_is_set` contains those of
    numbers and booleans. If it is None, there are none: then `is_set` can fail for 0 and false.
    `presences` are tests of values whose type is not known: the first one is a value as a test, if
    its meaning is established.
    `readings` contains how values are read in other comparisons, if not verbatim. A language has a
    reading of dates and one of instants, or refuses these comparisons.

    `missing_number` defines which comparisons of numbers need a guard. If `guards_contains` is
    true, `contains` is only evaluated, or only counts, for values that are set. If `guards_false`
    is true, an empty text equals false. An operator that `order` does not contain is the negation
    of its opposite. If `equal_by_order` is true, two tests of the order replace the equality of
    numbers. `state` is the test for `loop is first`, which no engine holds as text.
    `equal_texts` is the test of two texts, and `false` the test for false, if it is not
    `equal`. `zero` is the literal 0 if it differs. If `decimal_literals` is true, 3 is `3.0`.

    `refused` and `caveats` contain the reasons, per feature. `zero_caveat` applies to comparisons
    with 0, `numeric_text_caveat` to comparisons with a text such as "10", `option_caveat` to those
    of a text field with allowed values, and `joined_caveat` to code that joins tests. `nesting`
    contains the pattern of code with a block in a block, and the caveat about it.
    """

    write: Callable[[ConditionLanguage, Formula, str, str], str]
    tag: tuple[str, str] = ("{% ", " %}")
    begin: str = "if {test}"
    alternative: str | None = "elif {test}"
    otherwise: str = "else"
    end: str = "endif"
    keeps_white_space: str = ""
    inseparable: str = r"\A\}|\{\Z"
    negation: str = "not ({test})"
    joiners: tuple[str, str] = (" and ", " or ")
    truth: str | None = None
    """How a test of truth begins, if the helpers `and` and `or` can join two of them."""
    quote: str | None = '"'
    quotes_numbers: bool = False
    decimal_literals: bool = False
    booleans: tuple[str, str] = ("false", "true")
    zero: str | None = None
    readings: Mapping[DataType, Reading] = {}
    is_set: tuple[Atom, ...] = (_VALUE,)
    number_is_set: tuple[Atom, ...] | None = None
    presences: tuple[Presence, ...] = ()
    true: Atom = _VALUE
    state: Atom = _VALUE
    false: Atom | None = None
    equal: Atom = _EQUAL
    equal_texts: Atom | None = None
    equal_by_order: bool = False
    missing_number: Missing = Missing.UNKNOWN
    guards_equality: bool = False
    guards_false: bool = False
    order: Mapping[Operator, Atom] = {
        Operator.LESS: Atom("{operand} < {value}"),
        Operator.AT_MOST: Atom("{operand} <= {value}"),
        Operator.GREATER: Atom("{operand} > {value}"),
        Operator.AT_LEAST: Atom("{operand} >= {value}"),
    }
    contains: Atom = _NO_TEST
    guards_contains: bool = False
    refused: Mapping[Feature, str] = {}
    caveats: Mapping[Feature, tuple[Caveat, ...]] = {}
    zero_caveat: Caveat | None = None
    numeric_text_caveat: Caveat | None = None
    option_caveat: Caveat | None = None
    joined_caveat: Caveat | None = None
    nesting: tuple[re.Pattern[str], Caveat] | None = None

    def find_nesting(self, code: str) -> Caveat | None:
        """Return the caveat about a block in a block, if the code has one."""
        if self.nesting is None:
            return None
        pattern, caveat = self.nesting
        return None if pattern.search(code) is None else caveat

    def block(self, test: str, then: str, otherwise: str, *, is_chain: bool = False) -> str:
        """Return the code that renders `then` if the test holds, and `otherwise` if not.

        If `is_chain` is true, `otherwise` is a block of this language.
        """
        code = self._tag(self.begin.format(test=test)) + then
        end = self._tag(self.end.format(helper=test.partition(" ")[0]))
        if not otherwise:
            return code + end
        code += self._tag(self.otherwise)
        return "".join(self.join(code, otherwise, end)) if is_chain else code + otherwise + end

    def chain(self, tests: Sequence[str], then: str, otherwise: str) -> str:
        """Return the code that renders `then` if any test holds, with a tag per test."""
        *others, last = tests
        code = self.block(last, then, otherwise)
        for test in reversed(others):
            code = self.block(test, then, code, is_chain=True)
        return code

    def insert(self, code: str, mark: str, block: str) -> str:
        """Return the code with a block of this language at each mark."""
        before, *others = code.split(mark)
        for after in others:
            before = "".join(self.join(before, block, after))
        return before

    def split_guard(self, code: str, mark: str) -> tuple[str, str, str] | None:
        """Return the first tag of a block, what it shows if its test holds, and the rest, or None.

        It is None unless the mark is all that the block shows if the test does not hold.
        """
        end = code.index(self.tag[1]) + len(self.tag[1])
        otherwise = self._tag(self.otherwise) + mark
        held, found, closing = code[end:].rpartition(otherwise)
        has_branches = self.alternative is not None and self.alternative.partition("{")[0] in held
        if not found or has_branches or closing.count(self.tag[1]) != 1:
            return None
        return code[:end], held, otherwise + closing

    def join(self, before: str, block: str, after: str) -> tuple[str, str, str]:
        """Return the code before a block, the block, or its beginning, and the code after it.

        If the block is the whole else part of another one, it begins with the short form of that,
        and both have one end: `{% elif b %}` is `{% else %}{% if b %}`.
        """
        if self.alternative is None:
            return before, block, after
        begin, short = (
            self.tag[0] + each.partition("{test}")[0] for each in (self.begin, self.alternative)
        )
        otherwise, end = self._tag(self.otherwise), self._tag(self.end)
        if before.endswith(otherwise) and block.startswith(begin) and after.startswith(end):
            before, after = before.removesuffix(otherwise), after.removeprefix(end)
            block = short + block.removeprefix(begin)
        return before, block, after

    def code(self, atom: Atom) -> str:
        """Return the code of a test that can be negated."""
        if not atom.negated:
            return atom.code
        return atom.opposite or self.negation.format(test=atom.code)

    def text(self, text: str) -> str:
        """Return the text as it must be written in a block.

        Ruby's Liquid shows nothing of a block that contains only white space and tags.
        """
        return text if _BLANK.fullmatch(text) is None else text + self.keeps_white_space

    def _tag(self, content: str) -> str:
        return self.tag[0] + content + self.tag[1]
