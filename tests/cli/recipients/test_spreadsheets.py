"""What spreadsheets and databases do to values: the commands know it, and say what helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import DataType, OrganizationId

from ...support.command_line import CommandLine, Run
from ...support.fields import add_field

FIELDS = {
    "born": DataType.DATE,
    "signup": DataType.DATETIME,
    "number": DataType.TEXT,
    "amount": DataType.NUMBER,
    "city": DataType.TEXT,
}
DAY = "It looks like the number of a day in a spreadsheet."
DATE = "Write a date like 2026-11-20."
DATETIME = "Write a datetime like 2026-11-20T09:15:00.123Z."
COMPOSED, DECOMPOSED = "Z\u00fcrich", "Zu\u0308rich"
NOT_NFC = (
    "It has the letters of an allowed value, but its accents are characters of their own. Write it"
    f" in Unicode NFC. Did you mean {COMPOSED}?"
)


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    for key, data_type in FIELDS.items():
        add_field(core, acme, key, data_type=data_type)
    add_field(core, acme, "Home", allowed_values=[COMPOSED, "Basel"])


@pytest.fixture
def check(cli: CommandLine, acme: OrganizationId, tmp_path: Path) -> Callable[..., Run]:
    def run(text: str, *options: str) -> Run:
        file = tmp_path / "list.csv"
        file.write_bytes(text.encode())
        return cli("recipients", "check", "--organization", acme, file, *options)

    return run


@pytest.fixture
def infer(cli: CommandLine, tmp_path: Path) -> Callable[..., Run]:
    def run(text: str, *options: str) -> Run:
        file = tmp_path / "list.csv"
        file.write_bytes(text.encode())
        return cli("recipients", "infer", file, *options)

    return run


def reasons(run: Run) -> list[str]:
    """Return what the command says about each violation."""
    lines = run.out.partition("\n\n")[0].splitlines()
    return [line.partition(": ")[2] for line in lines]


@pytest.mark.parametrize("line", ["sep=;\r\n", "SEP=;\n", '\ufeff"sep=;"\r\n'])
def test_a_first_line_with_the_separator_is_no_header(check, infer, line):
    text = f"{line}city;number\r\nOslo, Norway;1,2\r\nRome\r\n"
    run = check(text)
    assert reasons(run) == ["The row has 1 cell, and the header has 2."]
    assert "list.csv:4: " in run.out
    assert "Checked 2 recipients: 1 valid, 1 invalid." in run.err
    assert "Proposed 2 fields for 1 recipient." in infer(text).err
    unknown = check(f"{line}city;numbr\r\n").failure()
    assert "list.csv:2: These columns are not recipient fields: numbr" in unknown
    assert "Checked 1 recipient: 1 valid, 0 invalid." in check("sep=\t\ncity\tnumber\na;b\t1\n").err
    assert check("sep=;\ncity,number\nOslo,1\n", "--delimiter", ",").status == 0


def test_numbers_that_can_be_dates_are_named(check, infer):
    text = "born,signup\n44197,1700000000\n43831,1700086400123\n"
    assert (
        reasons(check(text))
        == [
            f"born: {DAY} {DATE}",
            f"signup: It looks like a Unix time. {DATETIME}",
        ]
        * 2
    )
    notes = infer(text).err
    assert "born: Lines 2, 3: This can be the number of a day" in notes
    assert "signup: Lines 2, 3: This can be a Unix time" in notes
    assert "number of a day" not in infer("plz\n10115\n80331\n20095\n").err


@pytest.mark.parametrize(
    ("text", "date_reason", "datetime_reason"),
    [
        ("1/31/85", "Its year has only two digits. ", "Its year has only two digits. "),
        ("31.01.85", "Its year has only two digits. ", "Its year has only two digits. "),
        ("31-Jan-1985", "Its month is a word. ", "Its month is a word. "),
        ("31. Januar 1985", "Its month is a word. ", "Its month is a word. "),
        ('"March 3, 1985"', "Its month is a word. ", "Its month is a word. "),
        ("1985-01-31 00:00:00", "It has a time. ", ""),
        ("1985-01-31T00:00:00Z", "It has a time. ", None),
        ("1985-01-31", None, "It has no time. "),
        ("31.01.1985", "", "It has no time. "),
        ("44197", f"{DAY} ", f"{DAY} "),
        ("44197.5", f"{DAY} ", f"{DAY} "),
        ("1985", "", ""),
    ],
)
def test_the_reason_says_what_the_form_of_a_date_lacks(check, text, date_reason, datetime_reason):
    expected = [
        *([] if date_reason is None else [f"born: {date_reason}{DATE}"]),
        *([] if datetime_reason is None else [f"signup: {datetime_reason}{DATETIME}"]),
    ]
    assert reasons(check(f"born,signup\n{text},{text}\n")) == expected


def test_a_date_that_stands_for_none_is_named(check):
    no_date = "If it stands for no date, leave it empty."
    assert reasons(check("born\n0000-00-00\n")) == [f"born: There is no such date. {no_date}"]
    assert reasons(check("signup\n0000-00-00 00:00:00\n")) == [f"signup: {DATETIME} {no_date}"]


class TestTheHintAtADateFormat:
    def test_names_the_formats_that_read_the_dates(self, check):
        both = "--date-format D/M/YYYY or --date-format M/D/YYYY"
        hint = f"If the dates have another format, use {both}."
        assert hint in check("born\n03/04/1990\n").err
        run = check("born\n03/04/1990\n31/04/1990\n30/4/1990\n")
        assert "use --date-format D/M/YYYY.\n" in run.err


def test_a_format_with_two_digits_of_the_year_is_refused_with_the_reason(check):
    error = check("born\n1/31/85\n", "--date-format", "M/D/YY").usage_error()
    assert "Use YYYY instead of YY: a year of two digits has no century." in error


def test_numbers_without_their_last_digits_are_named_although_they_are_valid(check, infer):
    text = "number,amount\n1.23457E+11,1.5\n123456789012,1.2E+05\n1.23457E+11,3\n"
    run = check(text)
    assert (run.status, run.out) == (0, "")
    assert "number: 2 numbers, first in line 2: A spreadsheet may have left out" in run.err
    assert "amount: 1 number, first in line 3: " in run.err
    assert "left out" not in check("number,amount\n1.5e11,1e5\n123456789012,1.5\n").err
    inferred = infer(text)
    assert "number: Lines 2, 4: A spreadsheet may have left out" in inferred.err
    assert inferred.out.count("data_type: number") == 1


@pytest.mark.parametrize(
    ("damaged", "intact"),
    [
        ("1.23457E+11", "A-1001"),
        ("1.23457E+11", "00123456789"),
        ("44197", "2021-01-01"),
        ("1700000000", "2023-11-14T22:13:20Z"),
        ("1/31/85", "1985-01-31"),
        ("31-Jan-1985", "1985-01-31"),
    ],
)
def test_an_intact_value_is_not_blamed_for_the_others(infer, damaged, intact):
    values = [damaged] * 5 + [intact]
    notes = infer("\n".join(["column", *values, ""])).err
    assert "column: Lines 2, 3, 4, 5, 6: " in notes
    assert "Line 7" not in notes
    assert "without the value" not in notes


def test_a_damaged_value_among_dates_is_named(infer):
    err = infer("born\n2021-01-01\n2021-01-02\n44199\n1/4/21\n2021-01-05\n2021-01-06\n").err
    assert "born: Its data type would be date without the values in lines 4, 5." in err
    assert "born: Line 4: This can be the number of a day" in err
    assert "born: Line 5: The year has only two digits." in err


def test_the_same_letters_in_another_form_are_named(check, infer):
    assert reasons(check(f"home\n{COMPOSED}\n{DECOMPOSED}\n")) == [f"home: {NOT_NFC}"]
    run = check(f"city\n{COMPOSED}\n{DECOMPOSED}\nOslo\n{DECOMPOSED}\n")
    assert (run.status, run.out) == (0, "")
    assert "city: 2 texts, first in line 3: Its accents are characters of their own" in run.err
    inferred = infer("city\n" + f"{COMPOSED}\n{DECOMPOSED}\nBasel\n" * 3)
    assert "city: Lines 3, 6, 9: Accents are characters of their own" in inferred.err
    assert "can't be an allowed value" not in inferred.err
    assert "allowed_values" not in inferred.out
