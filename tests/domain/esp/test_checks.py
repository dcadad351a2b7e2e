"""Warnings about snippets that users write."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recipient_fields.domain import ADMINISTRATOR, API, DataType, IntegrationId, sync_channel
from recipient_fields.domain.esp import (
    DIALECTS,
    Esp,
    NoSafeForm,
    SnippetWarning,
    derive_snippet,
    field_warnings,
    snippet_warnings,
)

from ...support.growth import assert_grows_linearly
from .strategies import ANY_TEXT, DEFAULTS, NAMES, ORDINARY_NAMES

EVERY_ESP = pytest.mark.parametrize("esp", Esp, ids=lambda esp: esp.value)
BARE_DEFAULTS = {Esp.MAILCHIMP, Esp.ACTIVECAMPAIGN}
"""Their defaults are between tags, so that delimiters of another dialect look like delimiters."""
MISSING = SnippetWarning.EXPRESSION_MISSING
UNBALANCED = SnippetWarning.UNBALANCED_DELIMITERS

CONTAINED = [
    ("%%=v(@firstName)=%%", "@firstName"),
    ("%%=v(@FirstName)=%%", "@firstname"),
    ("%TIER%", "$TIER"),
    ("%IF $TIER != ''%x%/IF%", "$TIER"),
    ("{{ person | lookup:'City' }}", "person|lookup:'City'"),
    ("{{person|lookup:'City'}}", " person | lookup:'City' "),
    ("{{a}} {{ab}}", "ab"),
    ("{{#if tier}}{{tier}}{{/if}}", "tier"),
    ("{{[Lifetime Value]}}", "[Lifetime Value]"),
    ("plain text", "plain"),
]
NOT_CONTAINED = [
    ("%%=v(@firstName)=%%", "@first"),
    ("%%=v(@firstName)=%%", "@lastName"),
    ("*|TIER2|*", "TIER"),
    ("*|MYTIER|*", "TIER"),
    ("*|tier|*", "TIER"),
    ("%TIERS%", "$TIER"),
    ("%tier%", "$TIER"),
    ("{{ person|lookup:'City' }}", "person|lookup:'city'"),
    ("{{größe}}", "größ"),
    ("Hi", "[Lifetime Value]"),
]
BALANCED = [
    "plain",
    "50% off, } ] { [ | * %",
    "{{{tier}}}",
    "{{${first_name}}}",
    "{% if {{custom_attribute.${x}}} %}y{% endif %}",
    "%%[ SET @x = 1 ]%%%%=v(@x)=%%",
    "%%First Name%%",
    "*|IF:A|**|A|**|ELSE:|*b*|END:IF|*",
    "%IF $A == 1%%A%%ELSEIF $B%b%ELSE%c%/IF%",
    "%IF in_array('x', $TAGS)%y%/IF%",
    "${not a tag",
    '{{ {"a": 1}|tojson }}',
    "%%[ {{ ]%%",
    "%%= {{ =%%",
    "*| {{ |*",
]
UNBALANCED_CODES = [
    "{{tier",
    "{{tier}",
    "tier}}",
    "{{tier}} {{",
    "{{{tier}}",
    "{{custom_attribute.${tier}}",
    "{% if tier",
    "{% if tier }}",
    "endif %}",
    "%%=v(@x)",
    "v(@x)=%%",
    "%%[ SET @x = 1",
    "]%%",
    "%%=v(@x)]%%",
    "*|TIER",
    "TIER|*",
    "*|A*|B|*",
    "%%[ %%[ ]%%",
    "%%[ %%= ]%%",
    "%%[ =%% ]%%",
    "%%= %%= =%%",
    "%%= %%[ =%%",
    "%%= ]%% =%%",
    "{{ {{ }}",
    "{{ {{{ }} }}",
    "{{ {% }}",
    "{{ %} }}",
    "%TIER",
    "TIER%",
    "%IF $A%%A%%ELSE%b/IF%",
]


@pytest.mark.parametrize(("code", "expression"), CONTAINED)
def test_a_contained_expression_is_not_reported_as_missing(code, expression):
    assert MISSING not in snippet_warnings(code, expression)


@pytest.mark.parametrize(("code", "expression"), NOT_CONTAINED)
def test_an_expression_that_is_not_contained_as_a_whole_is_reported_as_missing(code, expression):
    assert MISSING in snippet_warnings(code, expression)


@pytest.mark.parametrize("code", BALANCED)
def test_balanced_delimiters_cause_no_warning(code):
    assert snippet_warnings(code, None) == ()


@pytest.mark.parametrize("code", UNBALANCED_CODES)
def test_unbalanced_delimiters_are_reported(code):
    assert snippet_warnings(code, None) == (UNBALANCED,)


def test_warnings_are_sentences():
    assert [warning.value for warning in SnippetWarning] == [
        "The insertion code does not contain the value expression.",
        "The insertion code has an opening or closing delimiter without a match.",
    ]


def test_a_snippet_can_have_both_warnings():
    assert snippet_warnings("{{tier", "points") == (MISSING, UNBALANCED)


def test_there_is_no_warning_without_an_insertion_code():
    assert snippet_warnings(None, "points") == ()


@EVERY_ESP
@given(data=st.data())
def test_a_derived_snippet_has_no_warnings(esp, data):
    name, default = data.draw(NAMES[esp]), data.draw(st.none() | DEFAULTS)
    standard = data.draw(st.booleans())
    try:
        snippet = derive_snippet(esp, name, standard=standard, default=default)
    except NoSafeForm:
        return
    code, expression = snippet.insertion_code, snippet.value_expression
    assert MISSING not in snippet_warnings(code, expression)
    if default is None or esp not in BARE_DEFAULTS:
        assert snippet_warnings(code, expression) == ()


@EVERY_ESP
@given(data=st.data())
def test_a_truncated_snippet_is_unbalanced(esp, data):
    name = data.draw(ORDINARY_NAMES[esp])
    assume(name not in DIALECTS[esp].reserved)
    snippet = derive_snippet(esp, name)
    assert UNBALANCED in snippet_warnings(snippet.insertion_code[:-1], None)


@given(code=ANY_TEXT, expression=ANY_TEXT)
def test_any_text_is_checked_without_an_error(code, expression):
    assert set(snippet_warnings(code, expression)) <= set(SnippetWarning)
    if code.strip():
        assert MISSING not in snippet_warnings(f" {code} ", code)


@pytest.mark.parametrize("piece", ["{{", "%%=", "${", "*|", "|*", "%IF ", "{{ x }}", " |"])
def test_a_code_is_checked_in_linear_time(piece):
    def check(size):
        snippet_warnings((piece * size)[:size], (piece * size)[: size // 5])

    assert_grows_linearly(check, lambda size: size, 10_000)


@pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
def test_an_api_or_manual_field_can_have_warnings(channel, make_field):
    field = make_field(
        channel, custom_insertion_code="{{tier", custom_value_expression="customer.tier"
    )
    assert field_warnings(field) == (MISSING, UNBALANCED)


def test_a_synced_field_has_no_warnings(make_field):
    field = make_field(
        sync_channel(IntegrationId(7)),
        data_type=DataType.TEXT,
        custom_insertion_code="{{tier",
        custom_value_expression="points",
    )
    assert field_warnings(field) == ()


def test_a_field_without_an_insertion_code_has_no_warnings(make_field):
    assert field_warnings(make_field()) == ()


def test_an_expression_with_punctuation_at_its_ends_may_be_inside_a_word():
    assert snippet_warnings("Dear{{ name }}s", "{{ name }}") == ()
