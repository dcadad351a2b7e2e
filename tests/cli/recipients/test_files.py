"""The command `recipients check` for files of several kinds."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recipient_fields.application import Core
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    Author,
    DataType,
    FieldDraft,
    IntegrationId,
    OrganizationId,
    sync_channel,
)

from ...support.command_line import CommandLine, Run, Script
from ...support.waiting import TIMEOUT

INVALID = 3
TIMES = "\N{MULTIPLICATION SIGN}"
HEADER = "tier,shoe_size,born\n"
NUMBERS = "If the numbers have decimal commas, add --decimal ','.\n"
DATES = (
    "If the dates have another format, add --date-format, for example --date-format DD.MM.YYYY.\n"
)
BOOLEANS = (
    "If other words mean true and false, add --true and --false, for example --true ja --false"
    " nein.\n"
)


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    for name, data_type, allowed in (
        ("Tier", DataType.TEXT, ["gold", "silver"]),
        ("Shoe size", DataType.NUMBER, None),
        ("Born", DataType.DATE, None),
        ("Comment", DataType.TEXT, None),
    ):
        draft = FieldDraft(name=name, data_type=data_type, allowed_values=allowed)
        core.fields.create_field(acme, draft)


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


def test_invalid_rows_are_reported_by_line_field_and_rule(
    run: Callable[..., Run], acme: OrganizationId, tmp_path: Path
) -> None:
    path = tmp_path / "list.csv"
    path.write_text(HEADER + "gold,42,1990-01-31\ngolf,,\n,big,31.01.1990\n")
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


READABLE = {
    "bom": b"\xef\xbb\xbftier,comment\ngold,x\n",
    "crlf": b"tier,comment\r\ngold,x\r\n",
    "line-break": b'tier,comment\ngold,"two\r\nlines, and a ""quote"""\n',
    "utf-16": "tier,comment\ngold,Zoë\n".encode("utf-16"),
    "semicolons": b"tier;comment\ngold;a,b\n",
    "tabs": b"tier\tcomment\ngold\tx\n",
    "no-last-break": b"tier,comment\ngold,x",
    "blank": b"tier,comment\n\ngold,x\n\n",
    "cr": b"tier,comment\rgold,x\r",
    "spreadsheet": b'\xef\xbb\xbf"tier";"comment"\r\n"gold";"a, b"\r\n',
    "unicode-text": "\ufefftier\tcomment\r\ngold\tZoë\r\n".encode("utf-16-be"),
}


@pytest.mark.parametrize("content", READABLE.values(), ids=list(READABLE))
def test_a_file_is_read(check: Callable[..., Run], content: bytes) -> None:
    checked = check(content)
    assert (checked.status, checked.err) == (0, summary(1))


UNREADABLE = {
    "empty": (b"", "list.csv: The first line must be a header with the keys of fields."),
    "repeated": (b"tier,comment,tier\n", "list.csv:1: Columns 1 and 3 have the same name, tier."),
    "same field": (b"tier,born,Tier\n", "list.csv:1: Columns 1 and 3 are the same field, tier."),
    "unnamed": (b"tier,\n", "list.csv:1: Column 2 has no name in the header."),
    "unknown": (
        b"teir\n",
        (
            "list.csv:1: These columns are not recipient fields: teir (did you mean tier?)."
            " Remove them, or add --additional."
        ),
    ),
    "quote": (
        b'tier,comment\ngold,x\ngold,"never\nclosed\n',
        (
            "list.csv:3: In the row that begins here, a quote is not closed or a value is"
            " longer than 131,072 characters."
        ),
    ),
    "latin-1": (
        "comment\nZoë\n".encode("latin-1"),
        (
            "list.csv: The text is not utf-8. Set the encoding, for example cp1252 for a list"
            " from Windows."
        ),
    ),
    "later": (
        ("comment\n" + "x\n" * 8_000 + "Zoë\n").encode("latin-1"),
        (
            "list.csv: The text after line 4,093 is not utf-8. Set the encoding, for example"
            " cp1252 for a list from Windows."
        ),
    ),
    "gzip": (gzip.compress(b"tier\n"), "list.csv is compressed with gzip. Decompress it first."),
    "zip": (
        b"PK\x03\x04",
        "list.csv is a ZIP archive or a spreadsheet. Export it as CSV first.",
    ),
    "long": (
        b"tier\n" + b"x" * 50_000_000,
        (
            "list.csv:2: The row is longer than 1,048,576 characters. Check that each quote is"
            " closed."
        ),
    ),
    "utf-16": (
        "tier\n".encode("utf-16-le"),
        ("list.csv:1: The line has a null character. Set the encoding, for example utf-16-le."),
    ),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_file_is_rejected_with_one_line(
    check: Callable[..., Run], content: bytes, message: str
) -> None:
    assert check(content).failure() == message


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_an_encoding_is_specified(check: Callable[..., Run], encoding: str) -> None:
    content = "comment\nZoë\n".encode(encoding)
    assert check(content, "--encoding", encoding).status == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_byte_order_mark_belongs_to_no_name(check: Callable[..., Run], encoding: str) -> None:
    content = "\ufefftier\ngold\n".encode(encoding)
    assert check(content, "--encoding", encoding).status == 0
    json_lines = '\ufeff{"tier": "gold"}\n'.encode(encoding)
    assert check(json_lines, "--encoding", encoding, name="a.jsonl").status == 0


def test_a_long_line_of_json_is_rejected_with_one_line(check: Callable[..., Run]) -> None:
    content = b'{"comment": "' + b"x" * 50_000_000 + b'"}\n'
    assert check(content, name="a.jsonl").failure() == (
        "a.jsonl:1: The row is longer than 1,048,576 characters. Check that each quote is closed."
    )


def test_a_row_with_another_number_of_cells_is_invalid(check: Callable[..., Run]) -> None:
    checked = check(HEADER + "gold\ngold,1,,x\n")
    assert checked.out.splitlines()[:2] == [
        "list.csv:2: The row has 1 cell, and the header has 3.",
        "list.csv:3: The row has 4 cells, and the header has 3.",
    ]


@pytest.mark.parametrize(
    ("value", "hint", "options"),
    [
        ("42,5;;", NUMBERS, ("--decimal", ",")),
        (";20.11.1990;", DATES, ("--date-format", "DD.MM.YYYY")),
        (";;ja", BOOLEANS, ("--true", "ja", "--false", "nein")),
    ],
)
def test_values_of_other_countries_are_rejected_with_a_hint_or_accepted(
    check: Callable[..., Run],
    core: Core,
    acme: OrganizationId,
    value: str,
    hint: str,
    options: tuple[str, ...],
) -> None:
    core.fields.create_field(acme, FieldDraft(name="VIP", data_type=DataType.BOOLEAN))
    content = f"shoe_size;born;vip\n{value}\n"
    assert check(content).err == summary(0, 1) + hint
    assert check(content, *options).status == 0


@pytest.mark.parametrize(("mark", "number"), [(".", "1.234,5"), (",", "1.234,5"), (",", "1,234.5")])
def test_thousands_separators_are_rejected(
    check: Callable[..., Run], mark: str, number: str
) -> None:
    checked = check(f"tier;shoe_size\ngold;{number}\n", "--decimal", mark)
    assert checked.out.startswith(
        f"list.csv:2: shoe_size: Write a number like 1234{mark}5, without thousands separators.\n"
    )
    assert checked.err == summary(0, 1) + (NUMBERS if mark == "." else "")


def test_json_lines_are_checked(check: Callable[..., Run]) -> None:
    checked = check('{"tier": "gold", "born": null}\n{"shoe_size": "1"}\n[]\n{\n', name="a.jsonl")
    assert checked.status == INVALID
    assert checked.out.splitlines()[:3] == [
        "a.jsonl:2: shoe_size: This is a text. Write the number 1 without quotes.",
        "a.jsonl:3: The line must be a JSON object.",
        "a.jsonl:4: The line is not JSON: column 2.",
    ]


def test_the_header_can_have_the_names_of_an_esp(
    check: Callable[..., Run], core: Core, acme: OrganizationId
) -> None:
    draft = FieldDraft(name="First name", data_type=DataType.NUMBER, esp_field_name="FNAME")
    core.fields.by(Author(sync_channel(IntegrationId(7)))).create_field(acme, draft)
    checked = check("FNAME\n1\nx\n", "--integration", "7")
    assert checked.out.startswith("list.csv:3: first_name: ")


def test_the_header_can_have_the_names_of_fields(check: Callable[..., Run]) -> None:
    assert check('Tier,"Shoe\nsize",born\ngold,42,\n').messages() == summary(1)


def test_equal_violations_of_equal_values_are_one_line(check: Callable[..., Run]) -> None:
    checked = check("tier,born\n" + "golf,\n" * 2060 + "gold,never\nGold,\n")
    assert checked.out.splitlines()[:3] == [
        f'list.csv:2: tier: "golf" {TIMES} 2,060: Use one of gold, silver. Did you mean gold?',
        "list.csv:2062: born: Write a date like 2026-11-20.",
        "list.csv:2063: tier: Use one of gold, silver. Did you mean gold?",
    ]


def test_equal_violations_of_rows_are_one_line(check: Callable[..., Run]) -> None:
    assert check("tier,born\n" + "gold\n" * 3).out.splitlines()[0] == (
        "list.csv:2: 3 times: The row has 1 cell, and the header has 2."
    )


def test_each_unknown_column_has_its_suggestion(check: Callable[..., Run]) -> None:
    assert check("teir,shoesize,xyz\n").failure() == (
        "list.csv:1: These columns are not recipient fields: teir (did you mean tier?), shoesize"
        " (did you mean shoe_size?), xyz. Remove them, or add --additional."
    )


def test_dates_and_booleans_can_be_written_as_in_europe(
    check: Callable[..., Run], core: Core, acme: OrganizationId
) -> None:
    core.fields.create_field(acme, FieldDraft(name="VIP", data_type=DataType.BOOLEAN))
    content = "shoe_size;born;vip\n42,5;31.1.1990;Ja\n43;1.2.1991;nein\n"
    words = ("--true", "ja", "--false", "nein")
    checked = check(content, "--decimal", ",", "--date-format", "D.M.YYYY", *words)
    assert (checked.status, checked.err) == (0, summary(2))


def test_only_the_first_100_violations_are_shown(check: Callable[..., Run]) -> None:
    lines = check("tier\n" + "".join(f"x{n}\n" for n in range(102))).out.splitlines()
    assert lines[99:101] == [
        "list.csv:101: tier: Use one of gold, silver.",
        "… and 2 more violations.",
    ]
    assert lines[-1].split() == ["tier", "unknown_value", "102"]


def test_the_valid_and_the_invalid_rows_are_written_to_two_files(
    check: Callable[..., Run], tmp_path: Path
) -> None:
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


def test_a_file_that_can_not_be_read_leaves_the_outputs_unchanged(
    check: Callable[..., Run], tmp_path: Path
) -> None:
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

    def test_a_bar_at_a_terminal_shows_how_much_is_read(
        self, script: Script, acme: OrganizationId, path: Path
    ) -> None:
        status, shown = script.at_a_terminal(
            "recipients", "check", str(path), "--organization", acme
        )
        bars, _, report = shown.rpartition("100%")
        assert [int(each) for each in re.findall(r"(\d+)%", bars)] == sorted(
            {int(each) for each in re.findall(r"(\d+)%", bars)}
        )
        assert 0 < int(re.findall(r"(\d+)%", bars)[1]) < 100
        assert status == INVALID
        # The report begins on a new line, and the cursor is visible again.
        assert report.startswith(f"\x1b[?25h\r\n{path}:100002: tier: Use one of gold, silver.")

    def test_standard_input_from_a_file_has_a_bar(
        self, script: Script, acme: OrganizationId, path: Path
    ) -> None:
        with path.open("rb") as stdin:
            _, shown = script.at_a_terminal(
                "recipients", "check", "-", "--organization", acme, stdin=stdin
            )
        assert self.BAR in shown
        assert "\n<stdin>:100002: tier: " in shown

    def test_a_pipe_has_no_bar(self, script: Script, acme: OrganizationId, path: Path) -> None:
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

    def test_a_parquet_file_has_a_bar(
        self, script: Script, acme: OrganizationId, tmp_path: Path
    ) -> None:
        path = tmp_path / "list.parquet"
        pq.write_table(pa.table({"shoe_size": pa.array(range(20_000))}), path)
        status, shown = script.at_a_terminal(
            "recipients", "check", str(path), "--organization", acme
        )
        assert " 50%" in shown
        assert self.BAR in shown
        assert status == 0


def test_a_pipe_is_read(script: Script, acme: OrganizationId, tmp_path: Path) -> None:
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
def test_wrong_options_are_usage_errors(
    check: Callable[..., Run], arguments: tuple[str, ...], message: str
) -> None:
    assert check("tier\n", *arguments).usage_error().endswith(message)


def test_with_exit_zero_invalid_recipients_are_no_failure(check: Callable[..., Run]) -> None:
    assert check("tier\nGold\n", "--exit-zero").status == 0


@pytest.mark.parametrize("command", ["check", "infer"])
def test_a_file_that_can_not_be_opened_is_a_failure(
    run: Callable[..., Run], acme: OrganizationId, tmp_path: Path, command: str
) -> None:
    failure = run(acme, "recipients", command, tmp_path / "none.csv").failure()
    assert failure.endswith("none.csv': No such file or directory")
