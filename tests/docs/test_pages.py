"""The blocks of every page run and print the output on the page."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from markdown_it import MarkdownIt

from recipient_fields.application.conditions.documents import parse_condition_document
from recipient_fields.domain.conditions import parse_condition

from ..openapi.conftest import published_document
from ..support.node import NODE
from .blocks import PAGES, ROOT, RUN, SHOWN, blocks_of
from .printed import assert_shown
from .running import run_blocks

CONFIGURATION = {"", "ini", "nginx", "sql", "toml", "yaml"}
"""The languages of blocks that are neither run nor printed. A block without one is a diagram."""

DIRECTIVES = {"eval-rst", "glossary", "include", "literalinclude", "toctree"}
"""The directives of Sphinx on the pages. None contains a program of the page itself."""

BLOCKS = {
    str(path.relative_to(ROOT)): blocks_of(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    for path in PAGES
}
EVERY_BLOCK = [block for blocks in BLOCKS.values() for block in blocks]
PAGES_THAT_RUN = [page for page, blocks in BLOCKS.items() if any(block.runs for block in blocks)]

PREPARED = {
    "README.md": "clone",
    "docs/calling-the-api.md": "demonstration",
    "docs/http-api.md": "demonstration",
}
"""The fixture that a page requires. It returns the environment variables to set."""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_THAT_RUN)
def test_every_block_of_a_page_prints_the_shown_output(
    page: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    environment = request.getfixturevalue(PREPARED[page]) if page in PREPARED else {}

    folder = tmp_path / "page"
    folder.mkdir(exist_ok=True)
    for block, output in run_blocks(BLOCKS[page], folder, environment):
        if block.shows is not None:
            assert_shown(output, block.shows)
        else:
            assert output == "", f"{block} prints output that the page does not show"


def test_every_block_has_a_language_that_is_run_or_known() -> None:
    known = RUN | SHOWN | CONFIGURATION

    assert [str(block) for block in EVERY_BLOCK if block.language not in known] == []


def test_a_text_block_shows_the_output_of_the_block_before() -> None:
    shown = [id(block.shows) for block in EVERY_BLOCK if block.runs]

    assert [
        str(block) for block in EVERY_BLOCK if block.language == "text" and id(block) not in shown
    ] == []


@pytest.mark.parametrize(
    "block", [block for block in EVERY_BLOCK if block.language in {"json", "toml", "yaml"}], ids=str
)
def test_an_example_can_be_parsed(block):
    parsers: dict[str, Callable[[str], object]] = {
        "json": json.loads,
        "toml": tomllib.loads,
        "yaml": yaml.safe_load,
    }
    parsers[block.language](block.text)


@pytest.mark.parametrize("page", ["conditions", "content", "http-api"])
def test_the_example_of_a_request_body_fits_its_schema(page):
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    examples = re.findall(r"`POST (/\S+)`[^`]*\n\n```json\n(.*?)```", text, re.S)
    described = published_document()

    assert len(examples) == 1
    for path, example in examples:
        body = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        schema = {**body["schema"], "components": described["components"]}
        jsonschema_rs.validate(schema, json.loads(example))


def test_both_forms_of_the_example_are_the_same_condition() -> None:
    text, *_ = (block.text for block in BLOCKS["docs/conditions.md"] if block.language == "")
    form, *_ = (block.text for block in BLOCKS["docs/conditions.md"] if block.language == "json")

    assert parse_condition_document(json.loads(form)) == parse_condition(text.strip())


def test_every_block_of_a_page_is_fenced_without_a_directive() -> None:
    wrong = {}
    for path in PAGES:
        tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text("utf-8"))
        infos = " ".join(token.info for token in tokens if token.type == "fence")
        indented = {token.content for token in tokens if token.type == "code_block"}
        wrong[path] = indented | {*re.findall(r"\{([\w-]+)\}", infos)} - DIRECTIVES

    assert {path: texts for path, texts in wrong.items() if texts} == {}


def test_the_reason_why_a_block_is_not_run_names_existing_tests() -> None:
    named = {
        str(block): re.findall(r"tests/[\w/.]*\w", block.not_run or "") for block in EVERY_BLOCK
    }

    assert [
        (block, path)
        for block, paths in named.items()
        for path in paths
        if not (ROOT / path).exists()
    ] == []


@pytest.mark.parametrize("block", [block for block in EVERY_BLOCK if block.not_run], ids=str)
def test_a_block_that_is_not_run_is_valid(block, tmp_path):
    if block.language == "python":
        compile(block.text, str(block), "exec")
    elif block.language == "js":
        (tmp_path / "block.mjs").write_text(block.text, "utf-8")
        subprocess.run([str(NODE), "--check", str(tmp_path / "block.mjs")], check=True)
    else:
        assert block.language == "sh"
        subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
