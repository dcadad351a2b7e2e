"""The text form of conditions: parse it and format it. `docs/conditions.md` has the grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from html import unescape
from typing import NamedTuple

from attrs import frozen

from ..arguments import require_type
from ..data_paths import LONG_PATH, DataPath
from ..errors import Rule, Violation
from .errors import InvalidCondition
from .literals import date_literal, number_literal, text_literal, to_scalar
from .tree import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Not,
    Operator,
    TextPosition,
    Value,
    require_condition,
)

__all__ = ["MAX_DEPTH", "format_condition", "parse_condition"]

MAX_DEPTH = 12
"""The maximum depth of a condition's tree, and of parentheses and `not` in its text."""

SYMBOLS: Mapping[Operator, str] = {
    Operator.EQUAL: "=",
    Operator.NOT_EQUAL: "!=",
    Operator.LESS: "<",
    Operator.AT_MOST: "<=",
    Operator.GREATER: ">",
    Operator.AT_LEAST: ">=",
    Operator.IN: "in",
    Operator.CONTAINS: "contains",
    Operator.IS_SET: "is set",
    Operator.IS_NOT_SET: "is not set",
}
"""The operators as text. `IS_TRUE` has none: its field is a condition by itself."""


_START = TextPosition(1, 1)


def parse_condition(text: str, *, start: TextPosition = _START) -> Condition:
    """Return the condition that the text means. `start` is the position of its first character.

    Raises: InvalidCondition if the text is not a condition. The message contains the line, the
    column, and what was expected there.
    """
    require_type(str, text=text)
    require_type(TextPosition, start=start)
    return _parse(_Parser(text, start))


def parse_condition_on_data(text: str, start: TextPosition) -> Condition:
    """Return the condition as `parse_condition` does. Its keys can also be paths to data."""
    return _parse(_Parser(text, start, reads_data=True))


def _parse(parser: _Parser) -> Condition:
    condition = parser.disjunction(0)
    if parser.token.kind != "end":
        raise parser.error("Expected `and`, `or` or the end of the condition.")
    return condition


def format_condition(condition: Condition) -> str:
    """Return the condition as text, on one line, with as few parentheses as possible."""
    require_condition(condition)
    match condition:
        case AnyOf(conditions):
            return " or ".join(_format_inside(each, AnyOf) for each in conditions)
        case AllOf(conditions):
            return " and ".join(_format_inside(each, AnyOf, AllOf) for each in conditions)
        case Not(negated):
            return f"not {_format_inside(negated, AnyOf, AllOf)}"
        case Comparison(operator=Operator.IS_TRUE):
            return condition.key
        case Comparison(operator=Operator.IN):
            values = ", ".join(map(format_value, condition.values))
            return f"{condition.key} in ({values})"
    return " ".join(
        (condition.key, SYMBOLS[condition.operator], *map(format_value, condition.values))
    )


def format_value(value: Value) -> str:
    """Return the value as a literal of the text form."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case date():  # or datetime, its subclass
            return f'date "{to_scalar(value)}"'
    return format(Decimal(str(value)), "f")


def _format_inside(condition: Condition, *enclosed: type) -> str:
    """Return the text of the condition, in parentheses if it has one of these types."""
    text = format_condition(condition)
    return f"({text})" if isinstance(condition, enclosed) else text


class _Token(NamedTuple):
    """A token. It is created faster than a class of attrs, and a condition can have thousands."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def position(self) -> TextPosition:
        return TextPosition(self.line, self.column)


@frozen
class _Literal:
    value: Value
    position: TextPosition


_TOKEN = re.compile(
    r"""
      (?P<space> [ \t\r\n]++ )
    | (?P<text> "(?>(?:[^"\\\r\n]++|\\.)*)" | '(?>(?:[^'\\\r\n]++|\\.)*)' )
    | (?P<unclosed> ["'] )
    | (?P<date> [0-9]{4}-[0-9]{2}-[0-9]{2}[\w.:+-]*+ | [0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4} )
    | (?P<number> [+-]?\.?[0-9][\w.]*+ )
    | (?P<path> """
    + LONG_PATH
    + r""" )
    | (?P<word> \w++ )
    | (?P<symbol> [=!<>]++ | [(),] )
    | (?P<unknown> &amp;&amp; | &\#?\w{1,6}+; | && | \|\| | . )
    """,
    re.VERBOSE,
)
"""A token. The pattern matches at every position of any text."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_ESCAPE = re.compile(r"\\(.)")
_UNKNOWN_ESCAPE = re.compile(r"""(?>(?:[^\\]++|\\[\\"'])*)\\""")

_COMPARED = {symbol: operator for operator, symbol in SYMBOLS.items() if not symbol[0].isalpha()}
_ORDERS = {"<", "<=", ">", ">="}
_INSTEAD_OF_NULL = {"=": "is not set", "!=": "is set"}
_OTHER_SPELLINGS = {
    "==": "=",
    "<>": "!=",
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2018\u2019\u201a", "'"),
    "&&": "and",
    "||": "or",
    "!": "not",
}
"""What other languages and editors write, and what this language requires. Editors also write
characters as entities: `&quot;`, `&gt;`."""
_INSTEAD_OF_OPERATOR = {
    **dict.fromkeys(
        ("begins", "ends", "like", "matches", "starts"),
        'Write `contains` for a part of a text, or compare the whole text: `tier = "gold"`.',
    ),
    "between": "Write two comparisons, such as `visits >= 1 and visits <= 5`.",
}
"""What to write instead of the operators of other languages."""
_NO_BREAK_SPACES = {"\u00a0", "\u2007", "\u202f"}
_INVISIBLE = {"\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"}
_BOOLEANS = {"true": True, "false": False}
_KEYWORDS = {"and", "or", "not", "in", "is", *_BOOLEANS}
"""The words that can't be keys. `contains`, `set` and `date` can: their places differ."""


def _tokenize(text: str, start: TextPosition) -> Iterator[_Token]:
    line, line_start = start.line, 1 - start.column
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "space":
            yield _Token(kind, match[0], line, match.start() - line_start + 1)
        elif "\n" in match[0]:
            line += match[0].count("\n")
            line_start = match.start() + match[0].rindex("\n") + 1
    yield _Token("end", "", line, len(text) - line_start + 1)


def _parse_text(quoted: str) -> str:
    return text_literal(_unescape(quoted[1:-1]))


def _parse_date(quoted: str) -> date | datetime:
    return date_literal(_unescape(quoted[1:-1]))


def _parse_number(digits: str) -> int | float:
    if _NUMBER.fullmatch(digits) is None:
        message = "Write a number like 3, -1 or 0.5, without an exponent."
        raise InvalidCondition([Violation(Rule.FORMAT, message)])
    return number_literal(float(digits))


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    if _UNKNOWN_ESCAPE.match(text) is not None:
        message = r"Write a backslash as `\\`: only `\\`, `\"` and `\'` are escapes."
        raise InvalidCondition([Violation(Rule.FORMAT, message)])
    return _ESCAPE.sub(r"\1", text)


class _Parser:
    """A recursive descent parser with one method per rule of the grammar.

    The depth is the number of parentheses and `not` around the current token.
    """

    def __init__(self, text: str, start: TextPosition, *, reads_data: bool = False) -> None:
        self._reads_data = reads_data
        self._tokens = _tokenize(text, start)
        self.token = next(self._tokens)
        self._last_kind = ""

    def disjunction(self, depth: int) -> Condition:
        conditions = [self.conjunction(depth)]
        while self._skip("or"):
            conditions.append(self.conjunction(depth))
        return AnyOf(tuple(conditions)) if len(conditions) > 1 else conditions[0]

    def conjunction(self, depth: int) -> Condition:
        conditions = [self.negation(depth)]
        while self._skip("and"):
            conditions.append(self.negation(depth))
        return AllOf(tuple(conditions)) if len(conditions) > 1 else conditions[0]

    def negation(self, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise self.error(f"Nest parentheses and `not` at most {MAX_DEPTH} levels deep.")
        if self._skip("not"):
            return Not(self.negation(depth + 1))
        if not self._skip("("):
            return self.comparison()
        condition = self.disjunction(depth + 1)
        self._expect(")", "Expected `and`, `or` or `)`.")
        return condition

    def comparison(self) -> Comparison:
        is_path = self.token.kind == "path"
        if is_path and not self._reads_data:
            raise self.error("Write the key of a field: only content has event data.")
        if not is_path and (self.token.kind != "word" or self.token.text.lower() in _KEYWORDS):
            raise self.error("Expected a condition, such as `visits > 3`.")
        key = self._advance()
        operator, literals = self.operation()
        values = tuple(each.value for each in literals)
        return Comparison(
            DataPath(key.text) if is_path else key.text,
            operator,
            values if operator is Operator.IN else next(iter(values), None),
            position=key.position,
            value_positions=tuple(each.position for each in literals),
        )

    def operation(self) -> tuple[Operator, list[_Literal]]:
        symbol = self.token.text
        if symbol in _COMPARED:
            self._advance()
            return _COMPARED[symbol], [self.value(symbol)]
        if self._skip("in"):
            return Operator.IN, self.values()
        if self._skip("contains"):
            return Operator.CONTAINS, [self.text("contains", "gold")]
        if self._skip("is"):
            operator = Operator.IS_NOT_SET if self._skip("not") else Operator.IS_SET
            self._expect("set", "Expected `set` or `not set` after `is`.")
            return operator, []
        if symbol == "not":
            raise self.error("Write `not` before the field, as in `not visits = 3`.")
        if symbol.lower() in _INSTEAD_OF_OPERATOR:
            raise self.error(_INSTEAD_OF_OPERATOR[symbol.lower()])
        if symbol not in {"and", "or", ")", ""}:
            raise self.error("Expected an operator after the field, such as `=`.")
        return Operator.IS_TRUE, []

    def values(self) -> list[_Literal]:
        self._expect("(", 'Expected values in parentheses after `in`, such as ("gold", "silver").')
        values = [self.value("(")]
        while self._skip(","):
            values.append(self.value(","))
        self._expect(")", "Expected `,` or `)` after the value.")
        return values

    def value(self, symbol: str) -> _Literal:
        if self.token.kind == "text":
            return self._literal(_parse_text)
        if self.token.kind == "number":
            return self._literal(_parse_number)
        if self.token.text in _BOOLEANS:
            return self._literal(_BOOLEANS.__getitem__)
        if self._skip("date"):
            return self.text("date", "2026-11-20", _parse_date)
        if self.token.text.lower() == "null" and symbol in _INSTEAD_OF_NULL:
            raise self.error(f"Write `{_INSTEAD_OF_NULL[symbol]}` instead of `{symbol} null`.")
        if self.token.kind == "date":
            raise self.error('Write a date as `date "2026-11-20"`.')
        is_word = self.token.kind == "word" and self.token.text.lower() not in _KEYWORDS
        if is_word and symbol not in _ORDERS:
            raise self.error(
                'Write a text in quotes, such as "gold", and a boolean as true or false.'
            )
        example = "3" if symbol in _ORDERS else '"gold"'
        raise self.error(f"Expected a value after `{symbol}`, such as {example}.")

    def text(
        self, word: str, example: str, parse: Callable[[str], Value] = _parse_text
    ) -> _Literal:
        if self.token.kind != "text":
            raise self.error(f'Expected a text in quotes after `{word}`, such as "{example}".')
        return self._literal(parse)

    def error(self, expected: str) -> InvalidCondition:
        """Return the error that the current token is not what was expected."""
        message = expected
        written, meant = self.token.text, unescape(self.token.text)
        meant = _OTHER_SPELLINGS.get(meant, meant)
        if self.token.kind == "unclosed":
            message = "Close this text with the same quote, on the same line."
        elif self.token.text != (lower := self.token.text.lower()) and lower in _KEYWORDS:
            message = f"Write `{lower}` in lower case."
        elif meant in _NO_BREAK_SPACES:
            message = "Write a space instead of this no-break space."
        elif meant in _INVISIBLE:
            message = "Delete this invisible character."
        elif written == "," and self._last_kind == "number":
            message = "Write a number without commas, such as 1000 or 1.5."
        elif meant != written:
            message = f"Write `{meant}` instead of `{written}`."
        violation = Violation(Rule.FORMAT, message)
        return InvalidCondition([self.token.position.locate(violation)])

    def _literal(self, parse: Callable[[str], Value]) -> _Literal:
        token = self._advance()
        try:
            return _Literal(parse(token.text), token.position)
        except InvalidCondition as error:
            violations = map(token.position.locate, error.violations)
            raise InvalidCondition(violations) from None

    def _expect(self, text: str, message: str) -> None:
        if not self._skip(text):
            raise self.error(message)

    def _skip(self, text: str) -> bool:
        """Advance if the current token has this text. Return whether it has."""
        found = self.token.text == text
        if found:
            self._advance()
        return found

    def _advance(self) -> _Token:
        """Move to the next token. Return the one before it."""
        token, self.token = self.token, next(self._tokens)
        self._last_kind = token.kind
        return token
