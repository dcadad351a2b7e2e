"""What somebody probably meant."""

from __future__ import annotations

import pytest

from recipient_fields.domain import closest_match


@pytest.mark.parametrize("text", ["abcd", "abcx", "xbcd", "ABCD", "abcde", "abc", "acbd"])
def test_a_slip_is_taken_for_the_word_that_was_meant(text):
    assert closest_match(text, ["first_name", "abcd"]) == "abcd"


@pytest.mark.parametrize("text", ["", "abxy", "abcdexy", "colour", "\0"])
def test_what_shares_less_than_three_quarters_with_every_word_is_no_slip(text):
    assert closest_match(text, ["abcd", "abcdefg"]) is None


def test_the_word_with_most_in_common_is_meant():
    assert closest_match("first_nam", ["first_names", "first_name", "last_name"]) == "first_name"


def test_nothing_is_near_where_nothing_is_known():
    assert closest_match("abcd", []) is None


def test_a_text_of_more_than_64_characters_is_not_looked_for():
    assert closest_match("a" * 64, ["a" * 64]) == "a" * 64
    assert closest_match("a" * 65, ["a" * 64]) is None
