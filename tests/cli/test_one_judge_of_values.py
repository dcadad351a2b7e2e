"""A value of a recipient is judged alike by each command: one checker has all rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recipient_fields.application import Core
from recipient_fields.domain import (
    DataType,
    InvalidInput,
    OrganizationId,
    RecipientSchema,
)
from recipient_fields.domain.content import parse_content

from ..support.command_line import CommandLine, Run
from ..support.fields import add_field
from ..support.integrations import add_integration

FIELDS: Mapping[str, DataType] = {
    "born": DataType.DATE,
    "renewal": DataType.DATETIME,
    "visits": DataType.NUMBER,
    "vip": DataType.BOOLEAN,
    "sport": DataType.TEXT,
}
CONTENT = "".join(f"{{{{recipient.{key}}}}} " for key in FIELDS)
DAY = "2026-02-29"
NO_DAY = {"date": DAY}
NO_DATE = "There is no such date."
NO_TIME = "There is no such date or time."


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    for key, data_type in FIELDS.items():
        allowed = ["sports", "dance"] if key == "sport" else None
        add_field(core, acme, key, data_type=data_type, allowed_values=allowed)


@pytest.fixture
def preview(cli: CommandLine, acme: OrganizationId, tmp_path: Path) -> Callable[..., Run]:
    def run(content: str, recipient: object) -> Run:
        file = tmp_path / "recipient.json"
        file.write_text(json.dumps(recipient))
        command = ("content", "preview", "--organization", acme, "--recipient", file)
        return cli(*command, stdin=content)

    return run


@pytest.fixture
def check(cli: CommandLine, acme: OrganizationId, tmp_path: Path) -> Callable[[object], Run]:
    def run(recipient: object) -> Run:
        file = tmp_path / "recipients.jsonl"
        file.write_text(json.dumps(recipient) + "\n")
        return cli("recipients", "check", "--organization", acme, file)

    return run


def test_a_preview_lists_all_values_of_a_wrong_form_as_the_check_of_a_list_does(preview, check):
    recipient = {"born": "2026-02-29", "renewal": "2026-03-01", "visits": "x", "sport": "Dance"}
    reasons = [
        f"born: {NO_DATE}",
        "renewal: It has no time. Write a datetime like 2026-11-20T09:15:00.123Z.",
        "visits: A number field requires a number, such as 1.5.",
        "sport: Use one of sports, dance. Did you mean dance?",
    ]
    run = preview("{{recipient.born}}", recipient)
    assert (run.status, run.out) == (1, "")
    *lines, summary = run.err.splitlines()
    assert lines == [f"/{each}" for each in reasons]
    assert summary == "Error: There is no preview."
    lines = check(recipient).out.splitlines()
    assert [line.partition(":1: ")[2] for line in lines[:4]] == reasons


def test_a_preview_warns_of_a_value_that_is_not_allowed(preview):
    content = '{{recipient.sport}}: {{#if recipient.sport = "sports"}}game{{else}}swing{{/if}}'
    run = preview(content, {"sport": "Sports"})
    assert (run.status, run.out) == (0, "Sports: swing")
    assert run.err.splitlines() == [
        "Warning: /sport: Use one of sports, dance. Did you mean sports?",
        "The preview shows what a recipient with these values reads.",
    ]
    assert preview(content, {"sport": "sports"}).messages() == ""


def test_the_key_of_a_counterpart_means_the_same_field(core, acme, preview, check):
    add_field(core, acme, "Town")
    add_integration(core, acme, "mailchimp", "Main", "TOWN")
    content = '{{recipient.town}}{{#if recipient.town_1 = "Rome"}}!{{/if}}'
    for key in ("town", "town_1"):
        assert preview(content, {key: "Rome"}).out == "Rome!"
    twice = {"town": "Rome", "town_1": "Oslo"}
    message = "town_1: This is the same field as town. Remove one of both."
    assert message in preview(content, twice).err
    assert message in check(twice).out


VALUES = st.one_of(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2**53, [], {}]),
    st.sampled_from(["", " ", "sports", "Sports", "3", "true", "a\0b", "2026-11-20", "2026-02-29"]),
    st.sampled_from(["2026-11-20T09:15:00Z", "2026-02-29T09:15:00Z", "2026-11-20T10:00:00+01:00"]),
)
RECIPIENTS = st.dictionaries(st.sampled_from([*FIELDS, "other", "born "]), VALUES)


@given(recipient=RECIPIENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_preview_and_a_check_have_the_same_verdict(core, acme, recipient):
    names, _ = core.content.read_names(acme)
    expected = RecipientSchema.of(names.fields).check(recipient).violations
    try:
        shown = core.content.preview_content(acme, parse_content(CONTENT), recipient)
    except InvalidInput as invalid:
        found = invalid.violations
    else:
        found = shown.unlisted
    assert found == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("conditions", "check", 'born = date "2026-02-29"'), NO_DATE),
        (("conditions", "check", 'renewal = date "2026-02-29T00:00:00Z"'), NO_TIME),
        (
            ("conditions", "check", json.dumps({"field": "born", "op": "eq", "value": NO_DAY})),
            NO_DATE,
        ),
        (("fields", "list", "--as-of", "2026-02-29T00:00:00Z"), NO_TIME),
        (
            *[("fields", "create", "--name", "A", "--data-type", "date", "--allowed-values", DAY)],
            NO_DATE,
        ),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, tuple) else "",
)
def test_a_command_says_that_there_is_no_such_date(cli, acme, arguments, message):
    run = cli(*arguments, "--organization", acme)
    assert run.status != 0
    assert message in run.err


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (("content", "check"), f'{{{{#if recipient.born = date "{DAY}"}}}}{{{{/if}}}}', NO_DATE),
        (("recipients", "check"), f"born\n{DAY}\n", NO_DATE),
        (("recipients", "check"), f"renewal\n{DAY}T09:15:00Z\n", NO_TIME),
        (("recipients", "check", "--date-format", "D.M.YYYY"), "born\n29.2.2026\n", NO_DATE),
    ],
)
def test_a_command_says_of_a_file_that_there_is_no_such_date(
    cli, acme, tmp_path, arguments, text, message
):
    file = tmp_path / "file.txt"
    file.write_text(text)
    run = cli(*arguments, "--organization", acme, file)
    assert run.status != 0
    assert message in run.err + run.out
