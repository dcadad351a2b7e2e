"""AMPscript, the language of Salesforce Marketing Cloud.

https://developer.salesforce.com/docs/marketing/marketing-cloud-ampscript/guide and
https://github.com/SalesforceLabs/ampscript-core. Words and names ignore case. A block, `%%[ … ]%%`,
can have several statements, each with its own node, and a statement can begin in one block and end
in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

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
    scan,
)
from .expressions import NotRead, Token, Tokens, read_number, unexpected
from .tree import (
    Assignment,
    Call,
    Comment,
    Expression,
    Literal,
    Node,
    Opaque,
    Operation,
    Output,
    Path,
    Unread,
)

_OPENING = re.compile(
    r"""%%(?:\[|=|(?P<name>[A-Za-z_]\w{0,127}(?>(?:[ .:-]\w{1,128}+){0,10}))%%)
      | \{\{(?P<binding>(?:Contact|Context|Event|Interaction(?:Defaults)?)
        (?>(?:\.(?:[\w-]{1,128}+|"[^"{}\n]{1,128}+")){1,20}))\}\}
    """,
    re.ASCII | re.VERBOSE,
)
"""A binding is data of Journey Builder: `{{Contact.Attribute.SET.NAME}}`."""
_MEMBER = re.compile(r'"([^"]*)"|([\w-]+)', re.ASCII)
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<comment>/\*(?>(?:[^*]++|\*(?!/))*)\*/)
    | (?P<end>\]%%|=%%)
    | (?P<text>"(?>(?:[^"]|"")*)"|'(?>(?:[^']|'')*)')
    | (?P<variable>@@?\w++)
    | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
    | (?P<attribute>\[[^\[\]"'@%]++\])
    | (?P<word>[A-Za-z_]\w*+)
    | (?P<mark>==|!=|<=|>=|[<>(),=])
    )""",
    re.ASCII | re.VERBOSE,
)
_CLOSING = {each: re.compile(each) for each in ("]%%", "=%%")}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_SHOWING = {"v", "output", "outputline"}
"""Functions that show their argument."""


def read_ampscript(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order.

    A variable is a path with one part, which begins with `@`. `%%NAME%%` is a path, too.
    """
    return scan(text, _OPENING, _Reader(text, Ends(text)).tag)


@frozen
class _Reader:
    _text: str
    _ends: Ends

    def tag(self, opening: re.Match[str]) -> Output | Tag:
        """Return the tag that begins here."""
        start, end = opening.span()
        if opening["name"] is not None:
            return Output(start, end, Path((opening["name"],)))
        if opening["binding"] is not None:
            members = _MEMBER.findall(opening["binding"])
            return Output(start, end, Path(tuple(text or word for text, word in members)))
        return self._tag(start)

    def _tag(self, start: int) -> Tag:
        tokens: list[Token] = []
        places: list[tuple[int, int]] = []
        offset, closing = start + 3, "=%%" if self._text[start + 2] == "=" else "]%%"
        while (match := _TOKEN.match(self._text, offset)) is not None:
            offset, kind = match.end(), match.lastgroup or ""
            if kind == "end":
                break
            if kind != "comment":
                tokens.append(Token(kind, match[kind]))
                places.append(match.span(kind))
        parts: tuple[Statement, ...]
        if match is None:
            reason = unexpected(self._text, offset)
            end = self._ends.find(_CLOSING[closing], offset)
            offset = offset if end is None else end.end()
            parts = (Unread(start, offset, reason),)
        elif match["end"] != closing:
            reason = f"This tag ends with `{match['end']}`, not `{closing}`."
            parts = (Unread(start, offset, reason),)
        elif closing == "=%%":
            parts = (_output(start, offset, Tokens(iter(tokens))),)
        elif not tokens:
            parts = (Comment(start, offset),)
        else:
            parts = tuple(_Statements(Tokens(iter(tokens)), places).parts())
        return Tag(start, offset, parts)


def _output(start: int, end: int, tokens: Tokens) -> Node:
    try:
        value = tokens.whole(_Expressions(tokens).condition)
    except NotRead as error:
        return Unread(start, end, str(error))
    return Output(start, end, value)


def _shown(value: Expression) -> Expression:
    match value:
        case Call(name, (shown,)) if name.lower() in _SHOWING:
            return shown
    return value


@frozen
class _Statements:
    """Reads the statements of a block."""

    _tokens: Tokens
    _places: Sequence[tuple[int, int]]

    def parts(self) -> Iterator[Statement]:
        """Yield the statements. What follows one that can't be read is not read, either."""
        while not self._tokens.accept_end():
            first = self._tokens.position
            try:
                yield self._statement(first)
            except NotRead as error:
                yield Unread(self._places[first][0], self._places[-1][1], str(error))
                return

    def _statement(self, first: int) -> Statement:
        start = self._places[first][0]
        word = self._tokens.take("word").text
        read = _Expressions(self._tokens)
        match word.lower():
            case "set":
                variable = self._tokens.take("variable").text
                self._tokens.take("mark", "=")
                value = read.condition()
                return Assignment(start, self._end(), variable, value)
            case "var":
                names = [Path((self._tokens.take("variable").text,))]
                while self._tokens.accept("mark", ","):
                    names.append(Path((self._tokens.take("variable").text,)))
                return Opaque(start, self._end(), "VAR", tuple(names))
            case "if":
                build = as_condition(read.test())
                dividers = frozenset({"ELSEIF", "ELSE"})
                return Opening(start, self._end(), "ENDIF", build, dividers, final="ELSE")
            case "elseif":
                test = read.test()
                return Divider(start, self._end(), "ELSEIF", test)
            case "else":
                return Divider(start, self._end(), "ELSE")
            case "endif":
                return Closing(start, self._end(), "ENDIF")
            case "for":
                build = self._loop(read)
                return Opening(start, self._end(), "NEXT", build)
            case "next":
                self._tokens.accept("variable")
                return Closing(start, self._end(), "NEXT")
        match read.call(word):
            case Call(name, (shown,)) if name.lower() in _SHOWING:
                return Output(start, self._end(), shown)
            case Call(name, arguments):
                return Opaque(start, self._end(), name, arguments)
        raise NotRead(f"`{word}` is no statement.")

    def _loop(self, read: _Expressions) -> Builder:
        name = self._tokens.take("variable").text
        self._tokens.take("mark", "=")
        first = read.value()
        direction = read.take_word("to", "downto")
        last = read.value()
        read.take_word("do")
        items = Operation("range", (first, last))
        return loop_builder((name,), items, ((direction, Literal(None)),))

    def _end(self) -> int:
        return self._places[self._tokens.position - 1][1]


@frozen
class _Expressions:
    """Reads the expressions in a block."""

    tokens: Tokens

    def condition(self) -> Expression:
        """Return a test, or a value. `AND` binds more strongly than `OR`."""
        return self._chain(self._conjunction, "or")

    def test(self) -> Expression:
        """Return the test before `THEN`."""
        found = self.condition()
        self.take_word("then")
        return found

    def take_word(self, *words: str) -> str:
        """Read one of the words, in any case, and return it in small letters."""
        word = self._accept_word(*words)
        if word is None:
            raise NotRead(f"`{' or '.join(words).upper()}` is missing.")
        return word

    def value(self) -> Expression:
        """Return a value without operators."""
        tokens = self.tokens
        if variable := tokens.accept("variable"):
            return Path((variable.text,))
        if text := tokens.accept("text"):
            quote = text.text[0]
            return Literal(text.text[1:-1].replace(quote * 2, quote))
        if number := tokens.accept("number"):
            return read_number(number.text)
        if attribute := tokens.accept("attribute"):
            return Path((attribute.text[1:-1].strip(),))
        if word := tokens.accept("word"):
            return _shown(self.call(word.text))
        if not tokens.accept("mark", "("):
            raise tokens.refuse()
        with tokens.nested():
            found = self.condition()
            tokens.take("mark", ")")
            return found

    def call(self, name: str) -> Expression:
        """Return the call of a function, whose name is read, or the attribute with this name."""
        if not self.tokens.accept("mark", "("):
            if name.lower() in {"true", "false"}:
                return Literal(value=name.lower() == "true")
            return Path((name,))
        arguments: list[Expression] = []
        with self.tokens.nested():
            while not self.tokens.accept("mark", ")"):
                if arguments:
                    self.tokens.take("mark", ",")
                arguments.append(self.condition())
        if name.lower() == "attributevalue":
            match arguments:
                case [Literal(str() as attribute)]:
                    return Path((attribute,))
        return Call(name, tuple(arguments))

    def _conjunction(self) -> Expression:
        return self._chain(self._negation, "and")

    def _chain(self, read: Callable[[], Expression], operator: str) -> Expression:
        found = read()
        while self._accept_word(operator):
            found = self.tokens.operation(operator, found, read)
        return found

    def _negation(self) -> Expression:
        if not self._accept_word("not"):
            return self._comparison()
        with self.tokens.nested():
            return Operation("not", (self._negation(),))

    def _comparison(self) -> Expression:
        left = self.value()
        operator = self.tokens.accept_operator(*_COMPARISONS)
        return left if operator is None else Operation(operator, (left, self.value()))

    def _accept_word(self, *words: str) -> str | None:
        token = self.tokens.peek()
        if token.kind != "word" or token.text.lower() not in words:
            return None
        self.tokens.skip()
        return token.text.lower()
