"""The targets of all links exist on GitHub, in Sphinx and in the tree."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from .blocks import PAGES, ROOT, inline_code

_OURS = re.compile(r"(?:domain|application(?!/json$)|adapters|entrypoints|tests|docs)/[\w./-]*")

_FUNCTIONS = re.compile(r"`([\w/]+\.py)`((?:,\s+`[\w.]+(?<!\.py)`)+)")
"""A module and, after a comma, its functions, classes or constants."""

TEXTS = {page: page.read_text("utf-8") for page in PAGES}


def test_the_target_of_every_link_exists() -> None:
    broken = [
        (page, link)
        for page, text in TEXTS.items()
        for link in _links(text)
        if not link.startswith(("https://", "http://", "mailto:")) and not _leads(page, link)
    ]
    assert broken == []


def test_every_path_on_a_page_exists() -> None:
    missing = [
        (page, path)
        for page, text in TEXTS.items()
        for path in inline_code(text)
        if _OURS.fullmatch(path) and not (ROOT / path).exists()
    ]
    assert missing == []


def test_every_function_after_a_module_on_a_page_exists() -> None:
    missing = [
        (page, path, name)
        for page, text in TEXTS.items()
        for path, names in _FUNCTIONS.findall(text)
        for name in re.findall(r"`(.+?)`", names)
        if _OURS.fullmatch(path) and name not in _defined(ROOT / path)
    ]
    assert missing == []


def test_every_selection_of_tests_on_a_page_finds_tests() -> None:
    unknown = [
        (page, word)
        for page, text in TEXTS.items()
        for code in inline_code(text)
        if "pytest " in code and " -k " in code
        for word in _unknown_words(shlex.split(code))
    ]
    assert unknown == []


def _defined(module: Path) -> set[str]:
    """Return the names that a module defines, and its methods and properties with their class."""
    names = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = [each.name for each in body if isinstance(each, ast.FunctionDef)]
                names.update([name, *(f"{name}.{each}" for each in methods)])
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def _unknown_words(command: list[str]) -> set[str]:
    """Return the words after `-k` that neither the selected files nor shared tests contain."""
    selected = [ROOT / each for each in command if each.startswith("tests/")]
    shared = (ROOT / "tests/contract", ROOT / "tests/support")
    files = {each for path in (*selected, *shared) for each in _modules(path)}
    text = "".join(file.read_text("utf-8") for file in files).lower()
    words = re.findall(r"\w+", command[command.index("-k") + 1].lower())
    return {word for word in words if word not in text} - {"and", "or", "not"}


def _modules(path: Path) -> Iterator[Path]:
    return path.rglob("*.py") if path.is_dir() else iter((path,))


def _leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    if not target.exists():
        return False
    return not anchor or anchor in {*_anchors(target.read_text("utf-8"))}


def _links(text: str) -> Iterator[str]:
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for each in token.children or ():
            if each.type in {"link_open", "image"}:
                yield str(each.attrs["href" if each.type == "link_open" else "src"])


def _anchors(text: str) -> Iterator[str]:
    """Return the anchors of the page's headings, as in GitHub and MyST."""
    for heading in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
