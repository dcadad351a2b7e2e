"""The messages that the page about the console explains are those of the console."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from .blocks import ROOT

SOURCES = ("entrypoints/console", "application", "domain")
PAGE = (ROOT / "docs/console.md").read_text("utf-8")
MESSAGES = re.findall(r"(?m)^\| “(.+?)” \|", PAGE)


def texts() -> Iterator[str]:
    """Yield the templates, and the texts in the code, with … for each expression."""
    for folder in SOURCES:
        for file in sorted((ROOT / folder).rglob("*.html")):
            yield " ".join(re.sub(r"<[^>]+>", "", file.read_text("utf-8")).split())
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = (
                        each.value if isinstance(each, ast.Constant) else "…"
                        for each in node.values
                    )
                    yield "".join(map(str, parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


@pytest.fixture(scope="module")
def known() -> str:
    return "\n".join(texts())


@pytest.mark.parametrize("message", MESSAGES)
def test_the_console_has_each_explained_message(message, known):
    assert all(part.strip() in known for part in message.split("…"))


def test_the_page_explains_messages() -> None:
    assert len(MESSAGES) > 10
