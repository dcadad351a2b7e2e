"""The ESPs' own fields, and the names that are derived from keys."""

from __future__ import annotations

from itertools import islice

import pytest

from recipient_fields.domain import MAX_KEY_LENGTH, RESERVED_KEYS, FieldKey
from recipient_fields.domain.esp import BUILT_IN, PROFILES, Esp, derive_codes
from recipient_fields.domain.esp.derived_codes import has_safe_form
from recipient_fields.domain.integrations.codes import possible_names

EVERY_ESP = pytest.mark.parametrize("esp", Esp, ids=lambda esp: esp.value)


@EVERY_ESP
def test_every_standard_field_has_a_code(esp):
    for key, name in PROFILES[esp].names.standard_fields.items():
        assert FieldKey(key) == key
        assert derive_codes(esp, name, standard=True).insertion_code


@EVERY_ESP
def test_only_standard_fields_are_unlisted(esp):
    convention = PROFILES[esp].names
    assert convention.unlisted <= set(convention.standard_fields.values())


@pytest.mark.parametrize(
    ("esp", "key", "code"),
    [
        (Esp.SALESFORCE, "email", "%%=v(@emailaddr)=%%"),
        (Esp.MAILCHIMP, "first_name", "*|FNAME|*"),
        (Esp.KLAVIYO, "phone", "{{ person.phone_number }}"),
        (Esp.KLAVIYO, "city", "{{ person.City }}"),
        (Esp.BRAZE, "birthday", "{{${date_of_birth}}}"),
        (Esp.CUSTOMER_IO, "phone", "{{customer.phone}}"),
        (Esp.SENDGRID, "phone", "{{phone_number}}"),
        (Esp.BREVO, "phone", "{{ contact.SMS }}"),
        (Esp.ACTIVECAMPAIGN, "first_name", "%FIRSTNAME%"),
    ],
)
def test_a_standard_field_has_the_code_of_the_sources(esp, key, code):
    name = PROFILES[esp].names.standard_fields[key]
    assert derive_codes(esp, name, standard=True).insertion_code == code


def test_only_three_esps_use_capital_letters():
    names = {esp: PROFILES[esp].names.derive("loyalty_tier") for esp in Esp}
    capitals = [esp for esp, name in names.items() if name == "LOYALTY_TIER"]
    assert capitals == [Esp.MAILCHIMP, Esp.BREVO, Esp.ACTIVECAMPAIGN]
    assert set(names.values()) == {"LOYALTY_TIER", "loyalty_tier"}


@EVERY_ESP
def test_the_maximum_length_is_that_of_the_dialect(esp):
    convention = PROFILES[esp].names
    length = convention.max_length or MAX_KEY_LENGTH
    name = convention.derive("k" * length)
    assert has_safe_form(PROFILES[esp], name)
    if convention.max_length is not None:
        assert not has_safe_form(PROFILES[esp], name + name[0])


@pytest.mark.parametrize(
    ("esp", "key", "names"),
    [
        (Esp.MAILCHIMP, "loyalty_tier", ["LOYALTY_TI", "LOYALTY_2", "LOYALTY_3"]),
        (Esp.MAILCHIMP, "preferred_shop", ["PREFERRED", "PREFERRE_2"]),
        (Esp.MAILCHIMP, "date", ["DATE_2", "DATE_3"]),
        (Esp.BRAZE, "size", ["size_2"]),
        (Esp.KLAVIYO, "tier", ["tier", "tier_2"]),
        (Esp.ITERABLE, "profile", ["profile_2"]),
    ],
)
def test_possible_names_have_a_safe_form(esp, key, names):
    assert list(islice(possible_names(PROFILES[esp], key), len(names))) == names


@EVERY_ESP
def test_there_is_a_possible_name_for_every_key(esp):
    words = {word for profile in BUILT_IN for word in profile.names.reserved}
    keys = {word.lower() for word in words} - RESERVED_KEYS | {"f_1", "k" * MAX_KEY_LENGTH}
    for key in keys:
        assert has_safe_form(PROFILES[esp], next(possible_names(PROFILES[esp], key)))
