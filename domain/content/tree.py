"""The tree of content: text, references to fields, and blocks with conditions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from attrs import field, frozen

from ..arguments import require_type
from ..conditions import Comparison, Condition, LocatedViolation, TextPosition
from ..conditions.tree import condition_keys
from ..data_paths import EVENT, DataPath
from ..errors import Rule, Violation
from .errors import ContentWarning
from .filters import Filter
from .html import CODE, Html
from .system_values import SystemValue
from .warning_codes import WarningCode

__all__ = ["Content"]


@frozen
class Text:
    """Text that stays as it is. `start` is the offset of its first character."""

    text: str
    start: int


@frozen(kw_only=True)
class Reference:
    """A reference to a field, by its key: `{{recipient.KEY}}`.

    The key of a reference to data is a `DataPath`: `{{event.order_id}}`.

    `filters` change the value, in order. `default` is the text for recipients without a value. If
    `is_expression` is true, the field's value expression is inserted instead of its insertion code.
    `start` is the offset of the reference.
    """

    key: str
    filters: tuple[Filter, ...] = ()
    default: str | None = None
    is_expression: bool = False
    start: int


@frozen
class SystemReference:
    """A reference to a link, the sender or the year: `{{link.unsubscribe}}`.

    `start` is its offset.
    """

    value: SystemValue
    start: int


@frozen
class Branch:
    """A part of a block, and its condition: None for `{{else}}`. `start` is the tag's offset."""

    condition: Condition | None
    nodes: tuple[Node, ...]
    start: int


@frozen
class Block:
    """Alternatives: the first one with a true condition is shown. `{{#if …}}…{{/if}}`.

    `end` is the offset of the tag `{{/if}}`.
    """

    branches: tuple[Branch, ...]
    end: int

    @property
    def start(self) -> int:
        """The offset of the block."""
        return self.branches[0].start


@frozen(kw_only=True)
class Loop(Block):
    """A block for each item of a list: `{{#each event.items as item}}…{{else}}…{{/each}}`.

    The first branch is shown for each item, and the second one, if there is one, without items.
    Neither has a condition.
    """

    items: DataPath
    variable: str


Node: TypeAlias = Text | Reference | SystemReference | Block
"""A part of content."""


class Lines:
    """The lines of a text. They end with a line feed."""

    def __init__(self, text: str) -> None:
        require_type(str, text=text)
        self._starts = [0]
        offset = text.find("\n")
        while offset >= 0:
            self._starts.append(offset + 1)
            offset = text.find("\n", offset + 1)

    def position(self, offset: int) -> TextPosition:
        """Return the position of the character at this offset."""
        line = bisect_right(self._starts, offset)
        return TextPosition(line, offset - self._starts[line - 1] + 1)

    def warning(self, offset: int, code: WarningCode, message: str) -> ContentWarning:
        """Return a warning about the place at this offset."""
        position = self.position(offset)
        return ContentWarning(position.line, position.column, message, code)

    def violation(
        self, offset: int, rule: Rule, message: str, suggestion: str | None = None
    ) -> LocatedViolation:
        """Return a violation at this offset."""
        return self.position(offset).locate(Violation(rule, message, suggestion=suggestion))

    def offset(self, comparison: Comparison) -> int:
        """Return the offset of the comparison, or 0 if it was not parsed from text."""
        return 0 if comparison.position is None else self.offset_of(comparison.position)

    def offset_of(self, position: TextPosition) -> int:
        """Return the offset of the character at this position."""
        return self._starts[position.line - 1] + position.column - 1


@frozen(kw_only=True)
class Content:
    """Parsed content.

    `masked` is the source with spaces instead of references and of the tags of blocks. `warnings`
    are the places that look like a reference or a block, but are not. `violations` are what
    `read_content` found: then the nodes are those that could be read.
    """

    source: str
    nodes: tuple[Node, ...]
    masked: str = field(repr=False)
    lines: Lines = field(repr=False, eq=False)
    warnings: tuple[ContentWarning, ...] = ()
    violations: tuple[LocatedViolation, ...] = ()

    @cached_property
    def html(self) -> Html:
        """The places in the content, with the offsets of the source."""
        parts: list[str] = []
        end = 0
        for text in _texts(self.nodes):
            parts += CODE * (text.start - end), text.text
            end = text.start + len(text.text)
        return Html("".join((*parts, CODE * (len(self.source) - end))))

    def references(self) -> Iterator[Reference]:
        """Yield the references, in order."""
        return (part for part in _parts(self.nodes) if isinstance(part, Reference))

    def system_references(self) -> Iterator[SystemReference]:
        """Yield the references to links, the sender and the year, in order."""
        return (part for part in _parts(self.nodes) if isinstance(part, SystemReference))

    def branches(self) -> Iterator[Branch]:
        """Yield the branches of the blocks, in order."""
        return (part for part in _parts(self.nodes) if isinstance(part, Branch))

    def loops(self) -> Iterator[Loop]:
        """Yield the loops, in order."""
        return (part for part in _parts(self.nodes) if isinstance(part, Loop))

    def keys(self) -> tuple[str, ...]:
        """Return the keys in references and conditions, in the order of their first use."""
        return tuple(key for key in self._used if not isinstance(key, DataPath))

    def event_names(self) -> tuple[str, ...]:
        """Return the paths of the event data, without `event`, in the order of their first use."""
        paths = (key for key in self._used if isinstance(key, DataPath) and key.root == EVENT)
        return tuple(path.without_root for path in paths)

    @cached_property
    def _used(self) -> Mapping[str, None]:
        return dict.fromkeys(key for part in _parts(self.nodes) for key in _keys(part))


def require_content(content: object) -> None:
    """Require that the content is parsed. Raises: TypeError if it is not."""
    if not isinstance(content, Content):
        wrong = type(content).__name__
        raise TypeError(f"content must be a Content, not {wrong}. Pass parse_content(text).")


def _texts(nodes: Iterable[Node]) -> Iterator[Text]:
    for node in nodes:
        if isinstance(node, Block):
            for branch in node.branches:
                yield from _texts(branch.nodes)
        elif isinstance(node, Text):
            yield node


_Part: TypeAlias = Reference | SystemReference | Branch | Loop


def _parts(nodes: Iterable[Node]) -> Iterator[_Part]:
    for node in nodes:
        if isinstance(node, Block):
            if isinstance(node, Loop):
                yield node
            for branch in node.branches:
                yield branch
                yield from _parts(branch.nodes)
        elif not isinstance(node, Text):
            yield node


def _keys(part: _Part) -> Iterator[str]:
    if isinstance(part, Loop):
        yield part.items
    elif isinstance(part, Reference):
        yield part.key
    elif isinstance(part, Branch) and part.condition is not None:
        yield from condition_keys(part.condition)
