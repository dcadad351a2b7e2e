"""Blocks: the tree of a text from the tags that begin, divide and end them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from attrs import define, evolve, field, frozen

from .tree import (
    Assignment,
    Branch,
    Comment,
    Condition,
    Expression,
    Loop,
    Node,
    Opaque,
    Raw,
    Text,
    Unread,
)

MAX_DEPTH = 100
"""Blocks in one another. Ruby's Liquid has the same limit."""


@frozen
class Opening:
    """A tag that begins a block. `build` returns the node of the complete block.

    `dividers` are the words of the tags that can divide it, and `end` is the word of its last tag.
    """

    start: int
    end: int
    last: str
    build: Builder
    dividers: frozenset[str] = frozenset()
    final: str | None = None
    """The divider after which the block can't be divided."""


@frozen
class Divider:
    """A tag that divides a block, such as `else`. `test` is that of its branch."""

    start: int
    end: int
    word: str
    test: Expression | None = None


@frozen
class Closing:
    """A tag that ends a block."""

    start: int
    end: int
    word: str


class Certainty(Enum):
    """Whether what looks like a tag can be text where another language is read."""

    CODE = "it is code"
    IF_KNOWN = "it is code if its name is known"
    POSSIBLE = "it can be text"


Statement: TypeAlias = Node | Opening | Divider | Closing
"""What a language reads one statement as."""


@frozen
class Tag:
    """A tag of a text, from `start` to `end`. It has several parts if it has several statements."""

    start: int
    end: int
    parts: tuple[Statement, ...]
    certainty: Certainty = Certainty.CODE

    @property
    def is_code(self) -> bool:
        """Whether the tag is neither a comment nor a part that is not read as code."""
        return not all(
            isinstance(each, Comment | Raw) or (isinstance(each, Unread) and each.is_alone)
            for each in self.parts
        )

    @property
    def unread(self) -> Unread | None:
        """The part of the tag that the language does not read, also if it is in its block."""
        for part in self.parts:
            if isinstance(part, Unread) and not part.is_alone:
                return part
        return None


Language: TypeAlias = Callable[[str], Iterator[Tag]]
"""Reads a text once, from left to right: yields its tags, in order."""

Builder: TypeAlias = Callable[[int, int, Sequence[Branch]], Node]
"""Returns the node of a block from its place and its branches. The first one has no test."""


_UNENDED = "This tag divides a block that has no end."


@define
class _Block:
    """A block that has no end yet."""

    opening: Opening
    branches: list[Branch] = field(factory=list)
    divider: Divider | None = None
    nodes: list[Node] = field(factory=list)

    def can_be_divided_by(self, word: str) -> bool:
        is_final = self.divider is not None and self.divider.word == self.opening.final
        return word in self.opening.dividers and not is_final

    def divide(self, divider: Divider) -> None:
        self._end_branch()
        self.divider = divider

    def build(self, end: int) -> Node:
        self._end_branch()
        return self.opening.build(self.opening.start, end, self.branches)

    def all_nodes(self) -> Iterator[Node]:
        """Yield the nodes in the block, which has no end, and what can divide nothing."""
        self._end_branch()
        first, *others = self.branches
        yield from first.nodes
        for branch in others:
            yield Unread(branch.start, branch.end, _UNENDED, is_alone=True)
            yield from branch.nodes

    def _end_branch(self) -> None:
        tag = self.divider or self.opening
        test = None if self.divider is None else self.divider.test
        self.branches.append(Branch(tag.start, tag.end, test, tuple(self.nodes)))
        self.nodes = []


def scan(
    text: str,
    opening: re.Pattern[str],
    read: Callable[[re.Match[str]], Statement | Tag | None],
) -> Iterator[Tag]:
    """Yield the tags that `read` returns for the matches of the opening, in order.

    What is in a tag is not searched. If `read` returns None, the match is text.
    """
    offset = 0
    while (found := opening.search(text, offset)) is not None:
        part = read(found)
        offset = found.end() if part is None else part.end
        if isinstance(part, Tag):
            yield part
        elif part is not None:
            yield Tag(part.start, part.end, (part,))


@define
class Ends:
    """The search for the ends of tags. What a text does not have is searched once."""

    _text: str
    _missing: set[re.Pattern[str]] = field(factory=set)

    def find(
        self, last: re.Pattern[str], offset: int, *, is_whole: bool = False
    ) -> re.Match[str] | None:
        """Return the first end from this offset on, or None. Offsets ascend.

        If `is_whole` is true, the pattern matches all that is before the end, too.
        """
        search = last.match if is_whole else last.search
        found = None if last in self._missing else search(self._text, offset)
        if found is None:
            self._missing.add(last)
        return found


def find_places(
    text: str, languages: Iterable[Language]
) -> Iterator[tuple[int, Mapping[Language, Tag]]]:
    """Yield the places at which tags begin, in order, with the tags that the languages read there.

    Each language reads the text once.
    """

    def read(language: Language) -> Iterator[tuple[int, Language, Tag]]:
        for tag in language(text):
            yield tag.start, language, tag

    found = merge(*map(read, languages), key=itemgetter(0))
    for start, group in groupby(found, itemgetter(0)):
        yield start, {language: tag for _, language, tag in group}


def with_texts(text: str, tags: Iterable[Tag]) -> Iterator[Tag | Text]:
    """Yield the tags of the text, and what is between them."""
    offset = 0
    for tag in tags:
        if tag.start > offset:
            yield Text(offset, tag.start)
        yield tag
        offset = tag.end
    if offset < len(text):
        yield Text(offset, len(text))


def build_tree(parts: Iterable[Tag | Text]) -> tuple[Node, ...]:
    """Return the nodes of the parts, with a node for each complete block.

    A tag without its block, and the tags of a block without its end, are `Unread`. The nodes in it
    stay.
    """
    nodes: list[Node] = []
    blocks: list[_Block] = []
    for part in _statements(parts):
        current = blocks[-1].nodes if blocks else nodes
        match part:
            case Opening() if len(blocks) < MAX_DEPTH:
                blocks.append(_Block(part))
            case Opening(start, end):
                current.append(Unread(start, end, "The blocks are nested too deeply."))
            case Divider(start, end, word):
                if blocks and blocks[-1].can_be_divided_by(word):
                    blocks[-1].divide(part)
                else:
                    reason = f"`{word}` has no block that it can divide."
                    current.append(Unread(start, end, reason, is_alone=True))
            case Closing(start, end, word):
                if blocks and word == blocks[-1].opening.last:
                    block = blocks.pop()
                    (blocks[-1].nodes if blocks else nodes).append(block.build(end))
                else:
                    expected = f": `{blocks[-1].opening.last}` is missing" if blocks else ""
                    reason = f"`{word}` ends no block{expected}."
                    current.append(Unread(start, end, reason, is_alone=True))
            case _:
                current.append(part)
    while blocks:
        block = blocks.pop()
        opening, outer = block.opening, blocks[-1].nodes if blocks else nodes
        reason = f"This block has no `{opening.last}`."
        outer.append(Unread(opening.start, opening.end, reason, is_alone=True))
        outer += block.all_nodes()
    return tuple(nodes)


def _statements(parts: Iterable[Tag | Text]) -> Iterator[Statement]:
    for part in parts:
        if isinstance(part, Tag):
            yield from part.parts
        else:
            yield part


def as_condition(test: Expression) -> Builder:
    """Return the builder of a condition whose first test is this one."""

    def build(start: int, end: int, branches: Sequence[Branch]) -> Condition:
        first, *others = branches
        return Condition(start, end, (evolve(first, test=test), *others))

    return build


def text_builder(name: str) -> Builder:
    """Return the builder of a block that gives the name to its text."""

    def build(start: int, end: int, branches: Sequence[Branch]) -> Assignment:
        return Assignment(start, end, name, branches[0].nodes)

    return build


def opaque_block(
    start: int,
    end: int,
    word: str,
    arguments: tuple[Expression, ...] = (),
    named: tuple[tuple[str, Expression], ...] = (),
) -> Opening:
    """Return the beginning of a block that is not read further, until `end` and its word."""

    def build(start: int, end: int, branches: Sequence[Branch]) -> Opaque:
        nodes = tuple(node for branch in branches for node in branch.nodes)
        return Opaque(start, end, word, arguments, named, nodes)

    return Opening(start, end, f"end{word}", build, frozenset({"else"}))


def unended_part(text: str, start: int, last: str) -> Unread:
    """Return a comment, or a part that is not read as code, without its end: the rest of a text."""
    return Unread(start, len(text), f"This block has no `{last}`.", is_alone=True)


def loop_builder(
    variables: tuple[str, ...],
    items: Expression,
    options: tuple[tuple[str, Expression], ...] = (),
) -> Builder:
    """Return the builder of a loop, whose second branch is shown if there are no items."""

    def build(start: int, end: int, branches: Sequence[Branch]) -> Loop:
        return Loop(
            start=start,
            end=end,
            items=items,
            variables=variables,
            options=options,
            branches=tuple(branches),
        )

    return build
