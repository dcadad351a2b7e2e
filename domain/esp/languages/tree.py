"""The tree of a template: what each language reads into, and writes from.

A node has the place of its code in the text, from `start` to `end`. What is not in the tree, such
as trim marks and quotes, is in that code: a node that does not change is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import TypeAlias

from attrs import evolve, field, frozen


class Special(Enum):
    """The values of Liquid that equal several values of other languages."""

    EMPTY = "empty"
    BLANK = "blank"


@frozen
class Literal:
    """A value that is written in the code. None is null, whatever its word in the language.

    1 is another value than true, and 0 than false: Liquid reads both numbers as true.
    """

    value: str | float | bool | Special | None = field(eq=lambda each: (type(each) is bool, each))


@frozen
class Path:
    """A value of the data: its name, and the names or positions of members in it."""

    parts: tuple[str | int | Expression, ...]


@frozen
class Filter:
    """A filter, or a function in the form of one."""

    name: str
    arguments: tuple[Expression, ...] = ()
    named: tuple[tuple[str, Expression], ...] = ()


@frozen
class Filtered:
    """A value after filters, in their order."""

    value: Expression
    filters: tuple[Filter, ...]


@frozen
class Call:
    """The result of a function, a helper or a tag."""

    name: str
    arguments: tuple[Expression, ...] = ()
    named: tuple[tuple[str, Expression], ...] = ()


@frozen
class Operation:
    """The result of an operator, with a name that is the same in all languages.

    These are `and`, `or`, `not`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `contains` (the second operand
    is the part), `list` and `range`. Other operators have the name of their language.
    """

    operator: str
    operands: tuple[Expression, ...]


Expression: TypeAlias = Literal | Path | Filtered | Call | Operation


@frozen
class Text:
    """Text outside of tags."""

    start: int
    end: int


@frozen
class Output:
    """A tag that shows a value. `is_raw` is whether the language then omits its usual escaping.

    `others` are the offsets of its other tags, if several tags together show the value.
    """

    start: int
    end: int
    value: Expression
    is_raw: bool = False
    others: tuple[int, ...] = ()


@frozen
class Branch:
    """The nodes after a tag, from `start` to `end`, if its test holds. `else` has no test."""

    start: int
    end: int
    test: Expression | None
    nodes: tuple[Node, ...]


@frozen
class Condition:
    """A block that shows its first branch whose test holds."""

    start: int
    end: int
    branches: tuple[Branch, ...]


@frozen(kw_only=True)
class Loop:
    """A block whose first branch is shown for each item, with the variables of the loop.

    The last one of several branches is shown without items. In Handlebars, a loop reads names in
    the item.
    """

    start: int
    end: int
    items: Expression
    variables: tuple[str, ...] = ()
    options: tuple[tuple[str, Expression], ...] = ()
    branches: tuple[Branch, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What is shown for each item."""
        return self.branches[0].nodes

    @property
    def otherwise(self) -> tuple[Node, ...]:
        """What is shown without items."""
        return self.branches[-1].nodes if len(self.branches) > 1 else ()


@frozen
class Assignment:
    """A tag that gives a name to a value, or a block that gives it to its text."""

    start: int
    end: int
    name: str
    value: Expression | tuple[Node, ...]


@frozen
class Comment:
    """Code that shows nothing."""

    start: int
    end: int


@frozen
class Raw:
    """A part that is not read as code. Its text is from `text_start` to `text_end`."""

    start: int
    end: int
    text_start: int
    text_end: int


@frozen
class Opaque:
    """A tag, or a block, that only the language or the ESP has. `nodes` is None without a block.

    `branches` are the parts of a block that can be a condition: of a helper of Handlebars.
    """

    start: int
    end: int
    name: str
    arguments: tuple[Expression, ...] = ()
    named: tuple[tuple[str, Expression], ...] = ()
    nodes: tuple[Node, ...] | None = None
    branches: tuple[Branch, ...] = ()


@frozen
class Unread:
    """Code that the language does not read, and why.

    `is_alone` is whether the tag can be read, but not its block: another tag is missing or wrong.
    `meant` is what the code means if the ESP reads it nevertheless.
    """

    start: int
    end: int
    reason: str
    is_alone: bool = False
    meant: Output | None = None


Node: TypeAlias = Text | Output | Condition | Loop | Assignment | Comment | Raw | Opaque | Unread


def find_unread(nodes: Iterable[Node]) -> Iterator[Unread]:
    """Yield the code that the language does not read, in the order of the text."""
    return (node for node in walk(nodes) if isinstance(node, Unread))


def map_nodes(node: Node, change: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> Node:
    """Return a block with other nodes in its branches, or another node as it is."""
    if not isinstance(node, Condition | Loop | Opaque):
        return node
    branches = (evolve(each, nodes=change(each.nodes)) for each in node.branches)
    return evolve(node, branches=tuple(branches))


def find_closing(node: Condition | Loop) -> int:
    """Return the offset of the last tag of a block."""
    nodes = node.branches[-1].nodes
    return nodes[-1].end if nodes else node.branches[-1].end


def list_tags(node: Node) -> Iterator[int]:
    """Yield the offsets of a tag, or of those that begin, divide and end a block."""
    if not isinstance(node, Text):
        yield node.start
    match node:
        case Condition(branches=branches) | Loop(branches=branches):
            yield from (each.start for each in branches)
            yield find_closing(node)
        case Opaque(nodes=(*_, last)):
            yield last.end


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes, and those in them, in the order of the text."""
    for node in nodes:
        yield node
        match node:
            case Condition(branches=branches) | Loop(branches=branches):
                for branch in branches:
                    yield from walk(branch.nodes)
            case Assignment(value=tuple() as inner) | Opaque(nodes=tuple() as inner):
                yield from walk(inner)
