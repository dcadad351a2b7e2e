"""The keys that a condition implies to be set."""

from __future__ import annotations

import pytest

from recipient_fields.domain.conditions import parse_condition
from recipient_fields.domain.conditions.evaluation import keys_set_if


@pytest.mark.parametrize(
    ("condition", "if_true", "if_false"),
    [
        ("a is set", "a", ""),
        ("a is not set", "", "a"),
        ('a = "x"', "a", ""),
        ('a != "x"', "", "a"),
        ("a >= 3", "a", ""),
        ("a", "a", ""),
        ("not a is set", "", "a"),
        ("a is set and b is set", "ab", ""),
        ("a is set or b is set", "", ""),
        ("a is set or a > 3", "a", ""),
        ("a is not set or b is not set", "", "ab"),
        ("not (a is not set or b != 3)", "ab", ""),
    ],
)
def test_a_condition_implies_values(condition, if_true, if_false):
    parsed = parse_condition(condition)
    assert keys_set_if(parsed, holds=True) == set(if_true)
    assert keys_set_if(parsed, holds=False) == set(if_false)
