"""Filters are exported in the form of each ESP, or refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import ADMINISTRATOR, DataType, RecipientField
from recipient_fields.domain.content import InvalidContent, WarningCode, WarningKind, parse_content
from recipient_fields.domain.content.filters import FilterName
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportedContent,
    ExportOptions,
    derive_codes,
    export_content,
)
from recipient_fields.domain.esp.filtered_codes import UNKNOWN
from recipient_fields.domain.esp.profiles.profile import FilterForm, FilterRefusal, Strength
from recipient_fields.domain.integrations import FieldCodes

from ...support.stories import stories
from .export_stories import told

TYPES = {
    "city": DataType.TEXT,
    "visits": DataType.NUMBER,
    "born": DataType.DATE,
    "seen": DataType.DATETIME,
}
EXAMPLES = {
    FilterName.UPPER: "city | upper",
    FilterName.LOWER: "city | lower",
    FilterName.TITLE: "city | title",
    FilterName.TRUNCATE: "city | truncate: 20",
    FilterName.URL: "city | url",
    FilterName.NUMBER: "visits | number: 2",
    FilterName.DATE: 'seen | date: "long"',
    **{
        name: f"visits | {name.value}: 2 | number: 1"
        for name in (FilterName.PLUS, FilterName.MINUS, FilterName.TIMES)
    },
    FilterName.FIRST: "tags | first",
    FilterName.JOIN: 'tags | join: ", "',
}
LISTS = (FilterName.FIRST, FilterName.JOIN)


def example(name: FilterName) -> str:
    """Return a reference with the filter."""
    return f"{{{{{'event' if name in LISTS else 'recipient'}.{EXAMPLES[name]}}}}}"


EVERY_FILTER = pytest.mark.parametrize(
    ("esp", "name"),
    [
        pytest.param(esp, name, id=f"{esp}-{name.value}")
        for esp in BUILT_IN.esps
        for name in FilterName
    ],
)


@pytest.fixture
def field(make_field):
    """Make a field of an administrator for the ESP, with derived codes or another one."""

    def make(esp: Esp, key: str, code: str | None = None) -> RecipientField:
        codes = derive_codes(esp, esp_name(esp, key))
        return make_field(
            ADMINISTRATOR,
            key=key,
            data_type=TYPES[key],
            custom_insertion_code=code,
            custom_value_expression=codes.value_expression,
        )

    return make


def esp_name(esp: Esp, key: str) -> str:
    return key.upper() if esp in {Esp("mailchimp"), Esp("brevo"), Esp("activecampaign")} else key


@pytest.fixture
def export(field):
    """Export content for the ESP, with one field of each type that filters accept."""

    def run(esp: Esp, source: str, **options: Any) -> ExportedContent:
        fields = [field(esp, key, options.pop(key, None)) for key in TYPES]
        return export_content(
            parse_content(source), FieldCodes.of(fields), esp, ExportOptions(**options)
        )

    return run


@pytest.fixture
def refusal(export):
    """Export a reference, and return why it is refused."""

    def run(esp: Esp, reference: str, **options: object) -> str:
        root = "event" if reference.startswith("tags") else "recipient"
        with pytest.raises(InvalidContent) as invalid:
            export(esp, f"{{{{{root}.{reference}}}}}", **options)
        (violation,) = invalid.value.violations
        return violation.message

    return run


STORIES = r"""
# a filter has the form of the ESP
braze: {{recipient.city | upper}} => {{custom_attribute.${city} | upcase}}
customerio: {{recipient.city | truncate: 9 | upper}}
  => {{customer.city | truncate: 9, "…" | upcase}}
klaviyo: {{recipient.city | upper}} => {{ person|lookup:'city'|default_if_none:''|upper }}
iterable: {{recipient.city | lower | title}} => {{capitalize (lower (lower city))}}
iterable: {{recipient.born | date: "us"}} => {{dateFormat born format="MM/dd/yyyy" tz="UTC"}}
mailchimp: {{recipient.city | title}} => *|TITLE:CITY|*
customerio: {{recipient.visits | plus: 1.5 | times: -2 | number: 0}}
  => {% if customer.visits != nil and customer.visits != "" %}
    {{ customer.visits | plus: 1.5 | times: -2 | round }}{% endif %}
brevo: {{recipient.city | title}} => {{ contact.CITY|default_if_none:''|title }}
# the result of a filter has the form of the surface
braze, surface=html: {{recipient.city | upper}} => {{custom_attribute.${city} | upcase | escape}}
braze, surface=text: {{recipient.city | upper}} => {{custom_attribute.${city} | upcase}}
iterable, surface=text: {{recipient.city | upper}} => {{{upper city}}}
iterable, surface=html: {{recipient.city | upper}} => {{upper city}}
klaviyo, surface=subject: {{recipient.born | date: 'iso'}}
  => {% if person|lookup:'born' %}
    {{ person|lookup:'born'|default_if_none:''|format_date_string|date:'Y-m-d' }}{% endif %}
klaviyo, surface=subject: {{recipient.city | upper}}
  => {{ person|lookup:'city'|default_if_none:''|upper|default_if_none:''|safe }}
braze, surface=html: {{recipient.city | url}}
  => {{custom_attribute.${city} | url_encode | replace: "+", "%20"}}
# a default is written in a block
braze: {{recipient.city | upper | default: "there"}}
  => {% if custom_attribute.${city} != nil and custom_attribute.${city} != "" %}
    {{custom_attribute.${city} | upcase}}{% else %}there{% endif %}
braze: {{recipient.city | upper}} => {{custom_attribute.${city} | upcase}}
sendgrid: {{recipient.born | date: "iso" | default: "there"}}
  => {{#if born}}{{formatDate born "YYYY-MM-DD"}}{{else}}there{{/if}}
sendgrid: {{recipient.born | date: "iso"}} => {{#if born}}{{formatDate born "YYYY-MM-DD"}}{{/if}}
mailchimp: {{recipient.city | upper | default: "there"}}
  => *|IF:CITY|**|UPPER:CITY|**|ELSE:|*there*|END:IF|*
mailchimp: {{recipient.city | upper}} => *|UPPER:CITY|*
sfmc: {{recipient.city | upper | default: "there"}}
  => %%[ SET @city = AttributeValue("city") ]%%%%[ IF (NOT EMPTY(@city)) THEN ]%%
    %%=Uppercase(@city)=%%%%[ ELSE ]%%there%%[ ENDIF ]%%
sfmc: {{recipient.city | upper}}
  => %%[ SET @city = AttributeValue("city") ]%%%%[ IF (NOT EMPTY(@city)) THEN ]%%
    %%=Uppercase(@city)=%%%%[ ENDIF ]%%
# what an ESP cannot write is refused
mailchimp: {{recipient.city | upper | url}}
  refused: …Mailchimp can apply only one filter to a value.
iterable: {{recipient.city | truncate: 3}} => refused: …At Iterable, its number must be at least 4.
iterable: {{recipient.city | url | upper}} => refused: …At Iterable, `url` must be the last filter.
sfmc: {{recipient.born | date: "weekday"}} => refused: …about the format of weekdays.
braze: {{recipient.city | upper | default: "{{x}}"}}
  refused: …no safe way to write { or } or \ here.
sfmc: {{recipient.city | upper | default: "5%"}} => refused: …add a space at its ends.
"""


@stories(STORIES)
def test_an_export(story, export):
    told(export, story)


@EVERY_FILTER
def test_an_esp_has_a_code_with_a_source_or_a_reason_for_each_filter(esp, name, export, refusal):
    form = BUILT_IN[esp].filters.forms.get(name, UNKNOWN)
    if isinstance(form, FilterRefusal):
        message = refusal(esp, EXAMPLES[name])
        events = BUILT_IN[esp].events
        reason = events if isinstance(events, str) and name in LISTS else form.reason
        assert message.endswith(reason.replace("{title}", BUILT_IN[esp].title))
        assert bool(form.source) is (form.strength is not Strength.NONE)
        return
    warnings = export(esp, example(name)).warnings
    assert form.source
    is_secondary = form.strength is Strength.SECONDARY
    texts = [each.message for each in warnings if each.code is WarningCode.SECONDARY_SOURCES]
    assert any(f"`{name.value}`" in each for each in texts) is is_secondary
    number = BUILT_IN[esp].filters.forms[FilterName.NUMBER]
    has_difference = bool(form.differences or form.difference_of_instants)
    if isinstance(number, FilterForm) and "number" in EXAMPLES[name]:
        has_difference = has_difference or bool(number.differences)
    assert any(each.code is WarningCode.FILTER_DIFFERENCE for each in warnings) is has_difference


@EVERY_FILTER
def test_the_code_of_a_filter_is_no_foreign_code_at_its_esp(esp, name, export):
    if isinstance(BUILT_IN[esp].filters.forms.get(name), FilterForm):
        code = export(esp, example(name)).content
        warnings = export_content(parse_content(code), FieldCodes.of([]), esp).warnings
        assert [each for each in warnings if each.code.kind is WarningKind.MISTAKE] == []


def test_a_filter_changes_no_code_that_a_person_has_written(refusal):
    message = refusal(Esp("braze"), "city | upper", city="{{custom_attribute.${city} | strip}}")
    assert "because its insertion code is not derived from a name." in message


@pytest.mark.parametrize(
    "source",
    [
        '<a href="https://a.example/?c={{recipient.city}}">',
        "<a href='/x?a=1&amp;c={{recipient.city | upper}}'>",
        '<img src = "https://a.example/?v={{recipient.visits}}&c={{recipient.city}}">',
        "See https://a.example/?c={{recipient.city}} now.",
    ],
)
def test_a_text_in_the_query_of_a_link_is_a_caveat(source, export):
    codes = [each.code for each in export(Esp("braze"), source).warnings]
    assert codes.count(WarningCode.UNENCODED_VALUE) == 1


@pytest.mark.parametrize(
    "source",
    [
        '<a href="https://a.example/?c={{recipient.city | url}}">',
        '<a href="https://a.example/?v={{recipient.visits}}">',
        '<a href="https://a.example/{{recipient.city}}">',
        '<a href="https://a.example/?c">{{recipient.city}}</a>',
        '<p title="What? {{recipient.city}}">Why? {{recipient.city}}',
        "https://a.example/?c Why {{recipient.city}}",
    ],
)
def test_other_values_in_links_are_no_caveat(source, export):
    codes = [each.code for each in export(Esp("braze"), source).warnings]
    assert WarningCode.UNENCODED_VALUE not in codes


def test_the_code_in_an_attribute_has_other_quotes(export):
    source = '<a href="/?c={{recipient.city | url}}" title="{{recipient.city | truncate: 9}}">'
    exported = export(Esp("braze"), source)
    assert "url_encode | replace: '+', '%20'}}" in exported.content
    assert "truncate: 9, '…' | escape}}" in exported.content
    assert WarningCode.QUOTES_IN_CODE not in [each.code for each in exported.warnings]
