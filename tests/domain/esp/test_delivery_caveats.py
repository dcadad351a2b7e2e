"""What stops or spoils an email at its ESP is a caveat before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import ADMINISTRATOR, DataType
from recipient_fields.domain.content import WarningCode, parse_content
from recipient_fields.domain.esp import Esp, ExportedContent, export_content
from recipient_fields.domain.integrations import FieldCodes

NAME = "{{recipient.name}}"


@pytest.fixture
def exported(make_field):
    """Export content with the fields `name`, `url` (text), `visits` and `vip` for an ESP."""

    def run(esp: Esp, source: str, *, code: str | None = None) -> ExportedContent:
        types: dict[str, Any] = {"url": "text", "visits": "number", "vip": "boolean"}
        fields = [
            make_field(ADMINISTRATOR, key="name", custom_insertion_code=code),
            *(
                make_field(ADMINISTRATOR, key=key, data_type=DataType(each))
                for key, each in types.items()
            ),
        ]
        return export_content(parse_content(source), FieldCodes.of(fields), esp)

    return run


def columns(exported: ExportedContent, code: WarningCode) -> list[int]:
    """Return the columns of the places with a warning of this code."""
    return [
        column
        for each in exported.warnings
        if each.code is code
        for column in (each.column, *(place.column for place in each.places))
    ]


MISSING = WarningCode.MISSING_VALUE_STOPS


@pytest.mark.parametrize(
    ("source", "places"),
    [
        (f"{NAME} {NAME}", [1, 20]),
        ('{{recipient.name | default: "you"}}', []),
        (f"{{{{#if recipient.name is set}}}}{NAME}{{{{/if}}}}", []),
        (f'{{{{#if recipient.name = "A" and recipient.vip}}}}{NAME}{{{{/if}}}}', []),
        (f"{{{{#if recipient.name is not set}}}}-{{{{else}}}}{NAME}{{{{/if}}}}", []),
        (f"{{{{#if recipient.url is set}}}}{NAME}{{{{/if}}}}", [29]),
        (f"{{{{#if recipient.name is set or recipient.vip}}}}{NAME}{{{{/if}}}}", [47]),
    ],
)
def test_customer_io_needs_a_value_or_a_guard(source, places, exported):
    assert columns(exported(Esp("customerio"), source), MISSING) == places
    assert columns(exported(Esp("braze"), source), MISSING) == []


@pytest.mark.parametrize(
    ("code", "is_bare"),
    [
        (None, False),
        ("%%First Name%%", True),
        ("%%=v(FirstName)=%%", True),
        ("%%=v([First Name])=%%", True),
        ("%%=v(@name)=%%", False),
        ('%%=v(AttributeValue("First Name"))=%%', False),
    ],
)
def test_salesforce_needs_the_attribute_of_a_bare_reference(code, is_bare, exported) -> None:
    assert bool(columns(exported(Esp("sfmc"), NAME, code=code), MISSING)) is is_bare


def test_written_code_with_a_default_needs_no_guard(exported) -> None:
    code = '{{customer.name | default: "you"}}'
    assert columns(exported(Esp("customerio"), NAME, code=code), MISSING) == []


def test_each_condition_of_hubspot_needs_a_programmable_email(exported) -> None:
    for condition in ("name is set", 'name = "A"', "visits > 3", "visits is set", "vip"):
        content = exported(Esp("hubspot"), f"{{{{#if recipient.{condition}}}}}x{{{{/if}}}}")
        assert columns(content, WarningCode.PROGRAMMABLE_EMAIL) == [1]
    assert columns(exported(Esp("hubspot"), NAME), WarningCode.PROGRAMMABLE_EMAIL) == []


def test_a_default_of_customer_io_is_right_in_both_liquids(exported) -> None:
    content = exported(Esp("customerio"), '{{recipient.name | default: "you"}}').content
    assert content == (
        '{% if customer.name != nil and customer.name != "" %}{{customer.name}}{% else %}you'
        "{% endif %}"
    )


def test_a_field_that_is_the_url_of_a_link_is_counted_by_salesforce(exported) -> None:
    link = '<a class="x" href="{{recipient.url}}">Shop</a>'
    content = exported(Esp("sfmc"), link).content
    assert content.endswith('<a class="x" href="%%=RedirectTo(@url)=%%">Shop</a>')
    for other in (
        '<a href="{{recipient.url}}?a=1">Shop</a>',
        '<a href="https://x/{{recipient.url}}">Shop</a>',
        '<img src="{{recipient.url}}">',
        '<a href="x" data-href="{{recipient.url}}">Shop</a>',
        "<p>{{recipient.url}}</p>",
    ):
        assert "RedirectTo" not in exported(Esp("sfmc"), other).content
    assert "RedirectTo" not in exported(Esp("braze"), link).content
    for quoted in ('<a title="x"href="{{recipient.url}}">', "<A\nHREF = '{{recipient.url}}'>"):
        assert "RedirectTo" in exported(Esp("sfmc"), quoted).content


def test_blocks_between_the_rows_of_a_table_break_at_sendgrid(exported) -> None:
    block = "{{#if recipient.vip}}x{{/if}}"
    between = f"<table><tr><td>a</td></tr>{block}</table>"
    code = WarningCode.BLOCK_IN_TABLE
    assert columns(exported(Esp("sendgrid"), between), code) == [27]
    assert columns(exported(Esp("sendgrid"), f"<table>{block}</table>"), code) == [8]
    for safe in (f"<table><tr><td>{block}</td></tr></table>", f"<table></table>{block}", block):
        assert columns(exported(Esp("sendgrid"), safe), code) == []
    assert columns(exported(Esp("iterable"), between), code) == []
    assert columns(exported(Esp("sendgrid"), f"<!-- <table> -->{block}"), code) == []


def test_nested_conditions_of_mailchimp_are_documented_for_transactional_emails(exported) -> None:
    code = WarningCode.NESTED_CONDITIONS
    inner = '{{#if recipient.url = "a"}}x{{/if}}'
    for nested in (
        f"{{{{#if recipient.name is set}}}}{inner}{{{{/if}}}}",
        "{{#if recipient.name is set and recipient.visits > 3}}x{{/if}}",
        '{{#if recipient.url is set}}{{recipient.name | default: "you"}}{{/if}}',
    ):
        assert columns(exported(Esp("mailchimp"), nested), code) == [1]
    for flat in (inner * 2, '{{recipient.name | default: "you"}}'):
        assert columns(exported(Esp("mailchimp"), flat), code) == []


def test_activecampaign_can_order_numbers_as_texts(exported) -> None:
    content = exported(Esp("activecampaign"), "{{#if recipient.visits > 99}}x{{/if}}")
    assert any("99 comes after 100" in each.message for each in content.warnings)
