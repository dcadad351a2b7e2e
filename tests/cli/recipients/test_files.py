"""The command `recipients check` for files of several kinds."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from recipient_fields.application import Core
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    DataType,
    OrganizationId,
)

from ...support.command_line import CommandLine, Run
from ...support.fields import add_field
from ...support.waiting import TIMEOUT

INVALID = 3
HEADER = "tier,shoe_size,born\n"
NUMBERS = "If the numbers have decimal commas, add --decimal ','.\n"
DATES = "If the dates have another format, use --date-format D.M.YYYY.\n"


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    add_field(core, acme, "Tier", allowed_values=["gold", "silver"])
    add_field(core, acme, "Shoe size", data_type=DataType.NUMBER)
    add_field(core, acme, "Born", data_type=DataType.DATE)
    add_field(core, acme, "Comment")


@pytest.fixture
def check(cli: CommandLine, acme: OrganizationId, tmp_path: Path) -> Callable[..., Run]:
    """Return a function that checks a file with this content."""

    def check(content: str | bytes, *arguments: str | Path, name: str = "list.csv") -> Run:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        run = cli("recipients", "check", path, "--organization", acme, *arguments)
        hidden = f"{tmp_path}/"
        return Run(run.status, run.out.replace(hidden, ""), run.err.replace(hidden, ""))

    return check


def summary(valid: int, invalid: int = 0) -> str:
    checked = valid + invalid
    return f"Checked {counted(checked, 'recipient')}: {valid} valid, {invalid} invalid.\n"


def test_invalid_rows_are_reported_by_line_field_and_rule(run, acme, tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(HEADER + 'gold,42,1990-01-31\ngolf,,\n,"42,5",31.01.1990\n')
    checked = run(acme, "recipients", "check", path)
    assert checked.status == INVALID
    assert checked.out.replace(f"{path}:", "") == (
        "3: tier: Use one of gold, silver. Did you mean gold?\n"
        "4: shoe_size: Write a number like 1234.5, without thousands separators.\n"
        "4: born: Write a date like 2026-11-20.\n"
        "\n"
        "FIELD      RULE           VIOLATIONS\n"
        "born       format         1\n"
        "shoe_size  type           1\n"
        "tier       unknown_value  1\n"
    )
    assert checked.err == summary(1, 2) + NUMBERS + DATES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"tier\n" + b"x" * 50_000_000,
            (
                "list.csv:2: The row is longer than 1,048,576 characters. Check that each quote is"
                " closed."
            ),
        ),
        (
            b"teir\n",
            (
                "list.csv:1: These columns are not recipient fields: teir (did you mean tier?)."
                " Remove them, or add --additional."
            ),
        ),
    ],
    ids=["long", "unknown"],
)
def test_a_file_is_rejected_with_one_line(check, content, message):
    assert check(content).failure() == message


def test_an_encoding_is_an_option(check):
    assert check("comment\nZoë\n".encode("cp1252"), "--encoding", "cp1252").status == 0


def test_json_lines_are_checked(check):
    checked = check('{"tier": "gold"}\n[]\n', name="a.jsonl")
    assert checked.status == INVALID
    assert checked.out.splitlines()[0] == "a.jsonl:2: The line must be a JSON object."
    usage = check("{}", "--integration", "7", name="a.jsonl").usage_error()
    assert usage == "--integration requires a file with columns."


def test_the_number_of_hidden_violations_is_shown(check):
    lines = check("tier\n" + "".join(f"x{n}\n" for n in range(102))).out.splitlines()
    assert lines[99:101] == [
        "list.csv:101: tier: Use one of gold, silver.",
        "… and 2 more violations.",
    ]
    assert lines[-1].split() == ["tier", "unknown_value", "102"]


def test_decimal_commas_are_rejected_with_a_hint_or_accepted(check):
    content = "tier;shoe_size\ngold;42,5\n"
    assert check(content).err == (
        summary(0, 1) + "If the numbers have decimal commas, add --decimal ','.\n"
    )
    assert check(content, "--decimal", ",").status == 0


def test_dates_and_booleans_can_be_written_as_in_europe(check, core, acme):
    add_field(core, acme, "VIP", data_type=DataType.BOOLEAN)
    content = "shoe_size;born;vip\n42,5;31.1.1990;Ja\n43;1.2.1991;nein\n"
    words = ("--true", "ja", "--false", "nein")
    checked = check(content, "--decimal", ",", "--date-format", "D.M.YYYY", *words)
    assert (checked.status, checked.err) == (0, summary(2))


def test_the_valid_and_the_invalid_rows_are_written_to_two_files(check, tmp_path):
    out, rejects = tmp_path / "good.csv", tmp_path / "bad.csv"
    arguments = ("--out", out, "--rejects", rejects)
    check(HEADER + 'gold,1,\n"go,ld",1,\nsilver\n=1+1,-2,\n', "--spreadsheet-safe", *arguments)
    assert out.read_text() == HEADER + "gold,1,\n"
    assert rejects.read_text() == (
        "tier,shoe_size,born,_line,_violations\n"
        '"go,ld",1,,3,"tier: Use one of gold, silver. Did you mean gold?"\n'
        'silver,,,4,"The row has 1 cell, and the header has 3."\n'
        '\'=1+1,-2,,5,"tier: Use one of gold, silver."\n'
    )
    check('{"tier": "gold"}\n{"tier": 1}\n', *arguments, name="list.jsonl")
    assert out.read_text() == '{"tier": "gold"}\n'
    [reject] = map(json.loads, rejects.read_text().splitlines())
    assert reject.items() > {"tier": 1, "_line": 2}.items()


def test_a_file_that_can_not_be_read_leaves_the_outputs_unchanged(check, tmp_path):
    out = tmp_path / "good.csv"
    out.write_text("before")
    assert check('tier\ngold\n"', "--out", out).status == 1
    assert out.read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"good.csv", "list.csv"}


class TestProgress:
    BAR = "Checking  [####################################]  100%"

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "list.csv"
        path.write_text("tier\n" + "gold\n" * 100_000 + "golf\n")
        return path

    def test_a_bar_at_a_terminal_shows_how_much_is_read(self, script, acme, path):
        status, shown = script.at_a_terminal(
            "recipients", "check", str(path), "--organization", acme
        )
        bars, _, report = shown.rpartition("100%")
        # A percentage is repeated when only the remaining time has changed.
        percentages = [int(each) for each in re.findall(r"(\d+)%", bars)]
        assert percentages == sorted(percentages)
        assert any(0 < each < 100 for each in percentages)
        assert status == INVALID
        # The report begins on a new line, and the cursor is visible again. Blanks overwrite the
        # remaining time, if there was one.
        end = f"\x1b[?25h\r\n{path}:100002: tier: Use one of gold, silver."
        assert report.lstrip(" ").startswith(end)

    def test_standard_input_from_a_file_has_a_bar(self, script, acme, path):
        with path.open("rb") as stdin:
            _, shown = script.at_a_terminal(
                "recipients", "check", "-", "--organization", acme, stdin=stdin
            )
        assert self.BAR in shown
        assert "\n<stdin>:100002: tier: " in shown

    def test_a_pipe_has_no_bar(self, script, acme, path):
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
            assert cat.stdout is not None
            _, shown = script.at_a_terminal(
                "recipients",
                "check",
                "-",
                "--organization",
                acme,
                stdin=cast("BinaryIO", cat.stdout),
            )
        assert "Checking" not in shown
        assert "\nChecked 100,001 recipients: 100,000 valid, 1 invalid." in shown


def test_a_pipe_is_read(script, acme, tmp_path):
    path = tmp_path / "list.jsonl"
    os.mkfifo(path)
    with script.start("recipients", "check", str(path), "--organization", acme) as process:
        path.write_bytes(b'{"tier": "gold"}\n' * 100_000)
        _, err = process.communicate(timeout=TIMEOUT)
    assert err == b"Checked 100,000 recipients: 100,000 valid, 0 invalid.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--delimiter", "ab"), "Invalid value for '--delimiter': use one character, or tab."),
        (
            ("--date-format", "dd.mm.yy"),
            "Use YYYY, MM and DD, once each and separated, such as DD.MM.YYYY.",
        ),
        (
            ("--true", "FALSE"),
            "Use different words for true and false, at least one for each.",
        ),
        (("--encoding", "x"), "use an encoding such as utf-8, utf-16 or cp1252."),
        (("--out", "a", "--rejects", "a"), "FILE, --out and --rejects must be different files."),
    ],
)
def test_wrong_options_are_usage_errors(check, arguments, message):
    assert check("tier\n", *arguments).usage_error().endswith(message)


def test_with_exit_zero_invalid_recipients_are_no_failure(check):
    assert check("tier\nGold\n", "--exit-zero").status == 0


@pytest.mark.parametrize("command", ["check", "infer"])
def test_a_file_that_can_not_be_opened_is_a_failure(run, acme, tmp_path, command):
    failure = run(acme, "recipients", command, tmp_path / "none.csv").failure()
    assert failure.endswith("none.csv': No such file or directory")
