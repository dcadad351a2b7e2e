"""The check of an uploaded list: its report, its rejects, and its limits."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Event
from time import monotonic
from typing import Any

import pytest

from recipient_fields.application.ports.recipients import RecipientReader
from recipient_fields.domain import DataType, closest_match
from recipient_fields.entrypoints.console import MAX_FILE_SIZE, MAX_FORM_SIZE
from recipient_fields.entrypoints.console.pages import Pages, StaticFiles
from recipient_fields.entrypoints.console.recipients import RecipientListCheck
from recipient_fields.entrypoints.console.requests import Cookies
from recipient_fields.entrypoints.service.selection import open_recipients

from ...support.growth import count_calls
from ...support.waiting import TIMEOUT
from ..browser import ORIGIN, Browser, Response
from ..conftest import Console

CHECK = ("action", "check")
REJECTS = ("action", "rejects")
Upload = Callable[..., Response]


@pytest.fixture
def upload(console: Console, dana: Browser) -> Upload:
    """Return a function that checks a list in an organization with two fields."""
    console.add_field(name="Tier", allowed_values=["gold", "silver"])
    console.add_field(name="Shoe size", data_type=DataType.NUMBER)
    return _upload_as(console, dana)


def _upload_as(console: Console, browser: Browser, page: str = "check") -> Upload:
    def upload(
        content: str | bytes,
        press: tuple[str, str] = CHECK,
        file_name: str = "list.csv",
        **changes: str,
    ) -> Response:
        return browser.upload(
            browser.get(f"{console.fields}/{page}"),
            "",
            content if isinstance(content, bytes) else content.encode(),
            press=press,
            name="list",
            file_name=file_name,
            changes=changes,
        )

    return upload


def test_the_list_of_fields_leads_to_the_check(console, upload):
    browser = console.signed_in("erin@acme.example")
    assert browser.get(console.fields).links["Check a list"] == f"{console.fields}/check"


def test_a_valid_list_has_a_report_without_violations(upload):
    page = upload("tier,shoe_size\ngold,42\nsilver,\n")

    assert page.status == 200
    assert "Checked 2 recipients: 2 valid, 0 invalid." in page.text
    assert "All recipients are valid" in page.text


def test_violations_are_reported_by_line_field_and_rule(upload):
    page = upload("tier,shoe_size\ngold,42\ngolf,\n,large\nsilver\n")

    assert "Checked 4 recipients: 1 valid, 3 invalid." in page.text
    assert "3 tier Use one of gold, silver. Did you mean gold?" in page.text
    assert "4 shoe_size Write a number like 1234.5, without thousands separators." in page.text
    assert "5 Row The row has 1 cell, and the header has 2." in page.text
    assert "tier Not an allowed value 1" in page.text


def test_the_first_100_violations_are_shown_and_all_are_counted(upload):
    page = upload("tier\n" + "".join(f"x{n}\n" for n in range(250)))

    assert page.text.count("Use one of gold, silver.") == 100
    assert "The first 100 with different values. There are 150 more violations." in page.text
    assert "tier Not an allowed value 250" in page.text


def test_rejects_of_a_csv_file_have_a_column_of_reasons(upload):
    response = upload("tier;shoe_size\ngold;42\ngolf;large\n", REJECTS)

    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="rejects.csv"'
    assert response.headers["cache-control"] == "no-store"
    assert response.html == (
        "tier;shoe_size;_line;_violations\n"
        "golf;large;3;tier: Use one of gold, silver. Did you mean gold? shoe_size: Write a number"
        " like 1234.5, without thousands separators.\n"
    )


def test_rejects_of_json_lines_contain_the_recipient_and_the_reasons(upload):
    response = upload('{"tier": "gold"}\n{"tier": 1}\n[]\n', REJECTS, "list.jsonl")

    assert response.headers["content-disposition"] == 'attachment; filename="rejects.jsonl"'
    rejects = [json.loads(line) for line in response.html.splitlines()]
    assert all(each.pop("_violations") for each in rejects)
    assert rejects == [{"tier": 1, "_line": 2}, {"_text": "[]", "_line": 3}]


@pytest.mark.parametrize(("purpose", "cell"), [("spreadsheets", "'=1+1"), ("programs", "=1+1")])
def test_rejects_for_spreadsheets_have_no_formulas(upload, purpose, cell):
    response = upload("tier\n=1+1\n", REJECTS, rejects=purpose)

    assert response.html.splitlines()[1].startswith(f"{cell},2,")


def test_a_list_without_rejects_shows_its_report_instead_of_an_empty_file(upload):
    page = upload("tier\ngold\n", REJECTS)

    assert "All recipients are valid" in page.text
    assert "content-disposition" not in page.headers


def test_options_are_applied_and_stay_chosen(upload):
    content = "tier;shoe_size;city\ngold;42,5;Zürich\n".encode("cp1252")
    assert "The text is not utf-8. Set the encoding" in upload(content).text
    options = {
        "date_format": "D.M.YYYY",
        "true": "ja, wahr",
        "decimal": "comma",
        "encoding": "cp1252",
        "additional": "true",
    }

    page = upload(content, **options)

    assert "All recipients are valid" in page.text
    assert options.items() <= dict(page.form().inputs).items()


def test_decimal_commas_are_suggested(upload):
    page = upload("tier;shoe_size\ngold;42,5\n")

    assert "Check with decimal commas Download rejects" in page.text
    checked = upload("tier;shoe_size\ngold;42,5\n", press=("proposal", "decimal=comma"))
    assert "All recipients are valid" in checked.text
    assert checked.form().value("decimal") == "comma"
    assert "Check with" not in upload("tier;shoe_size\ngold;large\n").text


def test_other_dates_and_words_are_suggested(console, upload):
    console.add_field(name="Born", data_type=DataType.DATE)
    console.add_field(name="VIP", data_type=DataType.BOOLEAN)

    page = upload("born;vip;shoe_size\n20.11.1990;ja;1,5\n")

    assert "Check with decimal commas and dates like 20.11.2026 Download rejects" in page.text
    assert "If other words mean true and false, enter them in the options below" in page.text


def test_columns_that_are_no_fields_are_a_note(upload):
    page = upload("email,tier,teir\na@example.com,gold,x\n")

    assert page.status == 200
    assert "Checked 1 recipient: 1 valid, 0 invalid." in page.text
    assert "These columns are not recipient fields: email, teir (did you mean tier?)." in page.text


def test_damaged_texts_are_named_also_if_all_recipients_are_valid(console, upload):
    console.add_field(name="Number", data_type=DataType.TEXT)

    page = upload("number\n1.23457E+11\n123456789012\n1.23458E+11\n")

    assert "All recipients are valid" in page.text
    assert "number: 2 numbers, first in line 2: A spreadsheet may have left out" in page.text


def test_a_header_can_contain_the_names_of_an_esp(console, upload):
    integration = console.sync_field("FNAME").origin.integration_id

    assert "FNAME" in upload("FNAME\nAnn\n").text
    checked = upload("FNAME\nAnn\n", integration=str(integration))
    json_lines = upload('{"FNAME": "Ann"}', file_name="a.jsonl", integration=str(integration))

    assert "Checked 1 recipient: 1 valid, 0 invalid." in checked.text
    assert "Only a CSV file can have ESP names." in json_lines.text


def test_a_viewer_checks_lists(console, upload, viewer):
    page = _upload_as(console, viewer)("tier\ngolf\n")

    assert page.status == 200
    assert "Did you mean gold?" in page.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Choose a file that is not empty."),
        (gzip.compress(b"0" * 10_000_000), "is compressed with gzip. Decompress it first."),
        (b"tier\n" + b"x" * (MAX_FILE_SIZE - 5), "The row is longer than 1,048,576 characters."),
        (b"teir\ngold\n", "These columns are not recipient fields: teir (did you mean tier?)."),
    ],
    ids=["empty", "gzip", "one-line", "unknown-column"],
)
def test_a_list_that_can_not_be_read_shows_the_reason(upload, content, message):
    began = monotonic()
    for press in (CHECK, REJECTS):
        page = upload(content, press)
        assert page.status == 422
        assert "The list was not checked" in page.text
        assert message in page.text
    assert monotonic() - began < 20


def test_unknown_columns_are_named_up_to_a_limit(upload):
    page = upload(",".join(f"column{number}" for number in range(50_000)) + "\n")

    assert "column9 and 49,990 more" in page.text
    assert "column10" not in page.text


def test_few_of_many_unknown_keys_are_compared_with_fields(console, upload):
    for number in range(100):
        console.add_field(name=f"Number of something {number}")
    line = json.dumps({f"nomber_of_somethin_{number}": 1 for number in range(4_900)}) + "\n"

    page = upload(line, file_name="list.jsonl")

    assert "There are 4,800 more violations." in page.text
    assert "(other)" in page.text
    assert count_calls(closest_match, lambda: upload(line, file_name="list.jsonl")) == 20


def test_the_name_of_the_file_is_shown_as_text(upload):
    page = upload("tier\ngold\n", file_name="<script>alert(1)<\x1b\u202e" + "a" * 200 + ".csv")

    assert page.status == 200
    assert "<script>alert" not in page.html
    assert "\x1b" not in page.html


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", b"--x--\r\n"),
        ("multipart/form-data; boundary=y", b"--x\r\n\r\n--x--\r\n"),
        ("multipart/form-data; boundary=" + "x" * 200, b"--x--\r\n"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="list"'),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n' * 1_000 + b"--x--\r\n",
        ),
    ],
    ids=["no-boundary", "another-boundary", "long-boundary", "incomplete", "many-parts"],
)
def test_a_body_that_is_no_form_is_rejected(console, dana, content_type, body):
    response = dana._send(
        "POST",
        f"{console.fields}/check",
        body=body,
        headers={"Origin": ORIGIN, "Content-Type": content_type},
    )

    assert response.status == 400
    assert "The form is not well-formed." in response.text


def test_a_file_of_10_mib_is_accepted_and_a_larger_form_gets_a_page(upload):
    start = b"tier,comment\n"
    row = b"gold," + b"x" * 994 + b"\n"
    count = (MAX_FILE_SIZE - len(start)) // len(row)

    checked = upload(start + row * count, additional="true")
    assert f"{count:,} valid" in checked.text
    page = upload(b"x" * MAX_FORM_SIZE)
    assert page.status == 413
    assert "This form has at most 10 MiB." in page.text


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"max_rejects_size": 1_000}, "The rejects are too large."),
        ({"max_seconds": 0.0}, "The check takes longer than 0 s of CPU time."),
    ],
)
def test_a_check_that_exceeds_a_limit_ends_with_a_reason(console, dana, limit, reason):
    console.add_field(name="Tier", allowed_values=["gold", "silver"])
    pages = Pages(StaticFiles.read(), Cookies(is_secure=False), origin=None)
    limited = RecipientListCheck(console.core, pages, open_recipients, **limit)
    console.app.add_route("/console/o/{organization_id:id}/fields/limited-check", limited)
    upload = _upload_as(console, dana, "limited-check")

    assert reason in upload("tier\n" + "x\n" * 100, REJECTS).text


def test_a_process_checks_one_list_at_a_time(console, dana):
    console.add_field(name="Tier")
    is_open, may_continue = Event(), Event()

    def wait_and_open(*arguments: Any) -> AbstractContextManager[RecipientReader]:
        is_open.set()
        assert may_continue.wait(TIMEOUT)
        return open_recipients(*arguments)

    pages = Pages(StaticFiles.read(), Cookies(is_secure=False), origin=None)
    waiting = RecipientListCheck(console.core, pages, wait_and_open)
    console.app.add_route("/console/o/{organization_id:id}/fields/waiting-check", waiting)
    first = _upload_as(console, dana, "waiting-check")
    second = _upload_as(console, console.signed_in("erin@acme.example"), "waiting-check")

    with ThreadPoolExecutor() as threads:
        checked = threads.submit(first, "tier\ngold\n")
        try:
            assert is_open.wait(TIMEOUT)
            rejected = second("tier\ngold\n")
        finally:
            may_continue.set()
        assert checked.result().status == 200

    assert rejected.status == 503
    assert "checks another list at the moment" in rejected.text
    assert second("tier\ngold\n").status == 200


def test_no_value_is_logged(upload, caplog):
    with caplog.at_level(logging.DEBUG):
        upload("tier\nsecret-value\n")
        upload("tier\nsecret-value\n", REJECTS)
        upload("secret-value\n")

    assert "secret-value" not in caplog.text
