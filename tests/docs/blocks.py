"""The pages, and the blocks on them.

What a block is, its language says:

- `sh`, `python` and `js` are run as they are written, in order: all of a page in one empty folder,
  its shell blocks in one bash with `set -euo pipefail`, its Python blocks in one process. Each
  block of JavaScript is an ES module.
- `text`, `json` and `http` directly behind such a block show all that it printed: see `printed.py`.
  Elsewhere `json` and `http` are examples.
- Any other language is configuration or another program's; none at all, a drawing.
- `<!-- not run: REASON -->` before a block keeps it from being run. It is still read: its syntax
  must be right, and the commands of ours that it names must exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = (
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)

RUN = {"sh", "python", "js"}
SHOWN = {"text", "json", "http"}

_NOT_RUN = re.compile(r"<!-- not run: (.+) -->")


@frozen(kw_only=True)
class Block:
    """A fenced block of a page. `shows`: the block behind it that says what it prints."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None = None
    shows: Block | None = None

    @property
    def runs(self) -> bool:
        """Is it run by the suite?"""
        return self.language in RUN and self.not_run is None

    def __str__(self) -> str:
        return f"{self.page}, line {self.line}"


def blocks_of(page: str, text: str) -> tuple[Block, ...]:
    """The page's blocks in their order, without the directives of Sphinx."""
    blocks: list[Block] = []
    for token, before in reversed([*_fences(text)]):
        assert token.map is not None
        comment = _NOT_RUN.fullmatch(before)
        block = Block(
            page=page,
            line=token.map[0] + 1,
            language=token.info.strip(),
            text=token.content,
            not_run=comment[1] if comment else None,
            shows=blocks[0] if blocks and blocks[0].language in SHOWN else None,
        )
        blocks.insert(0, block)
    return tuple(blocks)


def inline_code(text: str) -> Iterator[str]:
    """What stands between backticks on a page."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        yield from (each.content for each in token.children or () if each.type == "code_inline")


def _fences(text: str) -> Iterator[tuple[Token, str]]:
    """Each fence and the comment that stands directly before it."""
    before = ""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "fence" and not token.info.startswith("{"):
            yield token, before
        before = token.content.strip() if token.type == "html_block" else ""
