"""The pages of the documentation, and their code blocks.

The language of a block determines its use:

- `sh`, `python` and `js` are run in order: all blocks of a page in one empty folder, the
  shell blocks in one bash with `set -euo pipefail`, the Python blocks in one process. Each block of
  JavaScript is an ES module.
- `text`, `json` and `http` directly after such a block show its complete output (`printed.py`).
  Elsewhere `json` and `http` are examples.
- Other languages are configuration or for other programs. A block without a language is a diagram.
- `<!-- not run: REASON -->` before a block prevents its execution. Its syntax must still be
  valid, and its `recipient-fields` commands must exist.
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
    """A fenced block of a page; `shows` is the following block with its output."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None = None
    shows: Block | None = None

    @property
    def runs(self) -> bool:
        """Return whether the tests run this block."""
        return self.language in RUN and self.not_run is None

    def __str__(self) -> str:
        return f"{self.page}, line {self.line}"


def blocks_of(page: str, text: str) -> tuple[Block, ...]:
    """Return the blocks of a page in order, without the directives of Sphinx."""
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
    """Return the texts between backticks on a page."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        yield from (each.content for each in token.children or () if each.type == "code_inline")


def _fences(text: str) -> Iterator[tuple[Token, str]]:
    """Yield each fence with the comment directly before it."""
    before = ""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "fence" and not token.info.startswith("{"):
            yield token, before
        before = token.content.strip() if token.type == "html_block" else ""
