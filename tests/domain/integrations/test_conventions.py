"""The ESPs' own fields, and the names that are derived from keys."""

from __future__ import annotations

from itertools import islice

import pytest

from recipient_fields.domain import MAX_KEY_LENGTH, RESERVED_KEYS, FieldKey
from recipient_fields.domain.esp import BUILT_IN, Esp, derive_codes
from recipient_fields.domain.esp.derived_codes import has_safe_form
from recipient_fields.domain.integrations.codes import possible_names

EVERY_ESP = pytest.mark.parametrize("esp", BUILT_IN.esps)


@EVERY_ESP
def test_every_standard_field_has_a_code(esp):
    for key, name in BUILT_IN[esp].names.standard_fields.items():
        assert FieldKey(key) == key
        assert derive_codes(esp, name, standard=True).insertion_code


@EVERY_ESP
def test_only_standard_fields_are_unlisted(esp):
    convention = BUILT_IN[esp].names
    assert convention.unlisted <= set(convention.standard_fields.values())


@pytest.mark.parametrize(
    ("esp", "key", "code"),
    [
        (Esp("sfmc"), "email", "%%=v(@emailaddr)=%%"),
        (Esp("sfmc"), "first_name", "%%=v(@FirstName)=%%"),
        (Esp("iterable"), "last_name", "{{lastName}}"),
        (Esp("iterable"), "email", "{{email}}"),
        (Esp("mailchimp"), "first_name", "*|FNAME|*"),
        (Esp("klaviyo"), "phone", "{{ person.phone_number }}"),
        (Esp("klaviyo"), "city", "{{ person.City }}"),
        (Esp("braze"), "birthday", "{{${date_of_birth}}}"),
        (Esp("customerio"), "phone", "{{customer.phone}}"),
        (Esp("sendgrid"), "phone", "{{phone_number}}"),
        (Esp("brevo"), "phone", "{{ contact.SMS }}"),
        (Esp("activecampaign"), "first_name", "%FIRSTNAME%"),
    ],
)
def test_a_standard_field_has_the_code_of_the_sources(esp, key, code):
    name = BUILT_IN[esp].names.standard_fields[key]
    assert derive_codes(esp, name, standard=True).insertion_code == code


def test_only_three_esps_use_capital_letters():
    names = {esp: BUILT_IN[esp].names.derive("loyalty_tier") for esp in BUILT_IN.esps}
    capitals = [esp for esp, name in names.items() if name == "LOYALTY_TIER"]
    assert capitals == [Esp("mailchimp"), Esp("brevo"), Esp("activecampaign")]
    assert set(names.values()) == {"LOYALTY_TIER", "loyalty_tier"}


@EVERY_ESP
def test_the_maximum_length_is_that_of_the_dialect(esp):
    convention = BUILT_IN[esp].names
    length = convention.max_length or MAX_KEY_LENGTH
    name = convention.derive("k" * length)
    assert has_safe_form(BUILT_IN[esp], name)
    if convention.max_length is not None:
        assert not has_safe_form(BUILT_IN[esp], name + name[0])


@pytest.mark.parametrize(
    ("esp", "key", "names"),
    [
        (Esp("mailchimp"), "loyalty_tier", ["LOYALTY_TI", "LOYALTY_2", "LOYALTY_3"]),
        (Esp("mailchimp"), "preferred_shop", ["PREFERRED", "PREFERRE_2"]),
        (Esp("mailchimp"), "date", ["DATE_2", "DATE_3"]),
        (Esp("braze"), "size", ["size_2"]),
        (Esp("klaviyo"), "tier", ["tier", "tier_2"]),
        (Esp("iterable"), "profile", ["profile_2"]),
    ],
)
def test_possible_names_have_a_safe_form(esp, key, names):
    assert list(islice(possible_names(BUILT_IN[esp], key), len(names))) == names


@EVERY_ESP
def test_there_is_a_possible_name_for_every_key(esp):
    words = {word for profile in BUILT_IN for word in profile.names.reserved}
    reserved = {word.lower() for word in words if word.isidentifier()} - RESERVED_KEYS
    keys = reserved | {"f_1", "k" * MAX_KEY_LENGTH}
    for key in keys:
        assert has_safe_form(BUILT_IN[esp], next(possible_names(BUILT_IN[esp], key)))
