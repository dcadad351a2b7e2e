"""The blocks of every page run and print the output on the page."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from .blocks import PAGES, ROOT, RUN, SHOWN, Block, blocks_of
from .printed import assert_shown
from .running import run_blocks

CONFIGURATION = {"", "ini", "nginx", "sql", "toml", "yaml"}
"""The languages of blocks that are neither run nor printed. A block without one is a diagram."""

BLOCKS = {
    str(path.relative_to(ROOT)): blocks_of(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    for path in PAGES
}
EVERY_BLOCK = [block for blocks in BLOCKS.values() for block in blocks]
PAGES_THAT_RUN = [page for page, blocks in BLOCKS.items() if any(block.runs for block in blocks)]

PREPARED = {"docs/calling-the-api.md": "demonstration", "docs/http-api.md": "demonstration"}
"""The fixture that a page requires. It returns the environment variables to set."""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_THAT_RUN)
def test_every_block_of_a_page_prints_the_shown_output(
    page: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    environment = request.getfixturevalue(PREPARED[page]) if page in PREPARED else {}

    folder = tmp_path / "page"
    folder.mkdir()
    for block, output in run_blocks(BLOCKS[page], folder, environment):
        if block.shows is not None:
            assert_shown(output, block.shows)
        else:
            assert output == "", f"{block} prints output that the page does not show"


@pytest.mark.parametrize("block", EVERY_BLOCK, ids=str)
def test_every_block_has_a_language_that_is_run_or_known(block: Block) -> None:
    assert block.language in RUN | SHOWN | CONFIGURATION


@pytest.mark.parametrize(
    "block", [block for block in EVERY_BLOCK if block.language == "text"], ids=str
)
def test_a_text_block_shows_the_output_of_the_block_before(block: Block) -> None:
    assert any(block is other.shows and other.runs for other in BLOCKS[block.page])


@pytest.mark.parametrize(
    "block", [block for block in EVERY_BLOCK if block.language in {"json", "toml"}], ids=str
)
def test_an_example_can_be_parsed(block: Block) -> None:
    {"json": json.loads, "toml": tomllib.loads}[block.language](block.text)


@pytest.mark.parametrize("block", [block for block in EVERY_BLOCK if block.not_run], ids=str)
def test_a_block_that_is_not_run_is_valid(block: Block) -> None:
    if block.language == "python":
        compile(block.text, str(block), "exec")
    else:
        assert block.language == "sh"
        subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
