"""Field names and other texts: one line, NFC, trimmed."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    FieldName,
    InsertionCode,
    InvalidField,
    Organization,
    OrganizationId,
    ValueExpression,
    character_violation,
    parse_organization_name,
)
from recipient_fields.domain.text import MAX_UNNORMALIZED_LENGTH, normalize_nfc

from ...support.growth import assert_grows_linearly

ANY_TEXT = st.text(st.characters(codec=None), max_size=300)
MARKS = "\u0300\u0301\u0308\u0313\u0315\u0323\u0344\u0345\u05b0\u0f71\u0f72\u0f73\u0f75\u0f81\u3099"
MARKED_TEXT = st.lists(
    st.text(MARKS, min_size=20, max_size=200) | st.sampled_from("ae\u00e9\u03b1\u1f82\u304b "),
    min_size=1,
    max_size=12,
).map("".join)
"""Runs of combining marks in any order, after characters that combine with some or none of them."""
UNPRINTABLE = {"Cc", "Cs"}


def test_a_name_is_trimmed():
    assert FieldName(" \t First name \n") == "First name"


def test_a_name_is_normalized_to_nfc():
    assert FieldName("Gro\u0308\u00dfe") == "Gr\u00f6\u00dfe"


SEPARATORS_AND_LONE_SURROGATES = (0x2028, 0x2029, 0xD800, 0xDFFF)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        *(("blank", text) for text in ("", " ", "\n", "\u2028", "\u00a0\u3000", "\x1f")),
        *(
            ("invalid_characters", f"a{chr(code)}b")
            for code in (*range(32), *range(127, 160), *SEPARATORS_AND_LONE_SURROGATES)
        ),
        ("too_long", "n" * 256),
        ("too_long", "\u0958" * 128),  # Normalization makes it longer.
    ],
    ids=lambda each: ascii(each)[:20],
)
def test_a_name_that_is_no_line_of_text_is_rejected(rule, text, raises_violations):
    with raises_violations(rule):
        FieldName(text)


@pytest.mark.parametrize(
    "text",
    ["\u202ename", "\u200b", "\u0301", "\U0001f469\u200d\U0001f680", "\ufffe", "\U0010ffff", "İ"],
    ids=["right to left", "zero width", "only a mark", "emoji", "noncharacter", "last", "dotted I"],
)
def test_an_unusual_name_does_not_change(text):
    assert FieldName(text) == text


def test_a_name_has_up_to_255_characters():
    assert len(FieldName("\U0001f680" * 255)) == 255


@pytest.mark.parametrize("marks", ["\u0313\u0300\u0345", "\u0313\u0345\u0300"])
def test_the_length_of_a_name_is_checked_after_trimming_and_normalization(marks):
    assert FieldName(" " * 9_000 + f"\u03b1{marks}" * 255) == "\u1f82" * 255


def test_a_huge_name_is_rejected_without_normalization(raises_violations):
    def check(name):
        with raises_violations("too_long"):
            FieldName(name)

    assert_grows_linearly(check, lambda size: "a" + "\u0315\u0300" * size, 20_000)


def test_unordered_marks_are_normalized_in_linear_time():
    assert_grows_linearly(normalize_nfc, lambda size: "\u0f73" * size, MAX_UNNORMALIZED_LENGTH)


def test_nfc_joins_at_most_four_code_points():
    decompositions = (unicodedata.normalize("NFD", chr(c)) for c in range(sys.maxunicode + 1))
    assert max(map(len, decompositions)) == 4


def test_a_character_of_marks_is_of_their_class_or_one_of_three():
    for character in map(chr, range(sys.maxunicode + 1)):
        parts = {unicodedata.combining(c) for c in unicodedata.normalize("NFD", character)}
        if unicodedata.combining(character):
            assert parts == {unicodedata.combining(character)}
        elif 0 not in parts:
            assert character in "\u0f73\u0f75\u0f81"


@given(ANY_TEXT | MARKED_TEXT)
def test_a_name_is_normalized_as_the_contract_says_or_rejected(text):
    expected = unicodedata.normalize("NFC", text).strip()
    allowed = 1 <= len(expected) <= 255 and not any(
        unicodedata.category(c) in UNPRINTABLE or c in "\u2028\u2029" for c in expected
    )
    try:
        assert (FieldName(text), allowed) == (expected, True)
    except InvalidField:
        assert not allowed


@given(ANY_TEXT)
def test_the_name_of_a_name_is_the_same(text):
    try:
        name = FieldName(text)
    except InvalidField:
        return
    assert FieldName(name) == name


@pytest.mark.parametrize(("kind", "longest"), [(InsertionCode, 10_000), (ValueExpression, 2_000)])
class TestAnEspOutput:
    def test_does_not_change(self, kind, longest):
        text = "  {{ contact.FNAME\u0301 }}\r\n\t\u2028"
        assert kind(text) == text

    def test_has_up_to_this_many_characters(self, kind, longest):
        assert len(kind("%" * longest)) == longest

    def test_is_rejected_if_it_is_longer(self, kind, longest, raises_violations):
        with raises_violations("too_long"):
            kind("%" * (longest + 1))

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            *((text, "blank") for text in ("", " ", "\r\n")),
            *((text, "invalid_characters") for text in ("a\0b", "a\ud800b", "a\udfffb")),
        ],
        ids=ascii,
    )
    def test_is_not_blank_and_can_be_stored(self, kind, longest, text, rule, raises_violations):
        with raises_violations(rule):
            kind(text)


@given(ANY_TEXT)
def test_only_null_and_characters_that_utf_8_can_not_encode_are_rejected(text):
    storable = "\0" not in text and text == text.encode(errors="ignore").decode()
    assert (character_violation(text) is None) is storable


def test_the_name_of_an_organization_is_normalized(noon):
    organization = Organization(id=OrganizationId(1), name=" Cafe\u0301 ", created_at=noon)
    assert organization.name == "Caf\u00e9"


@pytest.mark.parametrize(
    ("text", "rule"), [(" ", "blank"), ("o" * 256, "too_long"), ("a\nb", "invalid_characters")]
)
def test_an_invalid_name_of_an_organization_is_rejected(text, rule, raises_violations):
    with raises_violations(f"name: {rule}"):
        parse_organization_name(text)
