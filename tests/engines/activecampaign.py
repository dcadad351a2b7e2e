"""ActiveCampaign's conditional content: `%IF $TAG == 'text'%`, `%ELSEIF …%`, `%ELSE%` and `%/IF%`.

https://help.activecampaign.com/hc/en-us/articles/220709307 shows `==`, `!=`, `&&`, `||` and
`ELSEIF`. The order of numbers is known only from examples of users, which disagree whether `/IF` or
`ENDIF` ends a block. Every value is text, and a missing one is empty. No page describes escapes,
the precedence of operators, or whether case and zeros matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .errors import NotRendered
from .tags import Branch, Part, Renderer, Text, compile_tags
from .truth import NUMBER, ORDER, Truth, both, either, equal_texts, in_order, negate

_TAG = re.compile(r"%((?:IF|ELSEIF) [^%]*|ELSE|/IF|[A-Z0-9_-]+)%")
_TOKEN = re.compile(
    rf"\s*(?:(?P<variable>\$[A-Z0-9_]+)|'(?P<text>[^'\\]*)'|(?P<number>{NUMBER})"
    r"|(?P<symbol>==|!=|<=|>=|<|>|&&|\|\||\(|\)|!))\s*"
)


def compile_template(template: str) -> Renderer:
    """Return a function that renders the template with the fields of a contact."""
    return compile_tags(template, _TAG, "%", _read)


def _read(tag: str, values: Mapping[str, str]) -> Part:
    if tag in {"ELSE", "/IF"}:
        return Branch("else" if tag == "ELSE" else "end")
    keyword, space, condition = tag.partition(" ")
    if not space:
        return Text(lambda: values.get(tag, ""))
    truth = _Parser(condition, values).parse()
    return Branch(keyword.lower(), lambda: truth)


class _Parser:
    """A parser of one condition that evaluates it for one contact."""

    def __init__(self, condition: str, values: Mapping[str, str]) -> None:
        self._values = values
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(condition):
            match = _TOKEN.match(condition, position)
            if match is None or match.lastgroup is None:
                raise NotRendered(f"Not documented: {condition[position:]}")
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            position = match.end()

    def parse(self) -> Truth:
        truth = self._junction()
        if self._tokens:
            raise NotRendered(f"Not documented: {self._tokens}")
        return truth

    def _pop(self) -> tuple[str, str]:
        return self._tokens.pop(0) if self._tokens else ("end", "")

    def _take(self, symbol: str) -> bool:
        if self._tokens[:1] != [("symbol", symbol)]:
            return False
        self._tokens.pop(0)
        return True

    def _require(self, symbol: str) -> None:
        if not self._take(symbol):
            raise NotRendered(f"{symbol} is missing.")

    def _junction(self) -> Truth:
        """Parse operands with one kind of junction. Mixed ones require parentheses."""
        truth = self._operand()
        combine, symbol = (both, "&&") if self._tokens[:1] == [("symbol", "&&")] else (either, "||")
        while self._take(symbol):
            truth = combine(truth, self._operand())
        return truth

    def _operand(self) -> Truth:
        if self._take("!"):
            self._require("(")
            return negate(self._group())
        if self._take("("):
            return self._group()
        return self._comparison()

    def _group(self) -> Truth:
        truth = self._junction()
        self._require(")")
        return truth

    def _value(self) -> str:
        kind, value = self._pop()
        if kind == "variable":
            return self._values.get(value[1:], "")
        if kind not in {"text", "number"}:
            raise NotRendered(f"A value is missing before {value}.")
        return value

    def _comparison(self) -> Truth:
        left = self._value()
        _, symbol = self._pop()
        is_number = self._tokens[:1] and self._tokens[0][0] == "number"
        right = self._value()
        if symbol in ORDER:
            return in_order(symbol, left, right)
        if symbol not in {"==", "!="}:
            raise NotRendered(f"Not documented: {symbol}")
        equal = equal_texts(left, right)
        if is_number:
            equal = both(in_order("<=", left, right), in_order(">=", left, right))
        return equal if symbol == "==" else negate(equal)
