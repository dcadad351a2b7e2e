"""Field keys, and their derivation from names."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recipient_fields.domain import (
    MAX_KEY_LENGTH,
    RESERVED_KEYS,
    FieldKey,
    InvalidField,
    derive_key,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=300)
NEARLY_KEYS = st.text("az09_", max_size=70)
RESERVED = "id key source type null none true false and or not in is if elif else endif for endfor"
STRICT_SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@pytest.mark.parametrize(
    "text", ["a", "first_name", "line_2", "a1", "f_0", "sys", "system_id", "ids"]
)
def test_strict_snake_case_is_a_key(text):
    assert FieldKey(text) == text


MALFORMED = [
    *("_a", "a_", "a__b", "1a", "A", "First_name", "a-b", "a b", " a", "a.b", "a\n", "\na"),
    *("a\0", "é", "\uff41", "a\u0661", "a²", "\u0131", "a\u0301", "a\u200b", "a\ud800"),
]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        *((text, "format") for text in MALFORMED),
        *((text, "blank") for text in ("", " ", "\n", "\u3000")),
        *(("k" * length, "too_long") for length in (64, 1_000_000)),
        *((text, "reserved") for text in (*sorted(RESERVED_KEYS), "sys_id", "sys_1")),
    ],
    ids=lambda each: ascii(each)[:20],
)
def test_any_other_text_is_not_a_key(text, rule, raises_violations):
    with raises_violations(rule):
        FieldKey(text)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("First name", "first_name"), ("a__b", "a_b"), ("1", "f_1"), ("ID", None), ("日本", None)],
)
def test_the_violation_of_a_malformed_key_suggests_a_valid_key(text, suggestion):
    with pytest.raises(InvalidField) as invalid:
        FieldKey(text)
    assert invalid.value.violations[0].suggestion == suggestion


@given(ANY_TEXT)
def test_every_suggestion_is_a_valid_key(text):
    try:
        FieldKey(text)
    except InvalidField as invalid:
        suggestion = invalid.violations[0].suggestion
        assert suggestion is None or FieldKey(suggestion)


def test_a_key_has_up_to_63_characters():
    assert len(FieldKey("k" * 63)) == MAX_KEY_LENGTH == 63


def test_the_reserved_words_are_those_of_the_contract():
    assert set(RESERVED.split()) == RESERVED_KEYS


@given(ANY_TEXT | NEARLY_KEYS)
def test_a_key_matches_the_contract_or_is_rejected(text):
    allowed = (
        STRICT_SNAKE_CASE.fullmatch(text) is not None
        and len(text) <= 63
        and text not in RESERVED_KEYS
        and not text.startswith("sys_")
    )
    try:
        assert (FieldKey(text), allowed) == (text, True)
    except InvalidField:
        assert not allowed


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("First name", "first_name"),
        ("Größe (cm)", "grosse_cm"),
        ("GRÖẞE", "grosse"),
        ("  -- E-Mail -- ", "e_mail"),
        ("Ångström Ünit", "angstrom_unit"),
        ("İstanbul", "istanbul"),
        ("2nd address", "f_2nd_address"),
        ("№ ²", "no_2"),
        ("ﬁeld", "field"),
        ("Brand™ \u210c \U0001d4e3 Ⓐ", "brandtm_h_t_a"),
        ("Ⅷ ½ m²", "viii_1_2_m2"),
        ("\uff26\uff55\uff4c\uff4c", "full"),
        ("line\u2028two", "line_two"),
        ("price_€ 🚀 up", "price_up"),
        ("O\u2019Neill", "o_neill"),
        ("soft\u00adhyphen", "soft_hyphen"),
        ("n" * 70, "n" * 63),
        ("n" * 62 + " tail", "n" * 62),
        ("1" * 70, "f_" + "1" * 61),
        ("a\u20ddb", "a_b"),
    ],
)
def test_a_key_is_derived_from_a_name(name, key):
    assert derive_key(name) == key


NO_LETTERS = ["", "---", "🚀", "\u0301\u0302", "\ud800", "\u200d"]
OTHER_LETTERS = [
    *("日本", "Цена", "Tier 日本", "Ελλάδα", "µm", "Preis ٣", "قيمة", "ราคา", "❸", "k\u0345")
]
LATIN_LETTERS = ["Størrelse", "Łódź", "Đại", "Straße æ", "Þór", "k\u0131z", "Hawai\u02bbi", "ŉ"]


@pytest.mark.parametrize("name", [*NO_LETTERS, *OTHER_LETTERS, *LATIN_LETTERS], ids=ascii)
def test_no_key_is_derived_from_a_name_without_letters_or_with_letters_outside_a_to_z(
    name, raises_violations
):
    assert derive_key(name) == ""
    with raises_violations("required"):
        FieldKey.derived_from(name)


def test_the_message_says_from_what_a_key_can_be_derived_and_what_to_do():
    with pytest.raises(InvalidField) as invalid:
        FieldKey.derived_from("Цена")
    assert str(invalid.value) == (
        "A key can be derived only from letters a-z and digits 0-9, with or without accents."
        " Choose a key, such as loyalty_tier."
    )


@pytest.mark.parametrize("name", ["ID", "Type", "éndif", "Sys tem", "sys_1", "Or!"])
def test_a_reserved_derived_key_is_rejected(name, raises_violations):
    with raises_violations("reserved"):
        FieldKey.derived_from(name)


@given(ANY_TEXT)
@example("_" * 62 + "a")
@example("a" * 62 + "_b")
def test_a_derived_key_is_valid_or_rejected_as_missing_or_reserved(name):
    key = derive_key(name)
    if key == "" or key in RESERVED_KEYS or key.startswith("sys_"):
        with pytest.raises(InvalidField):
            FieldKey.derived_from(name)
    else:
        assert FieldKey.derived_from(name) == FieldKey(key) == key


@given(ANY_TEXT)
def test_deriving_is_idempotent(name):
    assert derive_key(derive_key(name)) == derive_key(name)


@given(ANY_TEXT)
def test_the_derived_key_does_not_depend_on_the_normalization_form(name):
    assert derive_key(unicodedata.normalize("NFD", name)) == derive_key(name)


@given(st.text("aAzZ09_ -'.", max_size=80))
def test_the_key_of_an_ascii_name_consists_of_its_letters_and_digits(name):
    words = "_".join(re.findall("[a-z0-9]+", name.lower()))
    prefixed = f"f_{words}" if words[:1].isdigit() else words
    assert derive_key(name) == prefixed[:63].rstrip("_")


def test_no_letter_or_digit_of_unicode_is_dropped():
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character) in {"Cn", "Co", "Cs"}:
            continue
        key = derive_key(f"x{character}x")
        assert key == derive_key(f"x{unicodedata.normalize('NFD', character)}x")
        assert re.fullmatch(r"(x[a-z0-9_]*x)?", key)
        if key in {"x_x", "xx"}:
            decomposed = unicodedata.normalize("NFKD", character)
            assert not any(part.isalnum() for part in decomposed)
        if key == "":
            assert not character.isascii()


@given(NEARLY_KEYS)
def test_the_key_derived_from_a_key_is_the_same(text):
    try:
        key = FieldKey(text)
    except InvalidField:
        return
    assert FieldKey.derived_from(key) == key
