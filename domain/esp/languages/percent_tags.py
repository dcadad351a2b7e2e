"""The percent tags of ActiveCampaign: https://help.activecampaign.com/hc/en-us/articles/220709307.

A tag is `%NAME%`, and conditions are `%IF $NAME == 'value'%`, `%ELSEIF …%`, `%ELSE%` and `%/IF%`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from ...spans import Spans
from .blocks import Certainty, Closing, Divider, Opening, Statement, Tag, as_condition, scan
from .expressions import NotRead, Token, Tokens, read_number, tokenize
from .tree import (
    Call,
    Expression,
    Filter,
    Filtered,
    Literal,
    Operation,
    Output,
    Path,
    Unread,
)

_TAG = re.compile(
    r"""%(?:
      (?P<condition>(?:ELSE\ ?)?IF)\s(?P<test>[^%\n]{1,500})
    | (?P<divider>ELSE|ENDIF|/IF)
    | (?P<name>[A-Z0-9_][A-Z0-9_-]{0,99})
      (?:\|(?P<default>[^%\n<>"]{0,100})|[*:+][^%\n<>"]{0,100})?
    )%(?P<all>(?<=%UNSUBSCRIBELINK%)&(?:amp;)?ALL\b)?""",
    re.VERBOSE | re.ASCII,
)
_ENCODED = re.compile(r"(?>(?:%[0-9A-F]{2}[\w.~+-]*+){2,})(?P<tag>%?)", re.ASCII)
"""Percent-encoded text, in which a percent sign begins no tag, unless another one follows."""
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'[^']*+'|"[^"]*+")
    | (?P<name>\$[A-Z0-9_-]+)
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<mark>==|!=|>=|<=|&&|\|\||[<>!(),])
    )\s*""",
    re.ASCII | re.VERBOSE,
)


def read_percent_tags(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order. A path has one part: the name of the tag."""
    encoded: Spans | None = None  # searched for the first tag

    def read(tag: re.Match[str]) -> Statement | Tag | None:
        nonlocal encoded
        encoded = encoded or Spans(
            each.span() for each in _ENCODED.finditer(text) if not each["tag"]
        )
        if encoded.contain(tag.start()):
            return None
        try:
            return _part(tag)
        except NotRead as error:
            return Unread(*tag.span(), str(error))

    return scan(text, _TAG, read)


def _part(tag: re.Match[str]) -> Statement | Tag:
    start, end = tag.span()
    if tag["condition"] is not None:
        test = _Test(Tokens(tokenize(tag["test"], _TOKEN))).read()
        if tag["condition"] != "IF":
            return Divider(start, end, "ELSEIF", test)
        dividers = frozenset({"ELSEIF", "ELSE"})
        return Opening(start, end, "/IF", as_condition(test), dividers, final="ELSE")
    if tag["divider"] == "ELSE":
        return Divider(start, end, "ELSE")
    if tag["divider"] is not None:
        return Closing(start, end, "/IF")
    value: Expression = Path((f"{tag['name']}&ALL" if tag["all"] else tag["name"],))
    if tag["default"] is not None:
        value = Filtered(value, (Filter("default", (Literal(tag["default"]),)),))
    return Tag(start, end, (Output(start, end, value),), Certainty.IF_KNOWN)


@frozen
class _Test:
    """Reads the test of a condition. `&&` binds more strongly than `||`."""

    _tokens: Tokens

    def read(self) -> Expression:
        """Return the test, which is all of the code. Raises: NotRead."""
        return self._tokens.whole(self._disjunction)

    def _disjunction(self) -> Expression:
        return self._tokens.levels(self._comparison, ("&&",), ("||",))

    def _comparison(self) -> Expression:
        left = self._value()
        operator = self._tokens.accept_operator("==", "!=", "<", "<=", ">", ">=")
        return left if operator is None else Operation(operator, (left, self._value()))

    def _value(self) -> Expression:
        tokens = self._tokens
        if text := tokens.accept("text"):
            return Literal(text.text[1:-1])
        if name := tokens.accept("name"):
            return Path((name.text[1:],))
        if number := tokens.accept("number"):
            return read_number(number.text)
        with tokens.nested():
            if tokens.accept("mark", "!"):
                return Operation("not", (self._value(),))
            if tokens.accept("mark", "("):
                found = self._disjunction()
                tokens.take("mark", ")")
                return found
            if tokens.peek(1) == Token("mark", "("):
                return self._call()
        raise tokens.refuse()

    def _call(self) -> Expression:
        name = self._tokens.take("word").text
        self._tokens.take("mark", "(")
        arguments = [self._value()]
        while self._tokens.accept("mark", ","):
            arguments.append(self._value())
        self._tokens.take("mark", ")")
        return Call(name, tuple(arguments))
