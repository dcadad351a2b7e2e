"""The runner of blocks reports the errors of a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from .blocks import Block, blocks_of
from .printed import assert_shown
from .running import BlockFailed, run_blocks


def run(page: str, folder: Path) -> list[str]:
    """Run a page, compare the output with the page, and return the output of each block."""
    folder.mkdir(exist_ok=True)
    outputs = []
    for block, output in run_blocks(blocks_of("page.md", page), folder, {}):
        if block.shows is not None:
            assert_shown(output, block.shows)
        outputs.append(output)
    return outputs


def fenced(language: str, text: str, *, comment: str = "") -> str:
    return f"{comment}\n\n```{language}\n{text}\n```\n"


def shown(language: str, text: str) -> Block:
    (block,) = blocks_of("page.md", fenced(language, text))
    return block


def test_blocks_of_a_page_share_a_folder_a_shell_and_a_process(tmp_path):
    page = (
        fenced("sh", "NAME=Ada; echo $NAME > name")
        + fenced("python", "from pathlib import Path\nname = Path('name').read_text()")
        + fenced("sh", "echo $NAME")
        + fenced("python", "print(name, end='')")
    )
    assert run(page, tmp_path / "page") == ["", "", "Ada\n", "Ada\n"]


def test_each_block_of_javascript_is_a_module(tmp_path):
    page = (
        fenced("js", "import { cwd } from 'node:process';\nconsole.log(cwd());")
        + fenced("js", "const cwd = await Promise.resolve('own');\nconsole.log(cwd);")
        + fenced("sh", "pwd")
    )
    folder = f"{tmp_path / 'page'}\n"
    assert run(page, tmp_path / "page") == [folder, "own\n", folder]


def test_a_missing_interpreter_fails_the_page(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BlockFailed, match="`bash` is missing"):
        run(fenced("sh", "true"), tmp_path / "page")


def test_a_different_output_is_detected(tmp_path):
    with pytest.raises(AssertionError, match="line 8"):
        run(fenced("sh", "echo one") + fenced("text", "two"), tmp_path / "page")


def test_additional_output_is_detected(tmp_path):
    with pytest.raises(AssertionError):
        run(fenced("sh", "echo one; echo two") + fenced("text", "one"), tmp_path / "page")


@pytest.mark.parametrize(
    "block",
    [
        fenced("sh", "echo printed; false; echo never"),
        fenced("sh", "echo printed; echo $NOT_SET"),
        fenced("sh", "echo printed; false | true"),
        fenced("sh", "echo printed; exit 0"),
        fenced("python", "print('printed')\n1 / 0"),
        fenced("python", "import sys\nprint('printed', flush=True)\nsys.exit()"),
        fenced("js", "console.log('printed');\nthrow new Error();"),
        fenced("js", "console.log('printed');\nawait Promise.reject(new Error());"),
        fenced("js", "console.log('printed');\nprocess.exit();"),
    ],
)
def test_a_block_that_fails_or_exits_fails_the_page(block, tmp_path):
    with pytest.raises(BlockFailed, match=r"page.md, line 3 failed:\nprinted\n"):
        run(block, tmp_path / "page")


def test_a_block_that_does_not_end_fails_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.running.SECONDS", 0.3)
    with pytest.raises(BlockFailed, match="did not end"):
        run(fenced("sh", "sleep 60"), tmp_path / "page")


def test_a_port_on_a_page_is_replaced_by_a_free_one(tmp_path):
    page = (
        fenced(
            "sh", "python -m http.server --bind 127.0.0.1 $(echo 127.0.0.1:8080 | cut -d: -f2) &"
        )
        + fenced("sh", "exec 3<>/dev/tcp/127.0.0.1/$(echo 127.0.0.1:8080 | cut -d: -f2)")
        + fenced("sh", "echo 127.0.0.1:8080")
        + fenced("text", "127.0.0.1:8080")
    )
    assert len(run(page, tmp_path / "page")) == 3


def test_a_marked_block_is_not_run(tmp_path):
    page = fenced("sh", "false", comment="<!-- not run: it fails -->")

    assert run(page, tmp_path / "page") == []
    assert [block.not_run for block in blocks_of("page.md", page)] == ["it fails"]


def test_a_mark_applies_only_to_the_next_block() -> None:
    page = fenced("sh", "false", comment="<!-- not run: it fails -->") + fenced("sh", "true")

    assert [block.runs for block in blocks_of("page.md", page)] == [False, True]


@pytest.mark.parametrize(
    ("output", "block"),
    [
        ("key rfk_ab, until 9\n", shown("text", "key …, until 9")),
        ("at 2026-01-01T00:00:00.000Z\n", shown("text", "at 2026-11-20T09:15:00.123Z")),
        ('{"b": 1, "a": [2]}', shown("json", '{"a": [2],\n "b": 1}')),
        ("HTTP/1.1 204 No\r\nA: 1\r\nB: 2\r\n\r\n", shown("http", "HTTP/1.1 204 No\nb: 2\n")),
    ],
)
def test_variable_parts_can_differ(output, block):
    assert_shown(output, block)


@pytest.mark.parametrize(
    ("output", "block"),
    [
        ("key rfk_ab\nuntil 9\n", shown("text", "key …, until 9")),
        ("at 2026-01-01\n", shown("text", "at 2026-11-20")),
        ('{"a": 1}', shown("json", '{"a": true}')),
        ("HTTP/1.1 200 OK\r\nB: 2\r\n\r\n", shown("http", "HTTP/1.1 204 No\nb: 2\n")),
        ("HTTP/1.1 204 No\r\nB: 1\r\n\r\n", shown("http", "HTTP/1.1 204 No\nb: 2\n")),
        ("HTTP/1.1 200 OK\r\n\r\n[1]", shown("http", "HTTP/1.1 200 OK\n\n[2]")),
    ],
)
def test_every_other_difference_is_detected(output, block):
    with pytest.raises(AssertionError):
        assert_shown(output, block)
