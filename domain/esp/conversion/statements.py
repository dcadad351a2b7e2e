"""Tags with several statements: if one of them is by hand, all of them are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import Factory, define, frozen

from ..languages.blocks import Tag
from ..languages.tree import Condition, Loop, Node, walk
from .outcomes import Outcome
from .reader import Reader, find_closing

_HALF = "Another statement in this tag is by hand. Write the tag for the other ESP."


@frozen
class Statements:
    """The statements of a template that share a tag with others.

    `tags` contains the tags by the offsets of their statements, which are in order in `starts`.
    `owners` are the nodes by the offsets of their statements: a block has several.
    """

    tags: Mapping[int, Tag]
    starts: Sequence[int]
    owners: Mapping[int, Node]

    @classmethod
    def of(cls, tags: Iterable[Tag], nodes: Iterable[Node]) -> Statements:
        """Return the statements of the tags, which are those of the nodes."""
        found = {start: tag for tag in tags if len(tag.parts) > 1 for start in _statements_of(tag)}
        owners = {start: node for node in walk(nodes) for start in _tags_of(node)} if found else {}
        return cls(found, sorted(found), owners)

    @property
    def following(self) -> Collection[int]:
        """The offsets of the statements that are not the first in their tag."""
        return {start for start, tag in self.tags.items() if start != tag.start}

    def find_halves(self, reader: Reader) -> Iterator[tuple[int, str]]:
        """Yield the offsets of the nodes that must stay because others in their tags do."""
        run = _Run(self)
        for start, node in self.owners.items():
            result = reader.results.get(start)
            is_kept = result is not None and result.outcome is Outcome.BY_HAND
            if start == node.start and (is_kept or start in reader.poisoned):
                yield from ((each, _HALF) for each in run.find_others(node))


@define
class _Run:
    _statements: Statements
    _tags: set[int] = Factory(set)
    """The offsets of the tags that are kept as a whole."""

    def find_others(self, kept: Node) -> Iterator[int]:
        """Yield the offsets of the other nodes that are kept if this one is."""
        starts = self._statements.starts
        rest = [kept]
        while rest:
            node = rest.pop()
            for start in starts[bisect_left(starts, node.start) : bisect_left(starts, node.end)]:
                tag = self._statements.tags[start]
                if tag.start in self._tags:
                    continue
                self._tags.add(tag.start)
                for each in _statements_of(tag):
                    owner = self._statements.owners.get(each, node)
                    if owner is not node:
                        yield owner.start
                        rest.append(owner)


def _statements_of(tag: Tag) -> Iterator[int]:
    """Yield the offsets of the statements. The first one is that of the tag."""
    yield tag.start
    yield from (part.start for part in tag.parts[1:])


def _tags_of(node: Node) -> Iterator[int]:
    """Yield the offsets of a node, and of the other tags of a block."""
    yield node.start
    if isinstance(node, Condition | Loop):
        yield from (branch.start for branch in node.branches)
        yield find_closing(node)
