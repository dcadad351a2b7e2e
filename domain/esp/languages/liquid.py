"""Liquid, as Ruby's implementation reads it in strict mode: https://github.com/Shopify/liquid."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import TypeVar

from attrs import evolve, field, frozen

from ..errors import NotExpressible
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
_COMPARISONS = {"==", "!=", "<", "<=", ">", ">=", "contains"}
_SIGNATURE = r"(?P<name>(?:\(?[\w.\[\]-]\)?)+)"
_ASSIGNMENT = re.compile(_SIGNATURE + r"\s*=\s*(?P<value>.*)", re.ASCII | re.DOTALL)
_CAPTURE = re.compile(_SIGNATURE, re.ASCII)
_SAVED = re.compile(r"(?::save|\b(?:assign|capture))\s++(\w++)")
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
    assigned: dict[str, list[int]]
    """The offsets of the tags in the text that give each name to a value, in order."""

    def assign(self, name: str) -> None:
        """Note that the tag gives the name to a value."""
        self.assigned.setdefault(name, []).append(self.start)

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
    _assigned: dict[str, list[int]] = field(factory=dict)

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
        tag = _Tag(start, end, found["word"], found["rest"], self._words, self._assigned)
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
    start, end, word = tag.start, tag.end, tag.word
    match word:
        case "if" | "unless":
            test = tag.expressions().condition()
            build = as_condition(test if word == "if" else Operation("not", (test,)))
            return Opening(start, end, f"end{word}", build, frozenset({"elsif", "else"}))
        case "elsif":
            return Divider(start, end, word, tag.expressions().condition())
        case "else":
            if tag.rest:
                raise NotRead(_MORE)
            return Divider(start, end, word)
        case "case":
            subject = _strictly(tag, _Expressions.only_expression)
            return Opening(
                start, end, "endcase", _case(subject, tag.assigned), frozenset({"when", "else"})
            )
        case "when":
            values = _strictly(tag, _Expressions.alternatives)
            return Divider(start, end, word, Operation("list", values))
        case "for":
            build = tag.expressions().loop()
            return Opening(start, end, "endfor", build, frozenset({"else"}))
        case "assign":
            found = _ASSIGNMENT.search(tag.rest)
            if found is None:
                raise NotRead("Write `assign NAME = VALUE`.")
            value = _Expressions.of(found["value"], tag.words).filtered()
            tag.assign(found["name"])
            return Assignment(start, end, found["name"], value)
        case "capture":
            found = _CAPTURE.search(tag.rest)
            if found is None:
                raise NotRead("Write `capture NAME`.")
            tag.assign(found["name"])
            return Opening(start, end, "endcapture", text_builder(found["name"]))
        case "echo":
            return Output(start, end, tag.expressions().filtered())
        case "#":
            if _LINE_WITHOUT_MARK.search(tag.rest) is not None:
                raise NotRead("Each line of this comment must begin with `#`.")
            return Comment(start, end)
        case "ifchanged" | "tablerow":
            return opaque_block(start, end, word, tag.values())
    if word.startswith("end"):
        return Closing(start, end, word)
    is_text = word in tag.words.free_text
    names = _SAVED.findall(tag.rest) if is_text or word == "liquid" else ()
    saved = tuple(("save", Path((name,))) for name in names)
    return Opaque(start, end, word, () if is_text else tag.values(), saved)


def write_value(value: Expression, quote: str, write_path: Callable[[Path], str]) -> str:
    """Return the code of a value with filters, or of a test, with texts in these quotes.

    Raises: NotExpressible if it is none, or if a text has no safe form.
    """

    def write(part: Expression) -> str:
        match part:
            case Path():
                return write_path(part)
            case Literal(bool() as truth):
                return str(truth).lower()
            case Literal(int() | float() as number):
                return f"{Decimal(repr(number)):f}"
            case Literal(str() as text) if not {quote, "{", "}"} & {*text}:
                return f"{quote}{text}{quote}"
            case Literal(Special() as special):
                return special.value
            case Literal(None):
                return "nil"
            case Operation("and" | "or" as word, (*before, last)) if not any(
                isinstance(each, Operation) and each.operator in {"and", "or"} for each in before
            ):
                return f" {word} ".join(map(write, (*before, last)))
            case Operation(operator, (left, right)) if operator in _COMPARISONS:
                return f"{write(left)} {operator} {write(right)}"
        raise NotExpressible("This value has no safe form in Liquid.")

    inner, filters = (value.value, value.filters) if isinstance(value, Filtered) else (value, ())
    parts = [write(inner)]
    for each in filters:
        named = (f"{name}: {write(argument)}" for name, argument in each.named)
        arguments = ", ".join((*map(write, each.arguments), *named))
        parts.append(f"{each.name}: {arguments}" if arguments else each.name)
    return " | ".join(parts)


def _case(subject: Expression, assigned: Mapping[str, Sequence[int]]) -> Builder:
    def build(start: int, end: int, branches: Sequence[Branch]) -> Node:
        before, *others = branches
        values = [
            v for each in others if isinstance(each.test, Operation) for v in each.test.operands
        ]
        name = str(subject.parts[0]) if isinstance(subject, Path) else ""
        offsets = assigned.get(name, ())
        is_changed = bisect_left(offsets, start) < bisect_left(offsets, end)
        # Liquid shows each branch that has the value, also if another one has changed it.
        if len({*values}) < len(values) or (is_changed and len(values) > 1):
            nodes = tuple(chain.from_iterable(each.nodes for each in branches))
            return Opaque(start, end, "case", (subject,), nodes=nodes)
        tests = [_compared(subject, branch) for branch in others]
        if not others or not all(isinstance(node, Text | Comment) for node in before.nodes):
            never = Operation("and", (Literal(value=False), subject))
            tests.insert(0, evolve(before, test=never))  # It is not shown.
        return Condition(start, end, tuple(tests))

    return build


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
        return self._tokens.whole(self._filtered)

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
        if self._tokens.accept("mark", "|"):
            name = self._tokens.take("name").text
            raise NotRead(f"Conditions of Liquid have no filters, such as `{name}`.")
        self._tokens.require_end()
        return test

    def only_expression(self) -> Expression:
        """Return the expression, which is all of the code."""
        return self._tokens.whole(self._expression)

    def alternatives(self) -> tuple[Expression, ...]:
        """Return the expressions between `or` or commas."""
        found = [self._expression()]
        while self._tokens.accept("name", "or") or self._tokens.accept("mark", ","):
            found.append(self._expression())
        self._tokens.require_end()
        return tuple(found)

    def loop(self) -> Builder:
        """Return the builder of a loop, from its variable, items and options."""
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
        return loop_builder((variable,), items, tuple(options))

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
