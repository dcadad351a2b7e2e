"""AMPscript of Salesforce Marketing Cloud, as documented and as its vendor implements it.

https://developer.salesforce.com/docs/marketing/marketing-cloud-ampscript describes `SET`, `IF`, the
operators, `AttributeValue`, `Empty`, `v`, `IIf`, `IndexOf`, `Length`, the functions for texts,
numbers and dates, and `%%NAME%%`. Its page "AMPscript Language Elements" states that comparisons
ignore case. https://github.com/SalesforceLabs/ampscript-core implements the language: SageValue
compares texts that look like numbers by value, and the others equal 0 there. No page describes the
precedence of `not`, `and` and `or`; in the implementation, `not` negates all that follows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from itertools import zip_longest
from typing import TypeAlias
from urllib.parse import quote_plus

from .errors import NotRendered
from .formats import date_in, fixed_decimals, format_date
from .tags import Branch, Part, Renderer, Text, copied, render_parts
from .truth import NUMBER, ORDER, UNKNOWN, Truth, both, either, in_order, is_number, known, negate

Value: TypeAlias = str | float | bool | None

_PIECES = re.compile(r"%%\[(.*?)\]%%|%%=(.*?)=%%|%%(\w+)%%", re.DOTALL)
_TOKEN = re.compile(
    r"""\s*(?:(?P<variable>@[A-Za-z0-9_]+)|"(?P<double>(?:[^"]|"")*)"|'(?P<single>(?:[^']|'')*)'"""
    rf"|(?P<number>{NUMBER})|(?P<word>[A-Za-z]+)|(?P<symbol>==|!=|<=|>=|[<>(),=]))\s*"
)


def compile_template(template: str) -> Renderer:
    """Return a function that renders the template with the attributes of a subscriber."""
    pieces = _PIECES.split(template)
    if any("%%" in text for text in pieces[::4]):
        raise NotRendered("Unbalanced delimiters.")

    def render(values: Mapping[str, object]) -> str:
        script = _Script(values)
        parts: list[Part] = []
        for text, statements, output, name in zip_longest(*(pieces[n::4] for n in range(4))):
            parts.append(copied(text))
            parts += script.parse_statements(statements or "")
            if output is not None:
                parts.append(script.parse_output(output))
            if name is not None:
                parts.append(copied(_as_text(_attribute(values, name))))
        return render_parts(parts)

    return render


_Token: TypeAlias = tuple[str, str]
_Expression: TypeAlias = Callable[[], Value | Truth]


def _tokenize(code: str) -> list[_Token]:
    tokens, position = [], 0
    while position < len(code.rstrip()):
        match = _TOKEN.match(code, position)
        if match is None or match.lastgroup is None:
            raise NotRendered(f"Not documented: {code[position:]}")
        kind, text = match.lastgroup, match[match.lastgroup]
        if kind in {"double", "single"}:
            quote = '"' if kind == "double" else "'"
            kind, text = "text", text.replace(quote * 2, quote)
        tokens.append((kind, text.lower() if kind in {"word", "variable"} else text))
        position = match.end()
    return tokens


class _Script:
    """A parser of statements and expressions, and their variables for one subscriber."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self._variables: dict[str, Value] = {}
        self._tokens: list[_Token] = []

    def parse_statements(self, code: str) -> list[Part]:
        self._tokens = _tokenize(code)
        parts: list[Part] = []
        while self._tokens:
            parts.append(self._statement())
        return parts

    def parse_output(self, code: str) -> Part:
        self._tokens = _tokenize(code)
        value = self._primary()
        if self._tokens:
            raise NotRendered(f"Not documented: {self._tokens}")
        return Text(lambda: _as_text(value()))

    def _statement(self) -> Part:
        word = self._take_word()
        if word == "set":
            return self._set()
        if word in {"if", "elseif"}:
            condition = self._condition()
            if self._take_word() != "then":
                raise NotRendered("THEN is missing.")
            return Branch(word, lambda: _as_truth(condition()))
        if word in {"else", "endif"}:
            return Branch("else" if word == "else" else "end")
        raise NotRendered(f"Not documented: {word}")

    def _set(self) -> Part:
        kind, variable = self._next()
        self._tokens.pop(0)
        if kind != "variable" or not self._take("="):
            raise NotRendered("SET requires a variable and a value.")
        value = self._primary()

        def assign() -> str:
            self._variables[variable] = _as_value(value())
            return ""

        return Text(assign)

    def _next(self) -> _Token:
        return self._tokens[0] if self._tokens else ("end", "")

    def _take(self, text: str) -> bool:
        if self._next() not in {("symbol", text), ("word", text)}:
            return False
        self._tokens.pop(0)
        return True

    def _take_word(self) -> str:
        kind, text = self._tokens.pop(0) if self._tokens else ("end", "")
        if kind != "word":
            raise NotRendered(f"A keyword is missing before {text}.")
        return text

    def _condition(self) -> _Expression:
        """Parse operands with one kind of junction. Mixed ones require parentheses."""
        condition = self._operand()
        for word, combine in (("and", both), ("or", either)):
            if self._next() == ("word", word):
                while self._take(word):
                    condition = _joined(combine, condition, self._operand())
                break
        if self._next() in {("word", "and"), ("word", "or")}:
            raise NotRendered("The precedence of `and` and `or` is not documented.")
        return condition

    def _operand(self) -> _Expression:
        if self._take("not"):
            if self._next() != ("symbol", "(") and self._tokens[1:2] != [("symbol", "(")]:
                raise NotRendered("The precedence of `not` is not documented.")
            operand = self._primary()
            if self._next()[1] in {"==", "!=", "and", "or", *ORDER}:
                raise NotRendered("The precedence of `not` is not documented.")
            return lambda: negate(_as_truth(operand()))
        left = self._primary()
        kind, symbol = self._next()
        if kind != "symbol" or symbol not in {"==", "!=", *ORDER}:
            return left
        self._tokens.pop(0)
        right = self._primary()
        return lambda: _compare(symbol, _as_value(left()), _as_value(right()))

    def _primary(self) -> _Expression:
        if self._take("("):
            condition = self._condition()
            if not self._take(")"):
                raise NotRendered(") is missing.")
            return condition
        kind, text = self._tokens.pop(0) if self._tokens else ("end", "")
        if kind == "variable":
            return lambda: self._variables.get(text)
        if kind == "text":
            return lambda: text
        if kind == "number":
            return lambda: float(text)
        if (kind, text) in {("word", "true"), ("word", "false")}:
            return lambda: text == "true"
        if kind == "word" and text in _FUNCTIONS:
            return self._call(text)
        raise NotRendered(f"Not documented: {text}")

    def _call(self, name: str) -> _Expression:
        if not self._take("("):
            raise NotRendered("( is missing.")
        arguments = [self._condition()]
        while self._take(","):
            arguments.append(self._condition())
        if not self._take(")"):
            raise NotRendered(") is missing.")
        arity, function = _FUNCTIONS[name]
        if len(arguments) != arity:
            raise NotRendered(f"{name} requires {arity} arguments.")
        return lambda: function(self._values, *(argument() for argument in arguments))


def _joined(
    combine: Callable[[Truth, Truth], Truth], left: _Expression, right: _Expression
) -> _Expression:
    return lambda: combine(_as_truth(left()), _as_truth(right()))


def _attribute(values: Mapping[str, object], name: object) -> Value:
    return _as_value(values.get(str(name)))


def _index_of(_: object, text: object, part: object) -> Value:
    """Return the position, from 1, or 0. Case does not matter."""
    if not isinstance(text, str) or not isinstance(part, str) or not part:
        return UNKNOWN
    return float(text.lower().find(part.lower()) + 1)


def _iif(_: object, condition: object, then: Value, otherwise: Value) -> Value:
    return then if known(_as_truth(condition)) else otherwise


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Value | Truth]]] = {
    "attributevalue": (1, _attribute),
    "empty": (1, lambda _, value: value is None or value == ""),
    "v": (1, lambda _, value: value),
    "iif": (3, _iif),
    "indexof": (2, _index_of),
    "length": (1, lambda _, value: float(len(_utf_16(value)) // 2)),
    "uppercase": (1, lambda _, value: _ascii(value).upper()),
    "lowercase": (1, lambda _, value: _ascii(value).lower()),
    "propercase": (1, lambda _, value: _proper_case(value)),
    "replace": (3, lambda _, value, part, other: _replace(value, part, other)),
    "concat": (2, lambda _, *values: "".join(map(_as_text, values))),
    "substring": (3, lambda _, value, start, length: _substring(value, start, length)),
    "urlencode": (3, lambda _, value, *flags: _url_encode(value, flags)),
    "add": (2, lambda _, *numbers: _calculate(Decimal.__add__, *numbers)),
    "subtract": (2, lambda _, *numbers: _calculate(Decimal.__sub__, *numbers)),
    "multiply": (2, lambda _, *numbers: _calculate(Decimal.__mul__, *numbers)),
    "formatnumber": (3, lambda _, value, *formats: _format_number(value, *formats)),
    "format": (4, lambda _, value, *formats: _format_date(value, *formats)),
    "datediff": (3, lambda _, start, end, unit: _days_between(start, end, unit)),
}


def _ascii(value: object) -> str:
    if not isinstance(value, str) or not value.isascii():
        raise NotRendered(f"The result is not established for {value}.")
    return value


def _utf_16(value: object) -> bytes:
    """Return the text in units of two bytes, as .NET counts characters."""
    if not isinstance(value, str):
        raise NotRendered(f"The result is not established for {value}.")
    return value.encode("utf-16-le")


def _substring(value: object, start: object, length: object) -> str:
    if start != 1.0 or not isinstance(length, float):
        raise NotRendered(f"The result is not established for {value}.")
    return _utf_16(value)[: 2 * int(length)].decode("utf-16-le", errors="replace")


def _proper_case(value: object) -> str:
    """Write a capital at the start and after white space, and other letters small, one by one."""
    if not isinstance(value, str):
        raise NotRendered(f"The result is not established for {value}.")
    changed = (
        each.upper() if before.isspace() else each.lower()
        for before, each in zip(f" {value}", value, strict=False)
    )
    return "".join(new if len(new) == 1 else old for old, new in zip(value, changed, strict=True))


def _replace(value: object, part: object, other: object) -> str:
    if not (isinstance(value, str) and isinstance(part, str) and isinstance(other, str)):
        raise NotRendered(f"The result is not established for {value}.")
    if part.isalpha():
        raise NotRendered("The search ignores case.")
    return value.replace(part, other)


def _url_encode(value: object, flags: object) -> str:
    """Encode the value as .NET's `HttpUtility.UrlEncode` does."""
    if not isinstance(value, str) or flags != (1.0, 1.0) or "%%" in value:
        raise NotRendered(f"The result is not established for {value}.")
    if not value.strip():
        return value
    encoded = quote_plus(value, safe="!*()").replace("~", "%7e")
    return re.sub("%..", lambda code: code[0].lower(), encoded)


def _format_number(value: Value, form: object, culture: object) -> str:
    match = re.fullmatch(r"F([0-9]+)", str(form))
    if match is None or culture != "en-US" or not is_number(text := _as_text(value)):
        raise NotRendered(f"The result is not established for {value}.")
    return fixed_decimals(Decimal(text), int(match[1]))


def _calculate(operate: Callable[[Decimal, Decimal], Decimal], *numbers: object) -> str:
    texts = [_as_text(each) for each in numbers]
    if not all(map(is_number, texts)):
        raise NotRendered(f"The result is not established for {numbers}.")
    return str(operate(*map(Decimal, texts)))


class _FormattedDate(str):
    """A text. No page describes its order, not even if it consists of digits."""


def _format_date(value: object, form: str, kind: object, culture: object) -> str:
    if not isinstance(value, str) or (kind, culture) != ("Date", "en-US"):
        raise NotRendered(f"The result is not established for {value}.")
    return _FormattedDate(format_date(date_in(value), form))


def _days_between(start: object, end: object, unit: object) -> float:
    """Return the days from `start` to `end`: "The function subtracts the startDate"."""
    if not isinstance(start, str) or not isinstance(end, str) or unit != "D":
        raise NotRendered(f"The result is not established for {end}.")
    return float((date.fromisoformat(end) - date.fromisoformat(start)).days)


def _as_truth(value: object) -> Truth:
    if value is None or isinstance(value, bool):
        return value
    raise NotRendered(f"Not a condition: {value}")


def _as_value(value: object) -> Value:
    if value is None or isinstance(value, str | float | int):
        return value
    raise NotRendered(f"Not a value: {value}")


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _compare(symbol: str, left: Value, right: Value) -> Truth:
    if symbol in ORDER and isinstance(left, _FormattedDate):
        return UNKNOWN
    if symbol in ORDER:
        return in_order(symbol, _as_text(left), _as_text(right))
    equal = _equal(left, right)
    return equal if symbol == "==" else negate(equal)


def _equal(left: Value, right: Value) -> Truth:
    """Compare values. A missing value can equal 0 and false, and a text that is no number is 0."""
    one, other = _as_text(left), _as_text(right)
    if not one or not other:
        return UNKNOWN if not left and not right else False
    if not isinstance(left, bool) and not isinstance(right, bool):
        numbers = [float(each) if is_number(each) else None for each in (one, other)]
        if numbers != [None, None]:
            return (numbers[0] or 0) == (numbers[1] or 0)
    return one.lower() == other.lower()
