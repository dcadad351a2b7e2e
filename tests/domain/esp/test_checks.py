"""Warnings about codes that users write."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recipient_fields.domain import ADMINISTRATOR, API, DataType, IntegrationId, sync_channel
from recipient_fields.domain.esp import BUILT_IN, CodeWarning, Esp, derive_codes, field_warnings
from recipient_fields.domain.esp.code_warnings import code_warnings
from recipient_fields.domain.esp.errors import NoSafeForm

from ...support.growth import assert_grows_linearly
from .strategies import ANY_TEXT, DEFAULTS, NAMES, ORDINARY_NAMES

EVERY_ESP = pytest.mark.parametrize("esp", BUILT_IN.esps)
BARE_DEFAULTS = {Esp("mailchimp"), Esp("customerio"), Esp("brevo"), Esp("activecampaign")}
"""Their defaults are between tags, so that delimiters of another dialect look like delimiters."""
MISSING = CodeWarning.EXPRESSION_MISSING
UNBALANCED = CodeWarning.UNBALANCED_DELIMITERS

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
    '%%[ SET @x = "{{" ]%%',
    '%%=v("{{")=%%',
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
    "%%[ {{ ]%%",
    "%%= {{ =%%",
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
    assert MISSING not in code_warnings(code, expression)


@pytest.mark.parametrize(("code", "expression"), NOT_CONTAINED)
def test_an_expression_that_is_not_contained_as_a_whole_is_reported_as_missing(code, expression):
    assert MISSING in code_warnings(code, expression)


@pytest.mark.parametrize("code", BALANCED)
def test_balanced_delimiters_cause_no_warning(code):
    assert code_warnings(code, None) == ()


@pytest.mark.parametrize("code", UNBALANCED_CODES)
def test_unbalanced_delimiters_are_reported(code):
    assert code_warnings(code, None) == (UNBALANCED,)


def test_warnings_are_sentences():
    assert [warning.value for warning in CodeWarning] == [
        "The insertion code does not contain the value expression.",
        "The insertion code has an opening or closing delimiter without a match.",
    ]


def test_a_code_can_have_both_warnings():
    assert code_warnings("{{tier", "points") == (MISSING, UNBALANCED)


def test_there_is_no_warning_without_an_insertion_code():
    assert code_warnings(None, "points") == ()


@EVERY_ESP
@given(data=st.data())
def test_a_derived_code_has_no_warnings(esp, data):
    name, default = data.draw(NAMES[esp]), data.draw(st.none() | DEFAULTS)
    standard = data.draw(st.booleans())
    try:
        codes = derive_codes(esp, name, standard=standard, default=default)
    except NoSafeForm:
        return
    code, expression = codes.insertion_code, codes.value_expression
    assert MISSING not in code_warnings(code, expression)
    if default is None or esp not in BARE_DEFAULTS:
        assert code_warnings(code, expression) == ()


@EVERY_ESP
@given(data=st.data())
def test_a_truncated_code_is_unbalanced(esp, data):
    name = data.draw(ORDINARY_NAMES[esp])
    assume(name not in BUILT_IN[esp].names.reserved)
    codes = derive_codes(esp, name)
    assert UNBALANCED in code_warnings(codes.insertion_code[:-1], None)


@given(code=ANY_TEXT, expression=ANY_TEXT)
def test_any_text_is_checked_without_an_error(code, expression):
    assert set(code_warnings(code, expression)) <= set(CodeWarning)
    if code.strip():
        assert MISSING not in code_warnings(f" {code} ", code)


@pytest.mark.parametrize("piece", ["{{", "%%=", "${", "*|", "|*", "%IF ", "{{ x }}", " |"])
def test_a_code_is_checked_in_linear_time(piece):
    def check(size):
        code_warnings((piece * size)[:size], (piece * size)[: size // 5])

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
    assert code_warnings("Dear{{ name }}s", "{{ name }}") == ()
