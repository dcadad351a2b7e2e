"""HubL, HubSpot's language: the grammar of Jinja, with operators of its own.

https://jinja.palletsprojects.com/en/stable/templates/ and https://github.com/HubSpot/jinjava.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from attrs import define, field, frozen

from .blocks import (
    Closing,
    Divider,
    Opening,
    Part,
    as_condition,
    loop_builder,
    opaque_block,
    unended_part,
)
from .expressions import NotRead, Token, Tokens
from .tree import (
    Assignment,
    Branch,
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
    Text,
    Unread,
)

_OPENING = re.compile(r"\{(?:%|\{|#)")
_RAW = re.compile(r"\{%[-+]?\s*raw\s*-?%\}")
_ENDS = {
    "endraw": re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}"),
    "#}": re.compile(r"#\}"),
}
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
_CLOSED = {")": "(", "]": "[", "}": "{"}
_LITERALS: Mapping[str, bool | None] = {
    **dict.fromkeys(("true", "True"), True),
    **dict.fromkeys(("false", "False"), False),
    **dict.fromkeys(("none", "None", "null"), None),
}
_OPERATORS = {"&&": "and", "||": "or"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_Arguments: TypeAlias = tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]


def read_hubl(text: str) -> Iterator[Part]:
    """Yield the parts of the text, in order."""
    return _Reader(text).parts()


@frozen
class _Tag:
    """A tag `{% word … %}`, and what reads the rest of it."""

    start: int
    end: int
    word: str
    expressions: _Expressions


@define
class _Reader:
    _text: str
    _unclosed: set[str] = field(factory=set)
    """Ends that the rest of the text does not have."""

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the text, in order."""
        text, offset = self._text, 0
        while (opening := _OPENING.search(text, offset)) is not None:
            start = opening.start()
            if start > offset:
                yield Text(offset, start)
            part = self._comment(start) if opening[0] == "{#" else self._part(start)
            yield part
            offset = part.end
        if offset < len(text):
            yield Text(offset, len(text))

    def _comment(self, start: int) -> Node:
        end = self._find_end("#}", start + 2)
        if end is None:
            return Unread(start, start + 2, "This comment has no `#}`.")
        return Comment(start, end.end())

    def _part(self, start: int) -> Part:
        raw = _RAW.match(self._text, start)
        if raw is None:
            return self._tag(start)
        end = self._find_end("endraw", raw.end())
        if end is None:
            return unended_part(self._text, start, "endraw")
        return Raw(start, end.end(), raw.end(), end.start())

    def _find_end(self, what: str, offset: int) -> re.Match[str] | None:
        match = None if what in self._unclosed else _ENDS[what].search(self._text, offset)
        if match is None:
            self._unclosed.add(what)
        return match

    def _tag(self, start: int) -> Part:
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
                return Unread(start, max(offset, start + 2), self._unread(offset))
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
            tag = _Tag(start, end.end(), word, expressions)
            return _TAGS.get(word, _opaque)(tag)
        except NotRead as error:
            return Unread(start, end.end(), str(error))

    def _unread(self, offset: int) -> str:
        rest = self._text[offset : offset + 40].lstrip()
        if not rest:
            return "This tag has no end."
        if rest[0] in "\"'":
            return f"The text that begins with {rest[0]} does not end."
        return f"`{rest[0]}` is not expected in a tag."


def _if(tag: _Tag) -> Opening:
    test = tag.expressions.only_test()
    test = Operation("not", (test,)) if tag.word == "unless" else test
    dividers = frozenset({"elif", "else"})
    last = f"end{tag.word}"
    return Opening(tag.start, tag.end, last, as_condition(test), dividers, final="else")


def _elif(tag: _Tag) -> Divider:
    return Divider(tag.start, tag.end, tag.word, tag.expressions.only_test())


def _else(tag: _Tag) -> Divider:
    tag.expressions.require_end()
    return Divider(tag.start, tag.end, tag.word)


def _for(tag: _Tag) -> Opening:
    tokens = tag.expressions.tokens
    variables = tag.expressions.targets()
    tokens.take("name", "in")
    items = tag.expressions.list_of(tag.expressions.without_choice, "recursive", "if")
    options: list[tuple[str, Expression]] = []
    if tokens.accept("name", "if"):
        options.append(("if", tag.expressions.any()))
    if tokens.accept("name", "recursive"):
        options.append(("recursive", Literal(value=True)))
    tag.expressions.require_end()
    build = loop_builder(variables, items, tuple(options))
    return Opening(tag.start, tag.end, "endfor", build, frozenset({"else"}), final="else")


def _set(tag: _Tag) -> Assignment | Opening:
    tokens = tag.expressions.tokens
    name = ", ".join(tag.expressions.targets())
    if tokens.accept("mark", "="):
        return Assignment(tag.start, tag.end, name, tag.expressions.only())
    tag.expressions.filters()
    tag.expressions.require_end()

    def build(start: int, end: int, branches: Sequence[Branch]) -> Assignment:
        return Assignment(start, end, name, branches[0].nodes)

    return Opening(tag.start, tag.end, "endset", build)


def _with(tag: _Tag) -> Opening:
    tokens, named = tag.expressions.tokens, list[tuple[str, Expression]]()
    while not tokens.accept_end() and tokens.peek() != Token("mark", ":"):
        if named:
            tokens.take("mark", ",")
        name = ", ".join(tag.expressions.targets())
        tokens.take("mark", "=")
        named.append((name, tag.expressions.any()))
    tag.expressions.require_end()
    return opaque_block(tag.start, tag.end, tag.word, (), tuple(named))


def _block(tag: _Tag) -> Opening:
    return opaque_block(tag.start, tag.end, tag.word, tag.expressions.values())


def _opaque(tag: _Tag) -> Part:
    if tag.word.startswith("end"):
        if tag.word != "endblock":
            tag.expressions.tokens.require_end()
        return Closing(tag.start, tag.end, tag.word)
    return Opaque(tag.start, tag.end, tag.word, tag.expressions.values())


_TAGS: Mapping[str, Callable[[_Tag], Part]] = {
    "autoescape": _block,
    "block": _block,
    "call": _block,
    "elif": _elif,
    "else": _else,
    "filter": _block,
    "for": _for,
    "if": _if,
    "macro": _block,
    "set": _set,
    "unless": _if,
    "with": _with,
}


@frozen
class _Expressions:
    """Reads the expressions in a tag."""

    tokens: Tokens

    def only(self) -> Expression:
        """Return the expression, or the list without brackets, which is all of the code."""
        found = self.list_of(self.any)
        self.tokens.require_end()
        return found

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

    def values(self) -> tuple[Expression, ...]:
        """Return the values in a tag whose syntax is not known, as far as they can be read."""
        found: list[Expression] = []
        while not self.tokens.accept_end():
            if self.tokens.peek(1) == Token("mark", "="):  # the name of an argument
                self.tokens.skip()
                self.tokens.skip()
            try:
                found.append(self.any())
            except NotRead:
                self.tokens.skip()
        return tuple(found)

    def any(self) -> Expression:
        """Return an expression, which can be a choice: `a if b else c`, or `b ? a : c`."""
        found = self.without_choice()
        while True:
            if self.tokens.accept("name", "if"):
                self.tokens.enter()
                test = self.without_choice()
                other = self.any() if self.tokens.accept("name", "else") else Literal(None)
                self.tokens.leave()
                found = Operation("if", (test, found, other))
            elif self.tokens.accept("mark", "?"):
                self.tokens.enter()
                then = self.any()
                self.tokens.take("mark", ":")
                found = Operation("if", (found, then, self.any()))
                self.tokens.leave()
            else:
                return found

    def without_choice(self) -> Expression:
        """Return an expression that is no choice."""
        return self._chain(self._and, "or", "||")

    def _and(self) -> Expression:
        return self._chain(self._not, "and", "&&")

    def _not(self) -> Expression:
        if not (self.tokens.accept("name", "not") or self.tokens.accept("mark", "!")):
            return self._comparison()
        self.tokens.enter()
        found = Operation("not", (self._not(),))
        self.tokens.leave()
        return found

    def _comparison(self) -> Expression:
        found = self._sum()
        while True:
            if operator := self.tokens.accept("mark", "==", "!=", "<", "<=", ">", ">="):
                found = self._operation(operator.text, found, self._sum)
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
        return self._chain(self._concatenation, "+", "-")

    def _concatenation(self) -> Expression:
        return self._chain(self._product, "~")

    def _product(self) -> Expression:
        return self._chain(self._power, "*", "/", "//", "%")

    def _power(self) -> Expression:
        return self._chain(self._filtered, "**")

    def _chain(self, read: Callable[[], Expression], *operators: str) -> Expression:
        """Return the operands of these operators, from left to right."""
        found = read()
        while (token := self.tokens.peek()).text in operators and token.kind != "text":
            self.tokens.skip()
            found = self._operation(token.text, found, read)
        return found

    def _operation(
        self, operator: str, left: Expression, read: Callable[[], Expression]
    ) -> Expression:
        self.tokens.count_operator()
        return Operation(_OPERATORS.get(operator, operator), (left, read()))

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
        self.tokens.enter()
        found = self._signed()
        self.tokens.leave()
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
            return Literal(_number(number.text))
        tokens.enter()
        if tokens.accept("mark", "["):
            found: Expression = Operation("list", self._items("]", self.any))
        elif tokens.accept("mark", "{"):
            found = Operation("map", self._items("}", self._pair))
        elif tokens.accept("mark", "("):
            found = self._in_parentheses()
        else:
            raise tokens.refuse()
        tokens.leave()
        return found

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
                self.tokens.enter()
                parts.append(self._subscript())
                self.tokens.leave()
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
        self.tokens.enter()
        arguments, named = self._arguments()
        self.tokens.leave()
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


def _number(text: str) -> float:
    digits = text.replace("_", "")
    return float(digits) if {".", "e", "E"} & {*digits} else int(digits)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), text)
