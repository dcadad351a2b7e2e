"""HubL, HubSpot's language: the grammar of Jinja, with operators of its own.

https://jinja.palletsprojects.com/en/stable/templates/ and https://github.com/HubSpot/jinjava.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from attrs import frozen

from .blocks import (
    Builder,
    Closing,
    Divider,
    Ends,
    Opening,
    Statement,
    Tag,
    as_condition,
    loop_builder,
    opaque_block,
    scan,
    text_builder,
    unended_part,
)
from .expressions import NotRead, Token, Tokens, read_number, unexpected
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
_RAW = re.compile(r"\{%[-+]?\s*raw\s*-?%\}")
_END_OF_RAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_END_OF_COMMENT = re.compile(r"#\}")
_END = re.compile(r"\s*(?P<end>-?\}\}|[-+]?%\})")
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"|'[^'\\]*+(?>(?:\\.[^'\\]*+)*)')
    | (?P<number>(?<![.\w])(?:\d+(?:_\d+)*)(?:\.\d+(?:_\d+)*)?(?:[eE][+-]?\d+)?(?!\w))
    | (?P<name>[^\W\d]\w*)
    | (?P<mark>//|\*\*|==|!=|<=|>=|&&|\|\||[-+*/%~()\[\]{}<>=.:|,;?!])
    )""",
    re.DOTALL | re.VERBOSE,
)
_BLOCKS = {"autoescape", "block", "call", "filter", "macro"}
_CLOSED = {")": "(", "]": "[", "}": "{"}
_LITERALS: Mapping[str, bool | None] = {
    **dict.fromkeys(("true", "True"), True),
    **dict.fromkeys(("false", "False"), False),
    **dict.fromkeys(("none", "None", "null"), None),
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_Arguments: TypeAlias = tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]


def read_hubl(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order."""
    return scan(text, _OPENING, _Reader(text, Ends(text)).tag)


@frozen
class _Reader:
    _text: str
    _ends: Ends

    def tag(self, opening: re.Match[str]) -> Statement:
        """Return the tag that begins here."""
        start = opening.start()
        if opening[0] == "{#":
            return self._comment(start)
        raw = _RAW.match(self._text, start)
        return self._tag(start) if raw is None else self._raw(raw)

    def _comment(self, start: int) -> Node:
        end = self._ends.find(_END_OF_COMMENT, start + 2)
        if end is None:
            return Unread(start, start + 2, "This comment has no `#}`.")
        return Comment(start, end.end())

    def _raw(self, raw: re.Match[str]) -> Node:
        end = _END_OF_RAW.search(self._text, raw.end())
        if end is None:
            return unended_part(self._text, raw.start(), "endraw")
        return Raw(raw.start(), end.end(), raw.end(), end.start())

    def _tag(self, start: int) -> Statement:
        tokens: list[Token] = []
        opened: list[str] = []
        closing = "}}" if self._text[start + 1] == "{" else "%}"
        offset = start + 2 + (self._text[start + 2 : start + 3] in {"-", "+"})
        while True:
            end = None if opened else _END.match(self._text, offset)
            if end is not None:
                break
            match = _TOKEN.match(self._text, offset)
            if match is None:
                return Unread(start, max(offset, start + 2), unexpected(self._text, offset))
            kind = match.lastgroup or ""
            token = Token(kind, match[kind])
            if kind == "mark" and token.text in _CLOSED.values():
                opened.append(token.text)
            elif kind == "mark" and token.text in _CLOSED and opened[-1:] == [_CLOSED[token.text]]:
                opened.pop()
            elif kind == "mark" and token.text in _CLOSED:
                return Unread(start, match.end(), f"`{token.text}` closes nothing.")
            tokens.append(token)
            offset = match.end()
        if not end["end"].endswith(closing):
            return Unread(start, end.end(), f"This tag must end with `{closing}`.")
        expressions = _Expressions(Tokens(iter(tokens)))
        try:
            if closing == "}}":
                return Output(start, end.end(), expressions.only())
            word = expressions.tokens.take("name").text
            return _statement(start, end.end(), word, expressions)
        except NotRead as error:
            return Unread(start, end.end(), str(error))


def _statement(start: int, end: int, word: str, read: _Expressions) -> Statement:
    """Return what the tag is. Raises: NotRead if it is not in the language."""
    match word:
        case "if" | "unless":
            test = read.only_test()
            build = as_condition(test if word == "if" else Operation("not", (test,)))
            dividers = frozenset({"elif", "else"})
            return Opening(start, end, f"end{word}", build, dividers, final="else")
        case "elif":
            return Divider(start, end, "elif", read.only_test())
        case "else":
            read.require_end()
            return Divider(start, end, "else")
        case "for":
            return Opening(start, end, "endfor", _loop(read), frozenset({"else"}), final="else")
        case "set":
            return _set(start, end, read)
        case "with":
            return opaque_block(start, end, "with", (), _named(read))
        case _ if word in _BLOCKS:
            return opaque_block(start, end, word, read.tokens.values(read.any))
        case _ if word.startswith("end"):
            if word != "endblock":
                read.tokens.require_end()
            return Closing(start, end, word)
    return Opaque(start, end, word, read.tokens.values(read.any))


def _loop(read: _Expressions) -> Builder:
    tokens = read.tokens
    variables = read.targets()
    tokens.take("name", "in")
    items = read.list_of(read.without_choice, "recursive", "if")
    options: list[tuple[str, Expression]] = []
    if tokens.accept("name", "if"):
        options.append(("if", read.any()))
    if tokens.accept("name", "recursive"):
        options.append(("recursive", Literal(value=True)))
    read.require_end()
    return loop_builder(variables, items, tuple(options))


def _set(start: int, end: int, read: _Expressions) -> Assignment | Opening:
    name = ", ".join(read.targets())
    if read.tokens.accept("mark", "="):
        return Assignment(start, end, name, read.only())
    read.filters()
    read.require_end()
    return Opening(start, end, "endset", text_builder(name))


def _named(read: _Expressions) -> tuple[tuple[str, Expression], ...]:
    """Return the names that `with` gives to values."""
    tokens, named = read.tokens, list[tuple[str, Expression]]()
    while not tokens.accept_end() and tokens.peek() != Token("mark", ":"):
        if named:
            tokens.take("mark", ",")
        name = ", ".join(read.targets())
        tokens.take("mark", "=")
        named.append((name, read.any()))
    read.require_end()
    return tuple(named)


@frozen
class _Expressions:
    """Reads the expressions in a tag."""

    tokens: Tokens

    def only(self) -> Expression:
        """Return the expression, or the list without brackets, which is all of the code."""
        return self.tokens.whole(lambda: self.list_of(self.any))

    def only_test(self) -> Expression:
        """Return the test of an `if`, which is all of the code but a colon."""
        found = self.list_of(self.without_choice)
        self.require_end()
        return found

    def require_end(self) -> None:
        """Require the end of the tag, or a colon before it."""
        self.tokens.accept("mark", ":")
        self.tokens.require_end()

    def targets(self) -> tuple[str, ...]:
        """Return the names that a tag gives to values."""
        has_parentheses = self.tokens.accept("mark", "(") is not None
        found = [self._target()]
        while self.tokens.accept("mark", ","):
            if has_parentheses and self.tokens.peek() == Token("mark", ")"):
                break
            found.append(self._target())
        if has_parentheses:
            self.tokens.take("mark", ")")
        return tuple(found)

    def _target(self) -> str:
        name = self.tokens.take("name").text
        if name in _LITERALS:
            raise NotRead(f"`{name}` can't be the name of a variable.")
        while self.tokens.accept("mark", "."):
            name += f".{self.tokens.take('name').text}"
        return name

    def list_of(self, read: Callable[[], Expression], *ends: str) -> Expression:
        """Return one expression, or a list of several between commas."""
        found = [read()]
        is_list = False
        while self.tokens.accept("mark", ","):
            is_list = True
            token = self.tokens.peek()
            if token.kind == "end" or token.text in {")", "]", ":", *ends}:
                break
            found.append(read())
        return Operation("list", tuple(found)) if is_list else found[0]

    def any(self) -> Expression:
        """Return an expression, which can be a choice: `a if b else c`, or `b ? a : c`."""
        found = self.without_choice()
        while True:
            if self.tokens.accept("name", "if"):
                with self.tokens.nested():
                    test = self.without_choice()
                    other = self.any() if self.tokens.accept("name", "else") else Literal(None)
                found = Operation("if", (test, found, other))
            elif self.tokens.accept("mark", "?"):
                with self.tokens.nested():
                    then = self.any()
                    self.tokens.take("mark", ":")
                    found = Operation("if", (found, then, self.any()))
            else:
                return found

    def without_choice(self) -> Expression:
        """Return an expression that is no choice."""
        return self.tokens.levels(self._not, ("and", "&&"), ("or", "||"))

    def _not(self) -> Expression:
        if not (self.tokens.accept("name", "not") or self.tokens.accept("mark", "!")):
            return self._comparison()
        with self.tokens.nested():
            return Operation("not", (self._not(),))

    def _comparison(self) -> Expression:
        found = self._sum()
        while True:
            if operator := self.tokens.accept_operator("==", "!=", "<", "<=", ">", ">="):
                found = self.tokens.operation(operator, found, self._sum)
            elif self.tokens.accept("name", "in"):
                found = Operation("contains", (self._sum(), found))
            elif self.tokens.peek() == Token("name", "not") and self.tokens.peek(1) == Token(
                "name", "in"
            ):
                self.tokens.skip()
                self.tokens.skip()
                found = Operation("not", (Operation("contains", (self._sum(), found)),))
            else:
                return found

    def _sum(self) -> Expression:
        operators = ("**",), ("*", "/", "//", "%"), ("~",), ("+", "-")
        return self.tokens.levels(self._filtered, *operators)

    def _filtered(self) -> Expression:
        found = self._signed()
        while True:
            filters = self.filters()
            if filters:
                found = Filtered(found, filters)
            elif self.tokens.accept("name", "is"):
                found = self._test(found)
            elif self.tokens.peek() == Token("mark", "("):
                found = self._call(found)
            else:
                return found

    def _signed(self) -> Expression:
        sign = self.tokens.accept("mark", "-", "+")
        if sign is None:
            return self._postfix(self._primary())
        with self.tokens.nested():
            found = self._signed()
        return self._postfix(Operation("-", (found,)) if sign.text == "-" else found)

    def filters(self) -> tuple[Filter, ...]:
        """Return the filters at this place."""
        found: list[Filter] = []
        while self.tokens.accept("mark", "|"):
            name = self._dotted_name()
            arguments = self._arguments() if self.tokens.accept("mark", "(") else ((), ())
            found.append(Filter(name, *arguments))
        return tuple(found)

    def _dotted_name(self) -> str:
        name = self.tokens.take("name").text
        while self.tokens.accept("mark", "."):
            name += f".{self.tokens.take('name').text}"
        return name

    def _test(self, value: Expression) -> Expression:
        negated = self.tokens.accept("name", "not")
        name = self._dotted_name()
        arguments: tuple[Expression, ...] = ()
        token = self.tokens.peek()
        if self.tokens.accept("mark", "("):
            arguments, _ = self._arguments()
        elif token.text in {"[", "{"} or token.kind in {"text", "number"} or self._is_operand():
            arguments = (self._postfix(self._primary()),)
        found = Operation("is", (value, Call(name, arguments)))
        return Operation("not", (found,)) if negated else found

    def _is_operand(self) -> bool:
        token = self.tokens.peek()
        if token == Token("name", "is"):
            raise NotRead("`is` can't follow another `is`.")
        return token.kind == "name" and token.text not in {"else", "or", "and"}

    def _primary(self) -> Expression:
        tokens = self.tokens
        if name := tokens.accept("name"):
            return Literal(_LITERALS[name.text]) if name.text in _LITERALS else Path((name.text,))
        if tokens.peek().kind == "text":
            texts = []
            while text := tokens.accept("text"):
                texts.append(_unescaped(text.text[1:-1]))
            return Literal("".join(texts))
        if number := tokens.accept("number"):
            return read_number(number.text)
        with tokens.nested():
            if tokens.accept("mark", "["):
                return Operation("list", self._items("]", self.any))
            if tokens.accept("mark", "{"):
                return Operation("map", self._items("}", self._pair))
            if tokens.accept("mark", "("):
                return self._in_parentheses()
        raise tokens.refuse()

    def _in_parentheses(self) -> Expression:
        if self.tokens.accept("mark", ")"):
            return Operation("list", ())
        found = self.list_of(self.any)
        self.tokens.take("mark", ")")
        return found

    def _items(self, end: str, read: Callable[[], Expression]) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.tokens.accept("mark", end):
            if found:
                self.tokens.take("mark", ",")
                if self.tokens.accept("mark", end):
                    break
            found.append(read())
        return tuple(found)

    def _pair(self) -> Expression:
        key = self.any()
        self.tokens.take("mark", ":")
        return Operation("pair", (key, self.any()))

    def _postfix(self, value: Expression) -> Expression:
        parts: list[str | int | Expression] = []
        found = value
        while True:
            if self.tokens.accept("mark", "."):
                number = self.tokens.accept("number")
                is_position = number is not None and number.text.isdecimal()
                if number is not None and not is_position:
                    raise NotRead(f"There is `{number.text}` where a name is expected.")
                parts.append(int(number.text) if number else self.tokens.take("name").text)
            elif self.tokens.accept("mark", "["):
                with self.tokens.nested():
                    parts.append(self._subscript())
            elif self.tokens.peek() == Token("mark", "("):
                found, parts = self._call(_member(found, parts)), []
            else:
                return _member(found, parts)

    def _subscript(self) -> str | int | Expression:
        slices = self._items("]", self._slice)
        match slices:
            case [Literal(str() | int() as name)] if not isinstance(name, bool):
                return name
            case [part]:
                return part
        return Operation("list", slices)

    def _slice(self) -> Expression:
        ends = {Token("mark", "]"), Token("mark", ","), Token("mark", ":")}
        bounds: list[Expression] = []
        for index in range(3):
            if index and not self.tokens.accept("mark", ":"):
                break
            bounds.append(Literal(None) if self.tokens.peek() in ends else self.any())
        return bounds[0] if len(bounds) == 1 else Operation("slice", tuple(bounds))

    def _call(self, function: Expression) -> Expression:
        self.tokens.take("mark", "(")
        with self.tokens.nested():
            arguments, named = self._arguments()
        match function:
            case Path(parts) if all(isinstance(each, str | int) for each in parts):
                return Call(".".join(map(str, parts)), arguments, named)
        return Call("", (function, *arguments), named)

    def _arguments(self) -> _Arguments:
        """Return the arguments, whose opening parenthesis is read."""
        arguments: list[Expression] = []
        named: list[tuple[str, Expression]] = []
        while not self.tokens.accept("mark", ")"):
            if arguments or named:
                self.tokens.take("mark", ",")
                if self.tokens.accept("mark", ")"):
                    break
            if self.tokens.peek(1) == Token("mark", "=") and self.tokens.peek().kind == "name":
                name = self.tokens.take("name").text
                self.tokens.skip()
                named.append((name, self.any()))
            elif named:
                raise NotRead("An argument without a name follows one with a name.")
            else:
                arguments.append(self.any())
        return tuple(arguments), tuple(named)


def _member(value: Expression, parts: list[str | int | Expression]) -> Expression:
    if not parts:
        return value
    first = value.parts if isinstance(value, Path) else (value,)
    return Path((*first, *parts))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), text)
