"""Suggestions for misspelled words."""

from __future__ import annotations

from difflib import SequenceMatcher
from random import Random

import pytest

from recipient_fields.domain import closest_match

from ..support.growth import count_calls


@pytest.mark.parametrize("text", ["abcd", "abcx", "xbcd", "ABCD", "abcde", "abc", "acbd"])
def test_a_misspelled_word_matches_the_correct_word(text):
    assert closest_match(text, ["first_name", "abcd"]) == "abcd"


@pytest.mark.parametrize("text", ["", "abxy", "abcdexy", "colour", "\0"])
def test_a_word_with_a_similarity_below_75_percent_has_no_match(text):
    assert closest_match(text, ["abcd", "abcdefg"]) is None


def test_case_does_not_matter():
    assert closest_match("pionts", ["POINTS", "Tier"]) == "POINTS"
    assert closest_match("TEIR", ["POINTS", "Tier"]) == "Tier"


def test_the_most_similar_word_is_the_match():
    assert closest_match("first_nam", ["first_names", "first_name", "last_name"]) == "first_name"


def test_there_is_no_match_without_known_words():
    assert closest_match("abcd", []) is None


def test_a_word_of_more_than_64_characters_has_no_match():
    assert closest_match("a" * 64, ["a" * 64]) == "a" * 64
    assert closest_match("a" * 65, ["a" * 64]) is None


def test_few_of_many_words_with_the_same_characters_are_compared():
    random, characters = Random(1), "abcdefgh" * 8
    known = ["".join(random.sample(characters, 63)) for _ in range(1_000)]
    word = "".join(random.sample(characters, 64))

    assert count_calls(SequenceMatcher.ratio, lambda: closest_match(word, known)) == 8
