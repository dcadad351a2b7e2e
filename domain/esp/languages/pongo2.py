"""The template language of pongo2, which Brevo uses: https://github.com/flosch/pongo2.

It has Django's tags, with another grammar of expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from .blocks import (
    Builder,
    Closing,
    Divider,
    Opening,
    Statement,
    Tag,
    as_condition,
    loop_builder,
    opaque_block,
    scan,
    unended_part,
)
from .expressions import NotRead, Token, Tokens
from .tree import (
    Assignment,
    Call,
    Comment,
    Expression,
    Filter,
    Filtered,
    Literal,
    Node,
    Opaque,
    Operation,
    Output,
    Path,
    Raw,
    Unread,
)

_OPENING = re.compile(r"\{(?:%|\{|#)")
_VERBATIM, _END_OF_VERBATIM = "{% verbatim %}", "{% endverbatim %}"
_END_OF_COMMENT = re.compile(r"\{%-?[ \r\t]*endcomment[ \r\t]*-?%\}")
_BLOCKS = {"autoescape", "filter", "ifchanged", "ifequal", "ifnotequal", "spaceless"}
_TOKEN = re.compile(
    r"""[ \r\t]*(?:
      (?P<text>"(?>(?:[^"\\\n]|\\["\\])*)"|'(?>(?:[^'\\\n]|\\["\\])*)')
    | (?P<keyword>(?:in|and|or|not|true|false|as|export)(?!\w))
    | (?P<name>[0-9]*[A-Za-z_]\w*)
    | (?P<number>[0-9]+)
    | (?P<end>-?(?:%\}|\}\}))
    | (?P<mark>==|>=|<=|&&|\|\||!=|<>|\{[{%]-?|[()+\-*<>/^,.!|:=%])
    )""",
    re.ASCII | re.VERBOSE,
)


def read_pongo2(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order."""
    return scan(text, _OPENING, _Reader(text).tag)


@frozen
class _Reader:
    _text: str

    def tag(self, opening: re.Match[str]) -> Statement:
        """Return the tag that begins here."""
        start = opening.start()
        if self._text.startswith(_VERBATIM, start):
            return self._verbatim(start)
        return self._comment(start) if opening[0] == "{#" else self._tag(start)

    def _verbatim(self, start: int) -> Node:
        text_start = start + len(_VERBATIM)
        text_end = self._text.find(_END_OF_VERBATIM, text_start)
        if text_end < 0:
            return unended_part(self._text, start, "endverbatim")
        return Raw(start, text_end + len(_END_OF_VERBATIM), text_start, text_end)

    def _comment(self, start: int) -> Node:
        line_end = self._text.find("\n", start)
        line_end = len(self._text) if line_end < 0 else line_end
        end = self._text.find("#}", start + 2, line_end)
        if end < 0:
            return Unread(start, line_end, "This comment does not end on its line.")
        return Comment(start, end + 2)

    def _tag(self, start: int) -> Statement:
        tokens: list[Token] = []
        offset = start + 2 + self._text.startswith("-", start + 2)
        closing = "}}" if self._text[start + 1] == "{" else "%}"
        while (match := _TOKEN.match(self._text, offset)) is not None:
            offset, kind = match.end(), match.lastgroup or ""
            if kind == "end":
                break
            tokens.append(Token(kind, match[kind]))
        if match is None:
            return Unread(start, max(offset, start + 2), _unread(self._text[offset : offset + 1]))
        if not match[0].endswith(closing):
            return Unread(start, offset, f"This tag ends with `{match['end']}`, not `{closing}`.")
        expressions = _Expressions(Tokens(iter(tokens)))
        try:
            if closing == "}}":
                return Output(start, offset, expressions.only())
            word = expressions.tokens.take("name").text
            if word == "comment":
                expressions.require_alone(word)
                return self._comment_block(start, offset)
            return _statement(start, offset, word, expressions)
        except NotRead as error:
            return Unread(start, offset, str(error))

    def _comment_block(self, start: int, end: int) -> Node:
        found = _END_OF_COMMENT.search(self._text, end)
        if found is None:
            return unended_part(self._text, start, "endcomment")
        return Comment(start, found.end())


def _unread(character: str) -> str:
    if character == "":
        return "This tag has no end."
    if character == "\n":
        return "A tag ends on its line."
    if character in "\"'":
        return f"The text that begins with {character} does not end, or a backslash in it is alone."
    return f"`{character}` is not expected in a tag."


def _statement(start: int, end: int, word: str, read: _Expressions) -> Statement:
    """Return what the tag is. Raises: NotRead if it is not in the language."""
    match word:
        case "if":
            dividers = frozenset({"elif", "else"})
            return Opening(start, end, "endif", as_condition(read.only()), dividers)
        case "elif":
            return Divider(start, end, "elif", read.only())
        case "else" | "empty":
            read.require_alone(word)
            return Divider(start, end, word)
        case "for":
            build = _loop(read)
            return Opening(start, end, "endfor", build, frozenset({"empty"}), final="empty")
        case "set":
            name = read.tokens.take("name").text
            read.tokens.take("mark", "=")
            return Assignment(start, end, name, read.only())
        case "with":
            return opaque_block(start, end, "with", (), _named(read))
        case _ if word in _BLOCKS:
            return opaque_block(start, end, word, read.tokens.values(read.any))
        case _ if word.startswith("end"):
            read.require_alone(word)
            return Closing(start, end, word)
    return Opaque(start, end, word, read.tokens.values(read.any))


def _loop(read: _Expressions) -> Builder:
    tokens = read.tokens
    variables = [tokens.take("name").text]
    if tokens.accept("mark", ","):
        variables.append(tokens.take("name").text)
    tokens.take("keyword", "in")
    items = read.any()
    options: list[tuple[str, Expression]] = []
    while len(options) < 2 and (option := tokens.accept("name")):
        options.append((option.text, Literal(value=True)))
    tokens.require_end()
    return loop_builder(tuple(variables), items, tuple(options))


def _named(read: _Expressions) -> tuple[tuple[str, Expression], ...]:
    """Return the names that `with` gives to values: `NAME=VALUE`, or `VALUE as NAME`."""
    tokens, named = read.tokens, list[tuple[str, Expression]]()
    while not tokens.accept_end():
        if tokens.peek(1) == Token("mark", "="):
            name = tokens.take("name").text
            tokens.take("mark", "=")
            named.append((name, read.any()))
        else:
            value = read.any()
            tokens.take("keyword", "as")
            named.append((tokens.take("name").text, value))
    if not named:
        raise NotRead("Write `with NAME=VALUE`.")
    return tuple(named)


@frozen
class _Expressions:
    """Reads the expressions in a tag."""

    tokens: Tokens

    def only(self) -> Expression:
        """Return the expression, which is all of the code."""
        return self.tokens.whole(self.any)

    def require_alone(self, word: str) -> None:
        """Require the end of a tag without arguments: a divider, or the end of a block."""
        if not self.tokens.accept_end():
            raise NotRead(f"`{word}` is alone in its tag.")

    def any(self) -> Expression:
        """Return an expression. `and` and `or` have one precedence, from right to left."""
        left = self._relation()
        operator = self.tokens.accept_operator("and", "or", "&&", "||")
        return left if operator is None else self.tokens.operation(operator, left, self.any)

    def _relation(self) -> Expression:
        left = self._sum()
        if self.tokens.accept("keyword", "in"):
            return Operation("contains", (self._sum(), left))
        operator = self.tokens.accept_operator("==", "!=", "<>", "<", "<=", ">", ">=")
        return left if operator is None else self.tokens.operation(operator, left, self._relation)

    def _sum(self) -> Expression:
        sign = self.tokens.accept_operator("+", "-")
        negated = self.tokens.accept_operator("!", "not")
        found = self.tokens.levels(self._power, ("*", "/", "%"), ("+", "-"))
        if sign == "-":
            found = Operation("-", (found,))
        return Operation("not", (found,)) if negated else found

    def _power(self) -> Expression:
        left = self._factor()
        operator = self.tokens.accept_operator("^")
        return left if operator is None else self.tokens.operation(operator, left, self._power)

    def _factor(self) -> Expression:
        if not self.tokens.accept("mark", "("):
            return self._filtered()
        with self.tokens.nested():
            found = self.any()
            self.tokens.take("mark", ")")
            return found

    def _filtered(self) -> Expression:
        value = self._value()
        filters: list[Filter] = []
        while self.tokens.accept("mark", "|"):
            name = self.tokens.take("name").text
            has_argument = self.tokens.accept("mark", ":") is not None
            filters.append(Filter(name, (self._value(),) if has_argument else ()))
        return Filtered(value, tuple(filters)) if filters else value

    def _value(self) -> Expression:
        tokens = self.tokens
        if number := tokens.accept("number"):
            if tokens.accept("mark", "."):
                return Literal(float(f"{number.text}.{tokens.take('number').text}"))
            return Literal(int(number.text))
        if text := tokens.accept("text"):
            return Literal(text.text[1:-1].replace('\\"', '"').replace("\\\\", "\\"))
        if word := tokens.accept("keyword", "true", "false"):
            return Literal(value=word.text == "true")
        if tokens.peek().kind != "name":
            raise tokens.refuse()
        return self._path(tokens.take("name").text)

    def _path(self, name: str) -> Expression:
        tokens, parts = self.tokens, list[str | int | Expression]([name])
        while True:
            if tokens.accept("mark", "."):
                number = tokens.accept("number")
                parts.append(tokens.take("name").text if number is None else int(number.text))
            elif tokens.accept("mark", "("):
                with tokens.nested():
                    parts = [Call(".".join(map(str, parts)), self._arguments())]
            else:
                break
        return parts[0] if isinstance(parts[0], Call) and len(parts) == 1 else Path(tuple(parts))

    def _arguments(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.tokens.accept("mark", ")"):
            found.append(self.any())
            if not self.tokens.accept("mark", ","):
                self.tokens.take("mark", ")")
                break
        return tuple(found)
