"""The places of references and blocks at which an ESP needs other code, or a warning."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ...conditions.implications import keys_set_if
from ...content import Block, Node, Reference, Text

_LINK = re.compile(r"""<a\s(?:[^<>]*[\s"'])?href\s*=\s*(?P<quote>["'])\Z""", re.IGNORECASE)
_TABLE_TAG = re.compile(r"<(?P<end>/?)(?P<element>table|thead|tbody|tfoot|tr|td|th)\b", re.I)
_MAX_TAG_LENGTH = 2_000
"""The number of characters of a tag that are examined."""


def find_guarded(nodes: Iterable[Node], keys: frozenset[str] = frozenset()) -> Iterator[int]:
    """Yield the offsets of the references to fields that are certainly set there.

    `keys` are those of the fields that are set for all nodes.
    """
    for node in nodes:
        if isinstance(node, Reference) and node.key in keys:
            yield node.start
        elif isinstance(node, Block):
            set_before = keys
            for branch in node.branches:
                if branch.condition is None:
                    yield from find_guarded(branch.nodes, set_before)
                else:
                    holds = keys_set_if(branch.condition, holds=True)
                    yield from find_guarded(branch.nodes, set_before | holds)
                    set_before |= keys_set_if(branch.condition, holds=False)


def find_links(nodes: Sequence[Node], masked: str) -> Iterator[int]:
    """Yield the offsets of the references that are the whole URL of a link: `<a href="…">`.

    `masked` is the content with spaces instead of references and tags of blocks.
    """
    for node, after in pairwise((*nodes, None)):
        if isinstance(node, Block):
            for branch in node.branches:
                yield from find_links(branch.nodes, masked)
        elif isinstance(node, Reference) and isinstance(after, Text):
            link = find_open_tag(_LINK, masked, node.start)
            if link is not None and after.text.startswith(link["quote"]):
                yield node.start


def find_open_tag(pattern: re.Pattern[str], masked: str, offset: int) -> re.Match[str] | None:
    """Return the match of the last tag before the offset, up to there, or None."""
    start = masked.rfind("<", max(0, offset - _MAX_TAG_LENGTH), offset)
    return None if start < 0 else pattern.match(masked, start, offset)


def find_between_rows(nodes: Iterable[Node], masked: str) -> Iterator[int]:
    """Yield the offsets of the blocks that are in a table, but in no cell."""
    tags = list(_TABLE_TAG.finditer(masked))
    starts = [tag.start() for tag in tags]
    for block in _blocks(nodes):
        index = bisect_left(starts, block.start) - 1
        if index >= 0 and _is_between_rows(tags[index]):
            yield block.start


def _is_between_rows(last: re.Match[str]) -> bool:
    """Return whether text after this tag of a table is in no cell."""
    element, is_end = last["element"].lower(), bool(last["end"])
    return is_end if element in {"td", "th"} else not (is_end and element == "table")


def _blocks(nodes: Iterable[Node]) -> Iterator[Block]:
    for node in nodes:
        if isinstance(node, Block):
            yield node
            for branch in node.branches:
                yield from _blocks(branch.nodes)
