"""The public names are those that pages teach, and change only on purpose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import unified_diff
from importlib import import_module
from pathlib import Path

import pytest

from ..docs.blocks import PAGES, ROOT, blocks_of, inline_code
from .public_names import LIBRARY, LIST, PUBLIC, public_names

DOCS = ROOT / "docs"
EXAMPLES = sorted((DOCS / "examples").rglob("*.py"))

_EXAMPLE = re.compile(r"examples/[\w/.-]+")


def code_of(page: Path) -> Iterator[str]:
    """Return the code on a page, and that of the examples which it includes or names."""
    text = page.read_text("utf-8")
    yield from inline_code(text)
    yield from (block.text for block in blocks_of(page.name, text))
    for name in _EXAMPLE.findall(text):
        yield from (e.read_text("utf-8") for e in EXAMPLES if e.is_relative_to(DOCS / name))


def imported(code: str) -> Iterator[tuple[str, str]]:
    """Return the names that a program imports from the library, with their packages."""
    for node in ast.walk(ast.parse(code)):
        package = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and package.split(".")[0] == "recipient_fields":
            yield from ((package, alias.name) for alias in node.names)


def test_the_public_names_are_those_in_the_list() -> None:
    listed = LIST.read_text("utf-8").splitlines()
    changes = unified_diff(
        listed, public_names().splitlines(), "listed", "public", lineterm="", n=1
    )

    assert list(changes) == [], (
        "Public names, members or signatures have changed. If this is the purpose, follow"
        " docs/versioning.md and run `.venv/bin/python tests/packaging/public_names.py`."
    )


def test_a_public_name_is_listed_once() -> None:
    names = [each.name for each in PUBLIC]

    assert len(names) > 250
    assert sorted(names) == sorted({*names})


@pytest.mark.parametrize("page", sorted({each.page for each in PUBLIC}))
def test_a_page_teaches_the_public_names_that_name_it(page):
    words = {word for code in code_of(DOCS / page) for word in re.findall(r"\w+", code)}

    assert [each.name for each in PUBLIC if each.page == page and each.name not in words] == []


def programs(source: Path) -> list[str]:
    """Return the programs on a page, or the one in a file."""
    text = source.read_text("utf-8")
    if source.suffix == ".py":
        return [text]
    return [block.text for block in blocks_of(source.name, text) if block.language == "python"]


def test_a_page_imports_only_public_names() -> None:
    packages = {each.package for each in PUBLIC}
    values = [each.value for each in PUBLIC]

    assert [
        (source, f"{package}.{name}")
        for source in (*PAGES, *EXAMPLES)
        if source != LIBRARY
        for program in programs(source)
        for package, name in imported(program)
        if f"{package}.{name}" not in packages
        if package not in packages
        or not any(getattr(import_module(package), name) is value for value in values)
    ] == []
