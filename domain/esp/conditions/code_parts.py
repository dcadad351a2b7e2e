"""The parts of which the conditional code of an ESP consists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from attrs import frozen

from ...conditions import Operator
from ...content import WarningCode
from .formulas import Atom, Formula


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


@frozen
class Caveat:
    """A known case in which an ESP can read code differently. `{title}` is the name of the ESP."""

    code: WarningCode
    message: str


_VALUE = Atom("{operand}")
_EQUAL = Atom("{operand} == {value}", "{operand} != {value}")


@frozen(kw_only=True)
class Language:
    """How one ESP writes conditions.

    `write` is the strategy that joins tests. `tag` contains the delimiters of a tag; `begin`,
    `otherwise` and `end` are the contents of the three tags. In these templates, `{test}` is a
    test, `{helper}` its first word, `{operand}` the value expression, and `{value}` a literal.
    A text in which the regular expression `inseparable` matches would form another tag together
    with the tags around it. `quote` encloses text literals, if the language has quotes.

    `present` does not hold for a missing value and null. It holds for true, a number other than 0
    and a text that is not empty, and for 0 and false if `zero_is_present`. If that is false, its
    result for 0 and false does not matter. `empty` is the test for an empty text, if `present`
    holds for it. If one of the `guards_…` is true, the comparison is only evaluated, or only
    counts, for values that are present. An operator that `order` does not contain is the negation
    of its opposite.

    `refused` and `caveats` contain the reasons, per feature. `zero_caveat` applies to comparisons
    with 0 and false, `numeric_text_caveat` to comparisons with a text such as "10", and
    `option_caveat` to those of a text field with allowed values.
    """

    write: Callable[[Language, Formula, str, str], str]
    tag: tuple[str, str] = ("{% ", " %}")
    begin: str = "if {test}"
    otherwise: str = "else"
    end: str = "endif"
    inseparable: str = r"\A\}|\{\Z"
    negation: str = "not ({test})"
    joiners: tuple[str, str] = (" and ", " or ")
    quote: str | None = '"'
    quotes_numbers: bool = False
    booleans: tuple[str, str] = ("false", "true")
    present: Atom = _VALUE
    empty: Atom | None = None
    zero_is_present: bool = False
    true: Atom = _VALUE
    equal: Atom = _EQUAL
    guards_equality: bool = False
    order: Mapping[Operator, str] = {
        Operator.LESS: "{operand} < {value}",
        Operator.AT_MOST: "{operand} <= {value}",
        Operator.GREATER: "{operand} > {value}",
        Operator.AT_LEAST: "{operand} >= {value}",
    }
    guards_order: bool = True
    contains: str = ""
    guards_contains: bool = False
    refused: Mapping[Feature, str] = {}
    caveats: Mapping[Feature, Caveat] = {}
    zero_caveat: Caveat | None = None
    numeric_text_caveat: Caveat | None = None
    option_caveat: Caveat | None = None

    def block(self, test: str, then: str, otherwise: str) -> str:
        """Return the code that renders `then` if the test holds, and `otherwise` if not."""
        begin = self._tag(self.begin.format(test=test))
        end = self._tag(self.end.format(helper=test.partition(" ")[0]))
        middle = self._tag(self.otherwise) + otherwise if otherwise else ""
        return f"{begin}{then}{middle}{end}"

    def code(self, atom: Atom) -> str:
        """Return the code of a test that can be negated."""
        if not atom.negated:
            return atom.code
        return atom.opposite or self.negation.format(test=atom.code)

    def _tag(self, content: str) -> str:
        return self.tag[0] + content + self.tag[1]
