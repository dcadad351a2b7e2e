"""The percent tags of ActiveCampaign: https://help.activecampaign.com/hc/en-us/articles/220709307.

A tag is `%NAME%`, and conditions are `%IF $NAME == 'value'%`, `%ELSEIF …%`, `%ELSE%` and `%/IF%`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from attrs import frozen

from ...spans import Spans
from .blocks import Certainty, Closing, Divider, Opening, Part, Tag, as_condition
from .expressions import NotRead, Token, Tokens, tokenize
from .tree import (
    Call,
    Expression,
    Filter,
    Filtered,
    Literal,
    Operation,
    Output,
    Path,
    Text,
    Unread,
)

_TAG = re.compile(
    r"""%(?:
      (?P<condition>(?:ELSE\ ?)?IF)\s(?P<test>[^%\n]{1,500})
    | (?P<divider>ELSE|ENDIF|/IF)
    | (?P<name>[A-Z0-9_][A-Z0-9_-]{0,99})
      (?:\|(?P<default>[^%\n<>"]{0,100})|[*:+][^%\n<>"]{0,100})?
    )%""",
    re.VERBOSE | re.ASCII,
)
_IN_URL = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]{1,20}+://[^\s"'<>]*+  # an URL
    | (?>(?:%[0-9A-F]{2}[\w.~+-]*+){2,})(?P<tag>%?)  # percent-encoded text, if no % follows
    """,
    re.VERBOSE | re.ASCII,
)
"""The parts of a text in which a percent sign begins no tag."""
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
_OPERATORS = {"&&": "and", "||": "or"}


def read_percent_tags(text: str) -> Iterator[Part]:
    """Yield the parts of the text, in order. A path has one part: the name of the tag."""
    offset = 0
    urls: Spans | None = None  # searched for the first tag
    for tag in _TAG.finditer(text):
        urls = urls or Spans(each.span() for each in _IN_URL.finditer(text) if not each["tag"])
        if urls.contain(tag.start()):
            continue
        if tag.start() > offset:
            yield Text(offset, tag.start())
        try:
            yield _part(tag)
        except NotRead as error:
            yield Unread(*tag.span(), str(error))
        offset = tag.end()
    if offset < len(text):
        yield Text(offset, len(text))


def _part(tag: re.Match[str]) -> Part:
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
    value: Expression = Path((tag["name"],))
    if tag["default"] is not None:
        value = Filtered(value, (Filter("default", (Literal(tag["default"]),)),))
    return Tag(start, end, (Output(start, end, value),), Certainty.IF_KNOWN)


@frozen
class _Test:
    """Reads the test of a condition. `&&` binds more strongly than `||`."""

    _tokens: Tokens

    def read(self) -> Expression:
        """Return the test, which is all of the code. Raises: NotRead."""
        found = self._chain(self._conjunction, "||")
        self._tokens.require_end()
        return found

    def _conjunction(self) -> Expression:
        return self._chain(self._comparison, "&&")

    def _chain(self, read: Callable[[], Expression], operator: str) -> Expression:
        found = read()
        while self._tokens.accept("mark", operator):
            self._tokens.count_operator()
            found = Operation(_OPERATORS[operator], (found, read()))
        return found

    def _comparison(self) -> Expression:
        left = self._value()
        operator = self._tokens.accept("mark", "==", "!=", "<", "<=", ">", ">=")
        return left if operator is None else Operation(operator.text, (left, self._value()))

    def _value(self) -> Expression:
        tokens = self._tokens
        if text := tokens.accept("text"):
            return Literal(text.text[1:-1])
        if name := tokens.accept("name"):
            return Path((name.text[1:],))
        if number := tokens.accept("number"):
            return Literal(float(number.text) if "." in number.text else int(number.text))
        tokens.enter()
        if tokens.accept("mark", "!"):
            found: Expression = Operation("not", (self._value(),))
        elif tokens.accept("mark", "("):
            found = self._chain(self._conjunction, "||")
            tokens.take("mark", ")")
        elif tokens.peek(1) == Token("mark", "("):
            found = self._call()
        else:
            raise tokens.refuse()
        tokens.leave()
        return found

    def _call(self) -> Expression:
        name = self._tokens.take("word").text
        self._tokens.take("mark", "(")
        arguments = [self._value()]
        while self._tokens.accept("mark", ","):
            arguments.append(self._value())
        self._tokens.take("mark", ")")
        return Call(name, tuple(arguments))
