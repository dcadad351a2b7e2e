"""Liquid, as Ruby's implementation reads it in strict mode: https://github.com/Shopify/liquid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from attrs import evolve, frozen

from .blocks import (
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
    unended_part,
)
from .expressions import NotRead, Token, Tokens, read_number, tokenize
from .tree import (
    Assignment,
    Branch,
    Comment,
    Condition,
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
    Special,
    Text,
    Unread,
)

_OPENING = re.compile(r"\{[{%]")
_OUTPUT_END = re.compile(r"[^}]*+\}\}?")
_INTERPOLATED_END = re.compile(r"(?>(?:[^$}]++|\$(?:\{[^{}]*+\})?)*)\}\}?")
"""An output ends at its first brace, also in a text. In Braze, `${name}` contains another one."""
_STATEMENT_END = re.compile(r"%\}")
_STATEMENT = re.compile(r"\{%-?\s*(?P<word>#|\w+)\s*(?P<rest>.*?)\s*-?%\}", re.ASCII | re.DOTALL)
_ENDS = {
    word: re.compile(r"\{%-?\s*end" + word + r"(?!\w).*?%\}", re.ASCII | re.DOTALL)
    for word in ("comment", "raw")
}
_TOKEN = re.compile(
    r"""(?:
      (?P<comparison>==|!=|<>|<=?|>=?|contains(?=\s))
    | (?P<text>'[^']*+'|"[^"]*+")
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?)
    | (?P<name>[A-Za-z_][\w-]*\??)
    | (?P<range>\.\.)
    | (?P<interpolation>\$\{[^{}]*\})
    | (?P<nested>\{\{|\}\})
    | (?P<mark>[|.:,\[\]()?-])
    )\s*""",
    re.ASCII | re.VERBOSE,
)
_LITERALS: Mapping[str, bool | Special | None] = {
    "nil": None,
    "null": None,
    "true": True,
    "false": False,
    "empty": Special.EMPTY,
    "blank": Special.BLANK,
}
_SIGNATURE = r"(?P<name>(?:\(?[\w.\[\]-]\)?)+)"
_ASSIGNMENT = re.compile(_SIGNATURE + r"\s*=\s*(?P<value>.*)", re.ASCII | re.DOTALL)
_CAPTURE = re.compile(_SIGNATURE, re.ASCII)
_SAVED = re.compile(r":save\s++(\w++)")
_BEGINNINGS = {"interpolation", "name", "nested", "number", "text"}
"""The tokens that can begin a value."""
_MORE = "This tag has more than Liquid reads."
_LINE_WITHOUT_MARK = re.compile(r"\n\s*[^#\s]")

T = TypeVar("T")


@frozen(kw_only=True)
class LiquidWords:
    """What an ESP adds to Liquid.

    The arguments of `free_text` are no expressions, but `:save NAME` in them sets a name.
    """

    free_text: frozenset[str] = frozenset()
    has_interpolation: bool = False
    """Whether `${name}` is a value, also in braces in a tag, as in Braze."""


def read_liquid(text: str, words: LiquidWords = LiquidWords()) -> Iterator[Tag]:
    """Yield the tags of the text, in order.

    The path of `${name}` begins with the part `$`, and that of `space.${name}` with `space.$`.
    """
    return scan(text, _OPENING, _Reader(text, words, Ends(text)).tag)


@frozen
class _Tag:
    """A tag `{% word rest %}`."""

    start: int
    end: int
    word: str
    rest: str
    words: LiquidWords

    def expressions(self) -> _Expressions:
        """Return what reads the code after the word."""
        return _Expressions.of(self.rest, self.words)

    def values(self) -> tuple[Expression, ...]:
        """Return the values in a tag whose syntax is not known, as far as they can be read."""
        try:
            return self.expressions().values()
        except NotRead:
            return ()


@frozen
class _Reader:
    _text: str
    _words: LiquidWords
    _ends: Ends

    def tag(self, opening: re.Match[str]) -> Statement:
        """Return the tag that begins here."""
        read = self._output if opening[0] == "{{" else self._statement
        return read(opening.start())

    def _output(self, start: int) -> Node:
        pattern = _INTERPOLATED_END if self._words.has_interpolation else _OUTPUT_END
        match = self._ends.find(pattern, start + 2, is_whole=True)
        if match is None:
            return Unread(start, start + 2, "This tag has no `}}`.")
        end = match.end()
        if not match[0].endswith("}}"):
            return Unread(start, end, "This tag ends at `}`, and must end with `}}`.")
        code = self._text[start + 2 : end - 2].removeprefix("-").removesuffix("-")
        try:
            return Output(start, end, _Expressions.of(code, self._words).filtered())
        except NotRead as error:
            return Unread(start, end, str(error))

    def _statement(self, start: int) -> Statement:
        match = self._ends.find(_STATEMENT_END, start + 2)
        if match is None:
            return Unread(start, start + 2, "This tag has no `%}`.")
        end = match.end()
        found = _STATEMENT.fullmatch(self._text, start, end)
        if found is None:
            return Unread(start, end, "This tag has no name.")
        tag = _Tag(start, end, found["word"], found["rest"], self._words)
        if tag.word in _ENDS:
            return self._skip(tag)
        try:
            return _read_tag(tag)
        except NotRead as error:
            return Unread(start, end, str(error))

    def _skip(self, tag: _Tag) -> Node:
        """Return a comment or a raw part, in which nothing is code but its end."""
        last = f"end{tag.word}"
        match = _ENDS[tag.word].search(self._text, tag.end)
        if match is None:
            return unended_part(self._text, tag.start, last)
        if tag.word == "comment":
            return Comment(tag.start, match.end())
        return Raw(tag.start, match.end(), tag.end, match.start())


def _read_tag(tag: _Tag) -> Statement:
    """Return what the tag is. Raises: NotRead if it is not in the language."""
    if tag.word.startswith("end"):
        return Closing(tag.start, tag.end, tag.word)
    return _TAGS.get(tag.word, _opaque)(tag)


def _if(tag: _Tag) -> Opening:
    test = tag.expressions().condition()
    return _condition(tag, Operation("not", (test,)) if tag.word == "unless" else test)


def _condition(tag: _Tag, test: Expression) -> Opening:
    dividers = frozenset({"elsif", "else"})
    return Opening(tag.start, tag.end, f"end{tag.word}", as_condition(test), dividers)


def _elsif(tag: _Tag) -> Divider:
    return Divider(tag.start, tag.end, tag.word, tag.expressions().condition())


def _else(tag: _Tag) -> Divider:
    if tag.rest:
        raise NotRead(_MORE)
    return Divider(tag.start, tag.end, tag.word)


def _case(tag: _Tag) -> Opening:
    subject = _strictly(tag, _Expressions.only_expression)

    def build(start: int, end: int, branches: Sequence[Branch]) -> Condition:
        before, *others = branches
        tests = [_compared(subject, branch) for branch in others]
        if not others or not all(isinstance(node, Text | Comment) for node in before.nodes):
            never = Operation("and", (Literal(value=False), subject))
            tests.insert(0, evolve(before, test=never))  # It is not shown.
        return Condition(start, end, tuple(tests))

    return Opening(tag.start, tag.end, "endcase", build, frozenset({"when", "else"}))


def _strictly(tag: _Tag, read: Callable[[_Expressions], T]) -> T:
    """Read all of a tag, of which Liquid reads the beginning and ignores the rest."""
    try:
        return read(tag.expressions())
    except NotRead:
        raise NotRead(_MORE) from None


def _compared(subject: Expression, branch: Branch) -> Branch:
    if not isinstance(branch.test, Operation):
        return branch
    tests = tuple(Operation("==", (subject, value)) for value in branch.test.operands)
    return evolve(branch, test=tests[0] if len(tests) == 1 else Operation("or", tests))


def _when(tag: _Tag) -> Divider:
    values = _strictly(tag, _Expressions.alternatives)
    return Divider(tag.start, tag.end, tag.word, Operation("list", values))


def _for(tag: _Tag) -> Opening:
    variable, items, options = tag.expressions().loop()
    build = loop_builder((variable,), items, options)
    return Opening(tag.start, tag.end, "endfor", build, frozenset({"else"}))


def _assign(tag: _Tag) -> Assignment:
    found = _ASSIGNMENT.search(tag.rest)
    if found is None:
        raise NotRead("Write `assign NAME = VALUE`.")
    value = _Expressions.of(found["value"], tag.words).filtered()
    return Assignment(tag.start, tag.end, found["name"], value)


def _capture(tag: _Tag) -> Opening:
    found = _CAPTURE.search(tag.rest)
    if found is None:
        raise NotRead("Write `capture NAME`.")
    name = found["name"]

    def build(start: int, end: int, branches: Sequence[Branch]) -> Assignment:
        return Assignment(start, end, name, branches[0].nodes)

    return Opening(tag.start, tag.end, "endcapture", build)


def _echo(tag: _Tag) -> Output:
    return Output(tag.start, tag.end, tag.expressions().filtered())


def _comment_line(tag: _Tag) -> Comment:
    if _LINE_WITHOUT_MARK.search(tag.rest) is not None:
        raise NotRead("Each line of this comment must begin with `#`.")
    return Comment(tag.start, tag.end)


def _opaque(tag: _Tag) -> Opaque:
    if tag.word in tag.words.free_text:
        saved = tuple(("save", Path((name,))) for name in _SAVED.findall(tag.rest))
        return Opaque(tag.start, tag.end, tag.word, named=saved)
    return Opaque(tag.start, tag.end, tag.word, tag.values())


def _opaque_block(tag: _Tag) -> Opening:
    return opaque_block(tag.start, tag.end, tag.word, tag.values())


_TAGS: Mapping[str, Callable[[_Tag], Statement]] = {
    "#": _comment_line,
    "assign": _assign,
    "capture": _capture,
    "case": _case,
    "echo": _echo,
    "else": _else,
    "elsif": _elsif,
    "for": _for,
    "if": _if,
    "ifchanged": _opaque_block,
    "tablerow": _opaque_block,
    "unless": _if,
    "when": _when,
}


@frozen
class _Expressions:
    """Reads the expressions in a tag."""

    _tokens: Tokens
    _has_interpolation: bool

    @classmethod
    def of(cls, code: str, words: LiquidWords) -> _Expressions:
        return cls(Tokens(tokenize(code, _TOKEN)), words.has_interpolation)

    def filtered(self) -> Expression:
        """Return the value with its filters, which are all of the code, or an empty text."""
        if self._tokens.accept_end():
            return Literal("")
        found = self._filtered()
        self._tokens.require_end()
        return found

    def condition(self) -> Expression:
        """Return the test: `and` and `or` have one precedence, from right to left."""
        if self._tokens.peek() == Token("name", "not") and self._tokens.peek(1).kind != "end":
            raise NotRead("Liquid has no `not`. Write `unless`, or compare with `false`.")
        if self._tokens.peek() == Token("mark", "("):
            raise NotRead("Liquid has no parentheses in conditions.")
        test = self._comparison()
        operator = self._tokens.accept_operator("and", "or")
        if operator is not None:
            return self._tokens.operation(operator, test, self.condition)
        self._tokens.require_end()
        return test

    def only_expression(self) -> Expression:
        """Return the expression, which is all of the code."""
        found = self._expression()
        self._tokens.require_end()
        return found

    def alternatives(self) -> tuple[Expression, ...]:
        """Return the expressions between `or` or commas."""
        found = [self._expression()]
        while self._tokens.accept("name", "or") or self._tokens.accept("mark", ","):
            found.append(self._expression())
        self._tokens.require_end()
        return tuple(found)

    def loop(self) -> tuple[str, Expression, tuple[tuple[str, Expression], ...]]:
        """Return the variable of a loop, its items and its options."""
        tokens = self._tokens
        variable = tokens.take("name").text
        tokens.take("name", "in")
        items = self._expression()
        options: list[tuple[str, Expression]] = []
        if tokens.accept("name", "reversed"):
            options.append(("reversed", Literal(value=True)))
        while option := tokens.accept("name", "limit", "offset"):
            tokens.take("mark", ":")
            options.append((option.text, self._expression()))
        tokens.require_end()
        return variable, items, tuple(options)

    def values(self) -> tuple[Expression, ...]:
        """Return the expressions, whatever is between them."""
        found: list[Expression] = []
        while not self._tokens.accept_end():
            if self._tokens.peek(1) == Token("mark", ":"):  # the name of an argument
                self._tokens.skip()
                self._tokens.skip()
            elif self._tokens.peek().kind in _BEGINNINGS:
                found.append(self._filtered())
            else:
                self._tokens.skip()
        return tuple(found)

    def _filtered(self) -> Expression:
        value = self._expression()
        filters: list[Filter] = []
        while self._tokens.accept("mark", "|"):
            name = self._tokens.take("name").text
            filters.append(self._filter(name))
        return Filtered(value, tuple(filters)) if filters else value

    def _filter(self, name: str) -> Filter:
        arguments: list[Expression] = []
        named: list[tuple[str, Expression]] = []
        if self._tokens.accept("mark", ":"):
            while True:
                if self._tokens.peek(1) == Token("mark", ":"):
                    key = self._tokens.take("name").text
                    self._tokens.take("mark", ":")
                    named.append((key, self._expression()))
                else:
                    arguments.append(self._expression())
                if not self._tokens.accept("mark", ","):
                    break
        return Filter(name, tuple(arguments), tuple(named))

    def _comparison(self) -> Expression:
        left = self._expression()
        operator = self._tokens.accept("comparison")
        if operator is None:
            return left
        return Operation({"<>": "!="}.get(operator.text, operator.text), (left, self._expression()))

    def _expression(self) -> Expression:
        tokens = self._tokens
        if name := tokens.accept("name"):
            return self._path(name.text)
        if text := tokens.accept("text"):
            return Literal(text.text[1:-1])
        if number := tokens.accept("number"):
            return read_number(number.text)
        if self._has_interpolation and (interpolation := tokens.accept("interpolation")):
            return self._path("$", interpolation.text[2:-1].strip())
        with tokens.nested():
            if tokens.accept("mark", "["):
                return self._path(self._bracket())
            if tokens.accept("mark", "("):
                first = self._expression()
                tokens.take("range")
                last = self._expression()
                tokens.take("mark", ")")
                return Operation("range", (first, last))
            if self._has_interpolation and tokens.accept("nested", "{{"):
                found = self._filtered()
                tokens.take("nested", "}}")
                return found
        raise tokens.refuse()

    def _path(self, *first: str | int | Expression) -> Expression:
        """Return the value with these first parts, and the members that follow them."""
        parts = [*first]
        tokens = self._tokens
        while True:
            if tokens.accept("mark", "["):
                with tokens.nested():
                    parts.append(self._bracket())
            elif tokens.accept("mark", "."):
                if self._has_interpolation and (found := tokens.accept("interpolation")):
                    parts[-1] = f"{parts[-1]}.$"
                    parts.append(found.text[2:-1].strip())
                else:
                    parts.append(tokens.take("name").text)
            else:
                break
        match parts:
            case [str(name)] if name in _LITERALS:
                return Literal(_LITERALS[name])
        return Path(tuple(parts))

    def _bracket(self) -> str | int | Expression:
        """Return the part of a path in brackets, of which the first one is read."""
        found = self._expression()
        self._tokens.take("mark", "]")
        match found:
            case Literal(str() | int() as name) if not isinstance(name, bool):
                return name
        return found
