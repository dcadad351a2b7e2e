"""A reader finds out quickly whether a page is for them, and can read the guide in two hours."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from .blocks import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
REFERENCE = {"cli.md", "errors.md", "library.md", "settings.md", "storage-contract.md"}
"""Pages with one entry per command, code, name, variable or case, which readers look up."""

GUIDE = [
    page
    for page in PAGES
    if page.parent.name != "internals" and page.name not in {"decisions.md", *REFERENCE}
]
"""The pages for users."""

MOST_WORDS = 35_000
MOST_WORDS_OF_ALL_PAGES = 70_000
MOST_WORDS_OF_DECISIONS = 9_000
MOST_LINES_OF_A_VERSION = 80
WORDS_OF_A_CELL = 60

_GENERATED = re.compile(r"<!-- written: .*?<!-- end -->", re.DOTALL)
# The entries of a glossary are text.
_CODE = re.compile(r"^( *)(`{3,})(?!\{glossary\}).*?^\1\2$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_AUDIENCE = re.compile(r"(?:---\norphan: true\n---\n\n)?# .+\n\nTh(is page is|ese pages are) for ")


def test_the_guide_has_at_most_35_000_words() -> None:
    words = {str(page.relative_to(DOCS)): len(_text(page).split()) for page in GUIDE}

    total = sum(words.values())
    assert total <= MOST_WORDS, f"{total} words: {sorted(words.items(), key=lambda w: -w[1])}"


def test_all_pages_have_at_most_70_000_words() -> None:
    assert sum(len(_text(page).split()) for page in PAGES) <= MOST_WORDS_OF_ALL_PAGES


def test_the_decisions_have_at_most_9_000_words() -> None:
    assert len(_text(DOCS / "decisions.md").split()) <= MOST_WORDS_OF_DECISIONS


def test_the_changelog_has_at_most_80_lines_per_version() -> None:
    changelog = (DOCS.parent / "CHANGELOG.md").read_text("utf-8")
    versions = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)[1:]

    assert versions
    assert max(len(version.splitlines()) for version in versions) <= MOST_LINES_OF_A_VERSION


def test_a_page_begins_with_its_readers() -> None:
    texts = {page: page.read_text("utf-8") for page in PAGES if page.name != "changelog.md"}
    for page, text in texts.items():
        included = re.match(r"```\{include\} (\S+)", text)
        if included is not None:
            texts[page] = (DOCS / included[1]).read_text("utf-8")

    assert [page for page, text in texts.items() if not _AUDIENCE.match(text)] == []


def test_no_cell_of_a_table_is_as_long_as_a_paragraph() -> None:
    assert [
        (page, cell)
        for page in PAGES
        for cell in _cells(page.read_text("utf-8"))
        if len(cell.split()) >= WORDS_OF_A_CELL
    ] == []


def _text(page: Path) -> str:
    """Return the text that a person has written, without code."""
    return _COMMENT.sub("", _CODE.sub("", _GENERATED.sub("", page.read_text("utf-8"))))


def _cells(text: str) -> Iterator[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in itertools.pairwise(tokens):
        if before.type in {"td_open", "th_open"}:
            yield token.content
