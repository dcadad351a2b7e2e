"""The check of a list: its columns and its report."""

from __future__ import annotations

import io

import pytest

from recipient_fields.application.ports.recipients import FileOptions
from recipient_fields.application.recipients.lists import ListOptions, RecipientList
from recipient_fields.domain import (
    Author,
    DataType,
    FieldDraft,
    IntegrationId,
    TextFormats,
    sync_channel,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, SetName
from recipient_fields.entrypoints.service.selection import open_recipients

from ...support.recipient_lists import Lists

TIMES = "\N{MULTIPLICATION SIGN}"
SEVEN = IntegrationId(7)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("tier,comment,tier\n", "Columns 1 and 3 have the same name, tier."),
        ("tier,born,Tier\n", "Columns 1 and 3 are the same field, tier."),
        ("tier,\n", "Column 2 has no name in the header."),
        (
            "teir,shoesize,xyz\n",
            (
                "These columns are not recipient fields: teir (did you mean tier?), shoesize (did"
                " you mean shoe_size?), xyz. Remove them, or add them."
            ),
        ),
    ],
    ids=["repeated", "same-field", "unnamed", "unknown"],
)
def test_columns_that_are_not_different_fields_are_rejected(lists, content, message):
    assert lists.refusal(content, additional_advice="add them") == f"list.csv:1: {message}"


def test_additional_columns_are_accepted_on_request(lists):
    assert lists.check("tier,xyz\ngold,1\n", additional=True).numbers == (1, 0)


def test_the_header_can_have_the_names_of_fields(lists):
    assert lists.check('Tier,"Shoe\nsize",born\ngold,42,\n').numbers == (1, 0)


def test_the_header_can_have_the_names_of_an_esp(lists):
    draft = FieldDraft(name="First name", data_type=DataType.NUMBER, esp_field_name="FNAME")
    author = Author(sync_channel(SEVEN))
    lists.core.fields.by(author).create_field(lists.organization_id, draft)
    checked = lists.check("FNAME\n1\nx\n", integration=SEVEN)
    assert checked.lines == [
        "3: first_name: Write a number like 1234.5, without thousands separators."
    ]
    assert lists.check("FNAME,tier\n1,gold\n", integration=SEVEN).numbers == (1, 0)
    assert "are not recipient fields: teir" in lists.refusal("teir\n", integration=SEVEN)
    assert lists.refusal("tier\n", integration=8) == (
        "Integration 8 has no fields. Check its id, or sync it first."
    )


class TestCounterparts:
    """Lists of an organization with a definition and two synced fields for it."""

    @pytest.fixture
    def klaviyo(self, lists: Lists) -> IntegrationId:
        core, ours = lists.core, lists.organization_id
        ids = [
            core.integrations.create_integration(ours, esp=esp, name="Main").id
            for esp in (Esp("braze"), Esp("klaviyo"))
        ]
        for integration_id, names in zip(ids, [["tier"], ["Tier", "City"]], strict=True):
            fields = [EspField(name=name, data_type=DataType.TEXT) for name in names]
            core.integrations.sync_fields(ours, integration_id, fields)
        return ids[1]

    @pytest.mark.usefixtures("klaviyo")
    @pytest.mark.parametrize("header", ["tier", "Tier", "tier_1", "tier_2"])
    def test_a_header_can_be_a_key_or_a_name(self, lists, header):
        assert lists.check(f"{header}\ngold\n").numbers == (1, 0)

    def test_an_esp_name_means_the_definition(self, lists, klaviyo):
        checked = lists.check("Tier,City,born\ngolf,Bern,\n", integration=klaviyo)
        assert checked.lines == ["2: tier: Use one of gold, silver. Did you mean gold?"]

    def test_a_name_by_convention_is_an_esp_name(self, lists):
        create = lists.core.integrations.create_integration
        mailchimp = create(lists.organization_id, esp=Esp("mailchimp"), name="Main").id
        assert lists.check("TIER\ngold\n", integration=mailchimp).numbers == (1, 0)

    def test_the_integration_that_has_unknown_columns_is_suggested(self, lists, klaviyo):
        lists.core.integrations.set_names(
            lists.organization_id,
            klaviyo,
            {"shoe_size": SetName("Shoes"), "comment": SetName("Note")},
        )
        assert lists.refusal("Note,Shoes,Email\n", integration_advice="take it") == (
            "list.csv:1: These columns are not recipient fields: Note, Shoes, Email. Remove them,"
            f" or accept additional values. Integration {klaviyo}, Main, has fields with these"
            " names: Note, Shoes. If the file is from there, take it."
        )
        assert "has fields" not in lists.refusal("Note,Email\n", integration=klaviyo)
        assert "has fields" not in lists.refusal("Email\n")

    @pytest.mark.usefixtures("klaviyo")
    def test_two_columns_for_one_field_are_refused(self, lists):
        refusal = lists.refusal("tier,tier_2\n")
        assert refusal == "list.csv:1: Columns 1 and 2 are the same field, tier."

    @pytest.mark.usefixtures("klaviyo")
    def test_two_members_for_one_field_are_a_violation(self, lists):
        rows = '{"tier": "gold", "tier_2": "x"}\n{"tier": null, "tier_2": "x", "tier_1": null}\n'
        assert lists.check(rows, "list.jsonl").lines == [
            "1: tier_2: This is the same field as tier. Remove one of both."
        ]

    def test_a_name_of_two_fields_is_ambiguous(self, lists):
        for key in ("one", "two"):
            draft = FieldDraft(name="Size", key=key, data_type=DataType.TEXT)
            lists.core.fields.create_field(lists.organization_id, draft)
        assert lists.refusal("tier,Size\n") == (
            "list.csv:1: Size is the name of several fields: one, two. Write a key instead."
        )
        assert lists.check("tier,Size\ngold,1\n", additional=True).numbers == (1, 0)


@pytest.mark.parametrize(
    ("content", "formats", "comma", "words", "dates"),
    [
        ("tier;shoe_size\ngold;42,5\n", TextFormats(), True, False, []),
        ("tier;shoe_size\ngold;big\n", TextFormats(), False, False, []),
        ("tier;shoe_size\ngold;1.5\n", TextFormats(decimal_mark=","), False, False, []),
        ("tier;shoe_size\ngolf;42\n", TextFormats(), False, False, []),
        ("born;vip\n20.11.1990;ja\n", TextFormats(), False, True, ["D.M.YYYY"]),
        ("born\n3/4/1990\n", TextFormats(), False, False, ["D/M/YYYY", "M/D/YYYY"]),
        ("born\n3/4/1990\n31/4/1990\n5/31/1990\n", TextFormats(), False, False, ["M/D/YYYY"]),
        ("born\n31/1/1990\n1/31/1990\n", TextFormats(), False, False, []),
        ("born\n31/1/1990\n", TextFormats(date_format="M/D/YYYY"), False, False, ["D/M/YYYY"]),
        ("born\n1990-2-3\n", TextFormats(), False, False, ["YYYY-M-D"]),
        ("born\n2026-02-29\n44197\n1/31/85\n0000-00-00\nnever\n", TextFormats(), False, False, []),
    ],
)
def test_the_hints_are_options_that_read_the_texts(lists, content, formats, comma, words, dates):
    hints = lists.check(content, formats=formats).report.hints
    assert (hints.decimal_comma, hints.words, list(hints.date_formats)) == (comma, words, dates)


def test_a_list_of_json_has_no_hints(lists):
    hints = lists.check('{"born": "31.1.1990", "shoe_size": "1,5"}\n', "list.jsonl").report.hints
    assert (hints.decimal_comma, list(hints.date_formats)) == (False, [])


class TestReport:
    def test_equal_violations_of_equal_values_are_one_finding(self, lists):
        checked = lists.check("tier,born\n" + "golf,\n" * 2060 + "gold,never\nGold,\n")
        assert checked.lines == [
            f'2: tier: "golf" {TIMES} 2,060: Use one of gold, silver. Did you mean gold?',
            "2062: born: Write a date like 2026-11-20.",
            "2063: tier: Use one of gold, silver. Did you mean gold?",
        ]

    def test_equal_violations_of_rows_are_one_finding(self, lists):
        checked = lists.check("tier,born\n" + "gold\n" * 3)
        assert checked.lines == ["2: 3 times: The row has 1 cell, and the header has 2."]

    def test_only_the_first_100_findings_are_kept_and_all_violations_counted(self, lists):
        report = lists.check("tier\n" + "".join(f"x{n}\n" for n in range(102))).report
        assert len(report.findings) == 100
        assert report.hidden == 2
        assert report.table() == [("tier", "unknown_value", "102")]

    def test_the_summary_has_the_numbers_of_rows(self, lists):
        report = lists.check("tier\n" + "gold\n" * 1_000 + "golf\n").report
        assert report.summary == "Checked 1,001 recipients: 1,000 valid, 1 invalid."


def test_a_caller_can_end_the_check_after_any_row(lists):
    rejects = io.BytesIO()

    def end_after_line_2() -> None:
        if rejects.getvalue().count(b"\n") == 2:
            raise TimeoutError

    names = lists.core.content.read_codes(lists.organization_id).names
    content = io.BytesIO(b"tier\n" + b"golf\n" * 3)
    with open_recipients(content, "list.csv", FileOptions()) as reader:
        recipients = RecipientList.of(reader, names, ListOptions())
        with reader.open_writer(rejects, rejects=True) as writer, pytest.raises(TimeoutError):
            recipients.check(rejects=writer, on_row=end_after_line_2)
    assert rejects.getvalue().count(b"golf") == 1
