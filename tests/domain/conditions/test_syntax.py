"""The text form of conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain.conditions import (
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Comparison,
    InvalidCondition,
    Not,
    Operator,
    TextPosition,
    format_condition,
    parse_condition,
)

from ...support.conditions import conditions
from ...support.growth import assert_grows_linearly
from ...support.messages import are_sentences

A, B, C = (Comparison(key, Operator.IS_TRUE) for key in "abc")
KIBIBYTES_64 = 64 * 1024


def error_of(text: str) -> str:
    with pytest.raises(InvalidCondition) as caught:
        parse_condition(text)
    (violation,) = caught.value.violations
    assert violation.path == ()
    assert are_sentences(violation.message)
    return violation.message


@pytest.mark.parametrize(
    ("text", "operator", "value"),
    [
        ('x = "gold"', Operator.EQUAL, "gold"),
        ("x != 3", Operator.NOT_EQUAL, 3),
        ("x < 3", Operator.LESS, 3),
        ("x <= 3", Operator.AT_MOST, 3),
        ("x > 3", Operator.GREATER, 3),
        ("x >= 3", Operator.AT_LEAST, 3),
        ('x in ("a", 3, true)', Operator.IN, ("a", 3, True)),
        ('x in ("a")', Operator.IN, ("a",)),
        ('x contains "a"', Operator.CONTAINS, "a"),
        ("x is set", Operator.IS_SET, None),
        ("x is not set", Operator.IS_NOT_SET, None),
        ("x", Operator.IS_TRUE, None),
    ],
)
def test_each_operator_has_a_text_form(text, operator, value):
    condition = parse_condition(text)
    assert condition == Comparison("x", operator, value)
    assert format_condition(condition) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"gold"', "gold"),
        ("'gold'", "gold"),
        ('"it\'s"', "it's"),
        (r"'it\'s \"here\" \\'", 'it\'s "here" \\'),
        ('""', ""),
        ('"e\N{COMBINING ACUTE ACCENT}"', "é"),
        ('"and (not)"', "and (not)"),
        ("0", 0),
        ("-1", -1),
        ("0.5", 0.5),
        ("-0.0", 0),
        ("3.0", 3),
        ("9007199254740991", 9007199254740991),
        ("-9007199254740991", -9007199254740991),
        ("true", True),
        ("false", False),
        ('date "2026-11-20"', date(2026, 11, 20)),
        ("date '2026-11-20'", date(2026, 11, 20)),
        ('date "2026-11-20T10:15:00+01:00"', datetime(2026, 11, 20, 9, 15, tzinfo=UTC)),
    ],
)
def test_each_kind_of_value_can_be_written(text, value):
    condition = parse_condition(f"x = {text}")
    assert condition == Comparison("x", Operator.EQUAL, value)
    assert isinstance(condition, Comparison)
    assert type(condition.value) is type(value)  # True equals 1, and 1 equals 1.0.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", '"it\'s"'),
        ('"\\', r'"\"\\"'),
        (1e-7, "0.0000001"),
        (-2.5, "-2.5"),
        (date(33, 1, 2), 'date "0033-01-02"'),
        (datetime(2026, 11, 20, 9, 15, tzinfo=UTC), 'date "2026-11-20T09:15:00.000Z"'),
    ],
)
def test_values_have_one_canonical_form(value, text):
    assert format_condition(Comparison("x", Operator.EQUAL, value)) == f"x = {text}"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a or b or c", AnyOf((A, B, C))),
        ("a and b and c", AllOf((A, B, C))),
        ("a or b and c", AnyOf((A, AllOf((B, C))))),
        ("(a or b) and c", AllOf((AnyOf((A, B)), C))),
        ("a or (b or c)", AnyOf((A, AnyOf((B, C))))),
        ("a and (b and c)", AllOf((A, AllOf((B, C))))),
        ("not a and b", AllOf((Not(A), B))),
        ("not (a and b)", Not(AllOf((A, B)))),
        ("not (a or b)", Not(AnyOf((A, B)))),
        ("not not a", Not(Not(A))),
    ],
)
def test_not_binds_more_tightly_than_and_which_binds_more_tightly_than_or(text, condition):
    assert parse_condition(text) == condition
    assert format_condition(condition) == text


def test_not_negates_a_whole_comparison():
    assert parse_condition("not x = 3") == Not(Comparison("x", Operator.EQUAL, 3))


def test_white_space_and_further_parentheses_do_not_matter():
    text = "\t( (a)\r\n and\n(not( b )) or c)  "
    assert parse_condition(text) == AnyOf((AllOf((A, Not(B))), C))
    assert parse_condition('x<=-3 or y in("a",2)') == parse_condition('x <= -3 or y in ("a", 2)')


@pytest.mark.parametrize("key", ["contains", "set", "date"])
def test_a_key_can_be_a_word_of_the_language_whose_place_differs(key):
    text = (
        f'{key} contains "a" and {key} is not set or {key} = date "2026-11-20" or not ({key})'
        f" and {key}"
    )
    condition = parse_condition(text)
    assert format_condition(condition) == text.replace(f"({key})", key)
    assert isinstance(condition, AnyOf)
    assert condition.conditions[2] == AllOf(
        (Not(Comparison(key, Operator.IS_TRUE)), Comparison(key, Operator.IS_TRUE))
    )


def test_the_positions_are_those_of_the_key_and_of_each_value():
    condition = parse_condition('a and\n  tier in ("gold",\n "silver")')
    assert isinstance(condition, AllOf)
    first, second = condition.conditions
    assert isinstance(first, Comparison)
    assert isinstance(second, Comparison)
    assert (first.position, first.value_positions) == (TextPosition(1, 1), ())
    assert second.position == TextPosition(2, 3)
    assert second.value_positions == (TextPosition(2, 12), TextPosition(3, 2))


EXPECTED_CONDITION = "Expected a condition, such as `visits > 3`."
EXPECTED_OPERATOR = "Expected an operator after the field, such as `=`."
EXPECTED_END = "Expected `and`, `or` or the end of the condition."
WRITE_DATE = "Write a date like 2026-11-20, or a date-time like 2026-11-20T09:15:00Z."
WRITE_TEXT = 'Write a text in quotes, such as "gold", and a boolean as true or false.'
WRITE_DATE_AFTER_WORD = 'Write a date as `date "2026-11-20"`.'
WRITE_NUMBER = "Write a number like 3, -1 or 0.5, without an exponent."
NO_COMMAS = "Write a number without commas, such as 1000 or 1.5."
NO_SUCH_TEST = 'Write `contains` for a part of a text, or compare the whole text: `tier = "gold"`.'
CLOSE = "Close this text with the same quote, on the same line."
ESCAPES = r"Write a backslash as `\\`: only `\\`, `\"` and `\'` are escapes."


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, EXPECTED_CONDITION),
        ("a and ", 7, EXPECTED_CONDITION),
        ("a or or b", 6, EXPECTED_CONDITION),
        ("()", 2, EXPECTED_CONDITION),
        ("true", 1, EXPECTED_CONDITION),
        ('"a" = x', 1, EXPECTED_CONDITION),
        ("3", 1, EXPECTED_CONDITION),
        ("é = 3 &", 7, EXPECTED_END),
        ("a)", 2, EXPECTED_END),
        ("x = 3 4", 7, EXPECTED_END),
        ("x = 5-3", 6, EXPECTED_END),
        ("(a", 3, "Expected `and`, `or` or `)`."),
        ("a b", 3, EXPECTED_OPERATOR),
        ("x === 3", 3, EXPECTED_OPERATOR),
        ("x == 3", 3, "Write `=` instead of `==`."),
        ("x <> 3", 3, "Write `!=` instead of `<>`."),
        ("x ≥ 3", 3, "Write `>=` instead of `≥`."),
        ("x &gt; 3", 3, "Write `>` instead of `&gt;`."),
        ("x = \u201cgold\u201d", 5, 'Write `"` instead of `\u201c`.'),
        ("x = &quot;gold&quot;", 5, 'Write `"` instead of `&quot;`.'),
        ("x = &ldquo;gold&rdquo;", 5, 'Write `"` instead of `&ldquo;`.'),
        ("x = &#34;gold&#34;", 5, 'Write `"` instead of `&#34;`.'),
        ("x = &#39;gold&#39;", 5, "Write `'` instead of `&#39;`."),
        ("x = &apos;gold&apos;", 5, "Write `'` instead of `&apos;`."),
        ("x = „gold“", 5, 'Write `"` instead of `„`.'),
        ("x = «gold»", 5, 'Write `"` instead of `«`.'),
        ("x &amp;&amp; y", 3, "Write `and` instead of `&amp;&amp;`."),
        ("x && y", 3, "Write `and` instead of `&&`."),
        ("x || y", 3, "Write `or` instead of `||`."),
        ("!x", 1, "Write `not` instead of `!`."),
        ("x\N{NO-BREAK SPACE}= 3", 2, "Write a space instead of this no-break space."),
        ("x\N{ZERO WIDTH SPACE} = 3", 2, "Delete this invisible character."),
        ("x starts with 'go'", 3, NO_SUCH_TEST),
        ("x like 'go%'", 3, NO_SUCH_TEST),
        ("x > 1,5", 6, NO_COMMAS),
        ("x > 1,000", 6, NO_COMMAS),
        ("x > 1.000,5", 10, NO_COMMAS),
        ("x not in (3)", 3, "Write `not` before the field, as in `not visits = 3`."),
        ("x = ", 5, 'Expected a value after `=`, such as "gold".'),
        ("x = y", 5, WRITE_TEXT),
        ("x in (y)", 7, WRITE_TEXT),
        ("x > 2026-11-20", 5, WRITE_DATE_AFTER_WORD),
        ("x = 2026-11-20T09:15:00Z", 5, WRITE_DATE_AFTER_WORD),
        ("x in (20.11.2026)", 7, WRITE_DATE_AFTER_WORD),
        ("x != 11/20/2026", 6, WRITE_DATE_AFTER_WORD),
        ("x != )", 6, 'Expected a value after `!=`, such as "gold".'),
        ("x >= y", 6, "Expected a value after `>=`, such as 3."),
        ("x = null", 5, "Write `is not set` instead of `= null`."),
        ("x != NULL", 6, "Write `is set` instead of `!= null`."),
        ("x > null", 5, "Expected a value after `>`, such as 3."),
        ("x in 3", 6, 'Expected values in parentheses after `in`, such as ("gold", "silver").'),
        ("x in ()", 7, 'Expected a value after `(`, such as "gold".'),
        ("x in (3,)", 9, 'Expected a value after `,`, such as "gold".'),
        ("x in (3 4)", 9, "Expected `,` or `)` after the value."),
        ("x contains 3", 12, 'Expected a text in quotes after `contains`, such as "gold".'),
        ("x = date 3", 10, 'Expected a text in quotes after `date`, such as "2026-11-20".'),
        ("x is null", 6, "Expected `set` or `not set` after `is`."),
        ("x is not", 9, "Expected `set` or `not set` after `is`."),
        ("a AND b", 3, "Write `and` in lower case."),
        ("NOT a", 1, "Write `not` in lower case."),
        ("x = True", 5, "Write `true` in lower case."),
        ('x = "gold', 5, CLOSE),
        ('x = "go\nld"', 5, CLOSE),
        (r'x = "gold\"', 5, CLOSE),
        ("x contains 'gold", 12, CLOSE),
        (r'x = "a\n"', 5, ESCAPES),
        (r'x = "\\\a"', 5, ESCAPES),
        ('x = "a\tb"', 5, "Remove line breaks and control characters."),
        ('x = "\ud800"', 5, "Remove line breaks and control characters."),
        ('x = "' + 256 * "a" + '"', 5, "A text in a condition has at most 255 characters."),
        ("x = 1e5", 5, WRITE_NUMBER),
        ("x = 01", 5, WRITE_NUMBER),
        ("x = .5", 5, WRITE_NUMBER),
        ("x = 5.", 5, WRITE_NUMBER),
        ("x = +1", 5, WRITE_NUMBER),
        ("x = 3px", 5, WRITE_NUMBER),
        ("x = \N{ARABIC-INDIC DIGIT THREE}", 5, WRITE_TEXT),
        ("x = 9007199254740992", 5, "An integer must be within ±9007199254740991."),
        ("x = " + 400 * "9", 5, "A number must be finite."),
        ('x = date "2026-02-29"', 10, "There is no such date."),
        ('x = date "2026-02-29T09:15:00Z"', 10, "There is no such date or time."),
        ('x = date "20.11.2026"', 10, WRITE_DATE),
        ('x = date "2026-11-20T09:15:00"', 10, WRITE_DATE),
        ('x = date "0001-01-01T00:00:00+01:00"', 10, WRITE_DATE),
    ],
)
def test_an_error_states_the_place_and_what_was_expected(text, column, message):
    assert error_of(text) == f"Line 1, column {column}: {message}"


def test_an_error_states_the_line():
    assert error_of("a and\r\n\n  x = ") == (
        'Line 3, column 7: Expected a value after `=`, such as "gold".'
    )


def test_a_text_of_255_characters_is_accepted():
    text = 255 * "a"
    assert parse_condition(f'x = "{text}"') == Comparison("x", Operator.EQUAL, text)


TOO_DEEP = f"Nest parentheses and `not` at most {MAX_DEPTH} levels deep."


def test_parentheses_can_be_nested_up_to_the_limit():
    assert parse_condition(MAX_DEPTH * "(" + "a" + MAX_DEPTH * ")") == A
    assert error_of((MAX_DEPTH + 1) * "(" + "a") == f"Line 1, column 14: {TOO_DEEP}"


def test_negations_can_be_nested_up_to_the_limit():
    parse_condition(MAX_DEPTH * "not " + "a")
    assert error_of((MAX_DEPTH + 1) * "not " + "a") == f"Line 1, column 53: {TOO_DEEP}"


@pytest.mark.parametrize(
    "text",
    ["(", "not ", "not (", "a or (", '"', "'", 'x = "', "\\", "=", "x = 9", "\n", " ", "x in ("],
    ids=repr,
)
def test_the_error_of_a_hostile_text_is_found_in_linear_time(text):
    assert_grows_linearly(error_of, lambda size: text * (size // len(text)), KIBIBYTES_64)


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        ("a", " or a"),
        ("a", "\nand a"),
        ("x in (1", ",1"),
        ('x = "', "\\\\"),
        ("x = 1", "1"),
        ('x = "', "\N{COMBINING ACUTE ACCENT}\N{COMBINING CEDILLA}"),
    ],
    ids=repr,
)
def test_long_text_is_parsed_in_linear_time(first, rest):
    def parse(text):
        with suppress(InvalidCondition):
            parse_condition(text)

    assert_grows_linearly(parse, lambda size: first + rest * (size // len(rest)), KIBIBYTES_64)


@given(conditions())
def test_the_text_of_a_condition_has_the_same_meaning(condition):
    text = format_condition(condition)
    parsed = parse_condition(text)
    assert parsed == condition
    assert format_condition(parsed) == text


@given(st.text() | st.text(st.sampled_from("ax()=<'\"\\,1.- \n")))
def test_any_text_is_a_condition_or_has_an_error_with_its_place(text):
    try:
        condition = parse_condition(text)
    except InvalidCondition as error:
        message = str(error)
    else:
        message = ""
        assert parse_condition(format_condition(condition)) == condition
    assert re.match(r"Line \d+, column \d+: |$", message)


@given(conditions(st.sampled_from([A, B, C])))
def test_no_parentheses_can_be_removed(condition):
    text = format_condition(condition)
    for shorter in without_one_pair(text):
        assert parse_condition(shorter) != condition


def without_one_pair(text: str) -> Iterator[str]:
    """Yield the text without each pair of parentheses."""
    opened: list[int] = []
    for index, character in enumerate(text):
        if character == "(":
            opened.append(index)
        elif character == ")":
            start = opened.pop()
            yield text[:start] + text[start + 1 : index] + text[index + 1 :]
