"""Django's template language: https://docs.djangoproject.com/en/5.2/ref/templates/language/."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest

from attrs import define, field, frozen

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
    unended_part,
)
from .expressions import END, NotRead, Token, Tokens, read_number
from .tree import (
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
_ENDS = {"{%": "%}", "{{": "}}", "{#": "#}"}
_BLOCKS = {"autoescape", "block", "filter", "ifchanged", "spaceless"}
_TEXT = r"""(?:"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')"""
_OPERAND = rf"(?:_\({_TEXT}\)|{_TEXT}|[\w.]+|[-+.]?\d[\d.e]*)"
_VALUE = re.compile(_OPERAND, re.DOTALL)
_FILTER = re.compile(rf"\s*\|\s*(?P<name>\w+)(?::(?P<argument>{_OPERAND}))?", re.DOTALL)
_FILTER_WITH_BLANK = re.compile(
    rf"\s*\|\s*(?P<name>\w+)(?::\s*(?P<argument>{_OPERAND}))?", re.DOTALL
)
_WORD = re.compile(rf"""(?:[^\s'"]*(?:{_TEXT}[^\s'"]*)+|\S+)""", re.DOTALL)
"""A part of a tag: white space divides it, except in texts."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e\d+)?", re.ASCII)
_LITERALS: Mapping[str, bool | None] = {"True": True, "False": False, "None": None}
_BLANK = re.compile(rf":\s+{_OPERAND}", re.DOTALL)
BLANK_AFTER_COLON = "Django reads no blank after the colon of a filter."
_SHOWN = 40
"""The characters of code that a message shows."""
_VARIABLE_SEPARATOR = re.compile(r" *, *")
_ARGUMENT = re.compile(r"(?:(?P<name>\w+)=)?(?P<value>.+)", re.DOTALL)


def read_django(text: str, blocks: Collection[str] = ()) -> Iterator[Tag]:
    """Yield the tags of the text, in order. `blocks` are the words of blocks of the ESP."""
    return _Reader(text, blocks).tags()


@define
class _Reader:
    _text: str
    _blocks: Collection[str]
    _open_until: dict[str, int] = field(factory=dict)
    """By the end of a tag, the end of the line that does not have it."""

    def tags(self) -> Iterator[Tag]:
        """Yield the tags of the text, in order."""
        offset = 0
        while (place := next(self._places(offset), None)) is not None:
            part = self._tag(*place)
            yield Tag(part.start, part.end, (part,))
            offset = part.end

    def _places(self, offset: int) -> Iterator[tuple[str, int, int]]:
        """Yield the opening and the place of each tag. Tags end on their line; others are text."""
        while (opening := _OPENING.search(self._text, offset)) is not None:
            start = opening.start()
            end = self._find_end(_ENDS[opening[0]], start + 2)
            offset = start + 1 if end is None else end
            if end is not None:
                yield opening[0], start, end

    def _find_end(self, delimiter: str, offset: int) -> int | None:
        if offset < self._open_until.get(delimiter, 0):
            return None
        line_end = self._text.find("\n", offset)
        line_end = len(self._text) if line_end < 0 else line_end
        found = self._text.find(delimiter, offset, line_end)
        if found < 0:
            self._open_until[delimiter] = line_end
            return None
        return found + 2

    def _tag(self, opening: str, start: int, end: int) -> Statement:
        if opening == "{#":
            return Comment(start, end)
        code = self._text[start + 2 : end - 2].strip()
        try:
            if opening == "{{":
                return _output(start, end, code)
            return self._statement(start, end, code)
        except NotRead as error:
            return Unread(start, end, str(error))

    def _statement(self, start: int, end: int, code: str) -> Statement:
        if not code:
            raise NotRead("This tag is empty.")
        words = _WORD.findall(code)
        word = code.split(maxsplit=1)[0]
        if word.startswith("-"):
            raise NotRead("Django has no `{%-`. Write `{%`.")
        if word == "verbatim":
            return self._verbatim(start, end, code)
        if word == "comment":
            return self._comment(start, end)
        return _read_tag(start, end, word, tuple(words[1:]), self._blocks)

    def _verbatim(self, start: int, end: int, code: str) -> Node:
        last = re.compile(rf"\{{%[^\S\n]*end{re.escape(code)}[^\S\n]*%\}}")
        found = last.search(self._text, end)
        if found is None:
            return unended_part(self._text, start, f"end{code}")
        return Raw(start, found.end(), end, found.start())

    def _comment(self, start: int, end: int) -> Node:
        for opening, tag_start, tag_end in self._places(end):
            if opening == "{%" and self._text[tag_start + 2 : tag_end - 2].strip() == "endcomment":
                return Comment(start, tag_end)
        return unended_part(self._text, start, "endcomment")


def _output(start: int, end: int, code: str) -> Node:
    """Return what shows the value. A blank after a colon has only one possible meaning."""
    try:
        return Output(start, end, read_value(code))
    except NotRead as error:
        if str(error) != BLANK_AFTER_COLON:
            raise
    meant = Output(start, end, read_value(code, allows_blank=True))
    return Unread(start, end, BLANK_AFTER_COLON, meant=meant)


def read_value(code: str, *, allows_blank: bool = False) -> Expression:
    """Return a value with its filters. Raises: NotRead."""
    found = _VALUE.match(code)
    if found is None:
        raise NotRead(f"`{code[:_SHOWN]}` is no value." if code else "This tag is empty.")
    value, filters, offset = _operand(found[0]), [], found.end()
    while offset < len(code):
        found = (_FILTER_WITH_BLANK if allows_blank else _FILTER).match(code, offset)
        if found is None and _BLANK.match(code, offset):
            raise NotRead(BLANK_AFTER_COLON)
        if found is None:
            raise NotRead(f"`{code[offset : offset + _SHOWN]}` is not expected here.")
        argument = found["argument"]
        filters.append(Filter(found["name"], () if argument is None else (_operand(argument),)))
        offset = found.end()
    return Filtered(value, tuple(filters)) if filters else value


def _operand(code: str) -> Expression:
    text = code[2:-1] if code.startswith("_(") else code
    if text[0] in "\"'":
        quote = text[0]
        return Literal(text[1:-1].replace(f"\\{quote}", quote).replace("\\\\", "\\"))
    if _NUMBER.fullmatch(code) and not code.endswith("."):
        return read_number(code)
    if code in _LITERALS:
        return Literal(_LITERALS[code])
    if code.startswith("_") or "._" in code:
        raise NotRead(f"A name can't begin with an underscore: `{code[:_SHOWN]}`.")
    return Path(tuple(int(each) if each.isdecimal() else each for each in code.split(".")))


def _read_tag(
    start: int, end: int, word: str, arguments: tuple[str, ...], blocks: Collection[str]
) -> Statement:
    """Return what the tag is. Raises: NotRead if it is not in the language."""
    match word:
        case "else" | "empty" | "endif" if arguments:
            raise NotRead(f"`{word}` is alone in its tag.")
        case "else" | "empty":
            return Divider(start, end, word)
        case "if":
            build = as_condition(_Test.of(arguments).read())
            return Opening(start, end, "endif", build, frozenset({"elif", "else"}), final="else")
        case "elif":
            return Divider(start, end, word, _Test.of(arguments).read())
        case "for":
            build = _loop(arguments)
            return Opening(start, end, "endfor", build, frozenset({"empty"}), final="empty")
        case "with":
            return opaque_block(start, end, word, (), _named(arguments))
        case "autoescape" if arguments not in {("on",), ("off",)}:
            raise NotRead("Write `autoescape on` or `autoescape off`.")
        case "now" if len(arguments) != 1:
            raise NotRead("Write `now` with one format.")
    if word in _BLOCKS or word in blocks:
        return opaque_block(start, end, word, _values(arguments))
    if word.startswith("end"):
        return Closing(start, end, word)
    return Opaque(start, end, word, _values(arguments))


def _loop(arguments: Sequence[str]) -> Builder:
    words = [*arguments]
    is_reversed = words[-1:] == ["reversed"]
    words = words[:-1] if is_reversed else words
    if len(words) < 3 or words[-2] != "in":
        raise NotRead("Write `for NAME in LIST`.")
    variables = tuple(_VARIABLE_SEPARATOR.split(" ".join(words[:-2])))
    if not all(variables) or any(set(each) & set(" \"'|") for each in variables):
        raise NotRead("Write `for NAME in LIST`, with names that are separated by commas.")
    options = (("reversed", Literal(value=True)),) if is_reversed else ()
    return loop_builder(variables, read_value(words[-1]), options)


def _named(words: Sequence[str]) -> tuple[tuple[str, Expression], ...]:
    """Return the names that `with` gives to values: `NAME=VALUE`, or `VALUE as NAME`."""
    if len(words) == 3 and words[1] == "as":
        return ((words[2], read_value(words[0])),)
    found = [_ARGUMENT.fullmatch(each) for each in words]
    named = [(each["name"], read_value(each["value"])) for each in found if each and each["name"]]
    if not named or len(named) != len(words):
        raise NotRead("Write `with NAME=VALUE`.")
    return tuple(named)


def _values(arguments: Sequence[str]) -> tuple[Expression, ...]:
    """Return the values in a tag whose syntax is not known, as far as they can be read."""
    found: list[Expression] = []
    for each in arguments:
        match = _ARGUMENT.fullmatch(each)
        with suppress(NotRead):
            found.append(read_value(match["value"] if match else each))
    return tuple(found)


_RELATIONS = ("==", "!=", "<", "<=", ">", ">=", "is", "is not")
_OPERATORS = {"and", "or", "in", "not in", *_RELATIONS}


@frozen
class _Test:
    """Reads the test of an `if` from its words, as `django.template.smartif` does."""

    tokens: Tokens

    @classmethod
    def of(cls, words: Sequence[str]) -> _Test:
        return cls(Tokens(_tokens(words)))

    def read(self) -> Expression:
        """Return the test. Raises: NotRead."""
        return self.tokens.whole(lambda: self.tokens.levels(self._membership, ("and",), ("or",)))

    def _membership(self) -> Expression:
        found = self._relation()
        while operator := self.tokens.accept_operator("in", "not in"):
            part, whole = self.tokens.operation(operator, found, self._relation).operands
            found = Operation("contains", (whole, part))
            found = found if operator == "in" else Operation("not", (found,))
        return found

    def _relation(self) -> Expression:
        return self.tokens.chain(self._value, *_RELATIONS)

    def _value(self) -> Expression:
        if self.tokens.accept("word", "not"):
            with self.tokens.nested():
                return Operation("not", (self._membership(),))
        word = self.tokens.peek()
        if word is END or word.text in _OPERATORS:
            raise self.tokens.refuse()
        self.tokens.skip()
        return read_value(word.text)


def _tokens(words: Sequence[str]) -> Iterator[Token]:
    """Yield the words. Two of them can be one operator."""
    rest = iter(zip_longest(words, words[1:]))
    for word, after in rest:
        if f"{word} {after}" in {"not in", "is not"}:
            next(rest)
            yield Token("word", f"{word} {after}")
        else:
            yield Token("word", word)
