"""The preview shows what a recipient reads, and the checks find what does not fit the fields."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import API, DataType, IntegrationId, sync_channel
from recipient_fields.domain.conditions import InvalidRecipient
from recipient_fields.domain.content import (
    InvalidContent,
    parse_content,
    preview_content,
    read_content,
)
from recipient_fields.domain.content.preview import MAX_PREVIEW_LENGTH
from recipient_fields.domain.esp import check_content


@pytest.fixture(scope="session")
def fields(make_field):
    return [
        make_field(API, key="name"),
        make_field(API, key="visits", data_type=DataType.NUMBER),
        make_field(API, key="vip", data_type=DataType.BOOLEAN),
        make_field(API, key="born", data_type=DataType.DATE),
        make_field(API, key="seen", data_type=DataType.DATETIME),
        make_field(API, key="tier", allowed_values=["gold", "silver"]),
        make_field(sync_channel(IntegrationId(2)), key="city_2", esp_field_name="City"),
    ]


@pytest.mark.parametrize(
    ("source", "values", "text"),
    [
        ('Hi {{recipient.name | default: "you"}}!', {}, "Hi you!"),
        ('Hi {{recipient.name | default: "you"}}!', {"name": ""}, "Hi you!"),
        ("""<b title='{{recipient.name | default: "it's"}}'>""", {}, "<b title='it&#39;s'>"),
        ('<a href="/?q={{recipient.name | default: "a b"}}">', {}, '<a href="/?q=a%20b">'),
        ('<b>{{recipient.name | default: "<i>it\'s</i>"}}</b>', {}, "<b><i>it's</i></b>"),
        ('{{recipient.visits | default: "none"}}', {"visits": 0}, "0"),
        ('{{recipient.vip | default: "none"}}', {"vip": False}, "false"),
        ("{{recipient.visits}},{{recipient.visits}}", {"visits": 3.0}, "3,3"),
        ("{{recipient.visits}}", {"visits": 0.5}, "0.5"),
        ("{{recipient.visits}}", {"visits": 10**15}, "1000000000000000"),
        ("{{recipient.born}}", {"born": date(2026, 11, 20)}, "2026-11-20"),
        (
            "{{recipient.seen}}",
            {"seen": datetime(2026, 11, 20, 9, tzinfo=UTC)},
            "2026-11-20T09:00:00.000Z",
        ),
        ("{{recipient.name}}{{recipient.city_2}}", {"name": "<b>{{x}}"}, "<b>{{x}}"),
        ("{{recipient.city_2}}", {"city_2": "Bern"}, "Bern"),
        ("{{recipient.name | expression}}", {}, "{{recipient.name | expression}}"),
        ("{{#if recipient.vip}}a{{else if recipient.visits > 1}}b{{else}}c{{/if}}", {}, "c"),
        (
            "{{#if recipient.vip}}a{{else if recipient.visits > 1}}b{{else}}c{{/if}}",
            {"visits": 2},
            "b",
        ),
        ("{{#if recipient.vip}}{{recipient.name}}{{/if}}", {"vip": True, "name": "n"}, "n"),
    ],
)
def test_the_preview_shows_values_defaults_and_branches(source, values, text, fields):
    assert preview_content(parse_content(source), fields, values).content == text


def test_a_value_of_another_type_is_rejected(fields):
    with pytest.raises(InvalidRecipient):
        preview_content(parse_content("{{recipient.visits}}"), fields, {"visits": "3"})


def test_a_resolved_key_means_the_field_with_another_key(make_field):
    content = parse_content('{{recipient.town}}{{#if recipient.town = "Bern"}}!{{/if}}')
    place = make_field(sync_channel(IntegrationId(2)), key="place", esp_field_name="City")

    shown = preview_content(content, [place], {"place": "Bern"}, resolved={"town": "place"})

    assert (shown.content, shown.keys) == ("Bern!", ("place",))
    with pytest.raises(InvalidContent, match="There is no field with the key town"):
        preview_content(content, [place], {})


def test_a_preview_has_a_maximum_length(fields):
    content = parse_content("{{recipient.name}}" * 64)
    part = "x" * (MAX_PREVIEW_LENGTH // 64)

    shown = preview_content(content, fields, {"name": part})
    assert len(shown.content) == MAX_PREVIEW_LENGTH
    with pytest.raises(InvalidContent, match="more than 4,194,304 characters"):
        preview_content(content, fields, {"name": f"{part}x"})


NO_ORDER = "A boolean field does not support `>`. Use `=`, `!=`, `is set` or `is not set`."


def test_unknown_fields_and_unsuitable_conditions_are_reported_with_positions(fields):
    source = (
        '{{recipient.nam}}\n{{#if recipient.tier = "golden" or recipient.vip > 1}}{{/if}}'
        "{{#if recipient.nope}}{{/if}}"
    )
    with pytest.raises(InvalidContent) as invalid:
        check_content(parse_content(source), fields)
    assert [(v.message, v.suggestion) for v in invalid.value.violations] == [
        ("Line 1, column 1: There is no field with the key nam.", "name"),
        ("Line 2, column 24: This is not one of the field's allowed values.", "gold"),
        (f"Line 2, column 46: {NO_ORDER}", None),
        ("Line 2, column 78: There is no field with the key nope.", None),
    ]
    violation = invalid.value.violations[0]
    assert (violation.position.line, violation.position.column) == (1, 1)
    assert violation.reason == "There is no field with the key nam."


def test_errors_in_the_syntax_do_not_hide_unknown_keys(fields):
    source = "{{recipient.nam}}{{#if recipient.tear = 'gold' and recipient.visits > 1,5}}{{/if}}"
    with pytest.raises(InvalidContent) as caught:
        check_content(read_content(source), fields)
    assert {each.suggestion for each in caught.value.violations} == {None, "name", "tier"}


def test_content_that_fits_the_fields_passes_the_check(fields):
    content = parse_content("{{recipient.email}}{{#if recipient.vip}}{{recipient.name}}{{/if}}")
    checked = check_content(content, fields)
    assert (checked.keys, checked.warnings) == (("vip", "name"), ())


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_content_without_references_is_its_own_preview(text, fields):
    assert preview_content(parse_content(text), fields, {}).content == text
