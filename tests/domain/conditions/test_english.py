"""Conditions as English sentences."""

from __future__ import annotations

import pytest

from recipient_fields.domain.conditions import describe, parse_condition


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("a = 'gold'", '`a` is "gold"'),
        ("a != 3", "`a` is not 3"),
        ("a < 3", "`a` is less than 3"),
        ("a <= 3", "`a` is at most 3"),
        ("a > 3", "`a` is greater than 3"),
        ("a >= 3", "`a` is at least 3"),
        ("a in ('x', 3)", '`a` is one of ("x", 3)'),
        ("a contains 'x'", '`a` contains "x"'),
        ("a is set", "`a` is set"),
        ("a is not set", "`a` is not set"),
        ("a", "`a` is true"),
        ("a = false", "`a` is false"),
        ('a = date "2026-11-20"', "`a` is 2026-11-20"),
        ('a < date "2026-11-20"', "`a` is before 2026-11-20"),
        ('a <= date "2026-11-20"', "`a` is at or before 2026-11-20"),
        ('a > date "2026-11-20T09:15:00Z"', "`a` is after 2026-11-20T09:15:00.000Z"),
        ('a >= date "2026-11-20"', "`a` is at or after 2026-11-20"),
        ('a in (date "2026-11-20")', "`a` is one of (2026-11-20)"),
        ("not a = 3", "`a` is not 3"),
        ("not a != 3", "`a` is 3"),
        ("not a < 3", "`a` is not less than 3"),
        ("not a <= 3", "`a` is not at most 3"),
        ("not a > 3", "`a` is not greater than 3"),
        ("not a >= 3", "`a` is not at least 3"),
        ("not a in (3)", "`a` is none of (3)"),
        ("not a contains 'x'", '`a` does not contain "x"'),
        ("not a is set", "`a` is not set"),
        ("not a is not set", "`a` is set"),
        ("not a", "`a` is not true"),
        ('not a < date "2026-11-20"', "`a` is not before 2026-11-20"),
        ("a or b", "`a` is true or `b` is true"),
        ("a or b and not c", "`a` is true or (`b` is true and `c` is not true)"),
        ("a and (b or c)", "`a` is true and (`b` is true or `c` is true)"),
        ("not (a and b)", "it is not true that (`a` is true and `b` is true)"),
        ("a and not not b", "`a` is true and (it is not true that `b` is not true)"),
    ],
)
def test_a_condition_has_an_english_sentence(text, clause):
    assert describe(parse_condition(text)) == f"The condition is true if {clause}."
