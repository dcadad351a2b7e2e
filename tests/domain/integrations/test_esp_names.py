"""The rules of ESP names, by example."""

from __future__ import annotations

import pytest

from recipient_fields.domain import DataType, IntegrationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, RefusedField

from .catalogs import Organization

ONE, TWO, THREE = map(IntegrationId, (1, 2, 3))


def found(organization, key, target):
    """Return the name, where it is from, and its state."""
    name = organization.names.find(organization.get(key), target)
    return name and (name.name, name.name_from.value, name.state.value)


def test_a_name_that_was_set_is_first():
    organization = Organization("mailchimp")
    field = organization.define("tier")
    organization.sync(ONE, "TIER")
    organization.set_name(ONE, field, "LEVEL")
    assert found(organization, "tier", ONE) == ("LEVEL", "integration", "missing")
    organization.sync(ONE, "TIER", "LEVEL")
    assert found(organization, "tier", ONE) == ("LEVEL", "integration", "found")


class TestTheSyncedField:
    def test_has_the_same_name_as_at_another_integration(self):
        organization = Organization("iterable", "klaviyo")
        organization.sync(ONE, "Loyalty Tier")
        organization.sync(TWO, "loyalty_tier", "Loyalty Tier")
        assert found(organization, "loyalty_tier", TWO) == ("Loyalty Tier", "sync", "found")

    def test_has_the_key_as_its_name(self):
        organization = Organization("klaviyo", keys=["email"])
        organization.sync(ONE, "Email", "EMAIL", "email")
        assert found(organization, "email", ONE) == ("email", "sync", "found")

    def test_is_the_standard_field(self):
        organization = Organization("brevo", keys=["first_name"])
        organization.sync(ONE, "FIRST_NAME", "FIRSTNAME")
        assert found(organization, "first_name", ONE) == ("FIRSTNAME", "sync", "found")

    def test_has_the_name_of_the_convention(self):
        organization = Organization("sfmc", "brevo", keys=["tier"])
        organization.sync(TWO, "TIER")
        assert found(organization, "tier", TWO) == ("TIER", "sync", "found")

    def test_has_a_name_from_which_the_key_is_derived(self):
        organization = Organization("klaviyo", keys=["loyalty_tier"])
        organization.sync(ONE, "Loyalty-Tier")
        assert found(organization, "loyalty_tier", ONE) == ("Loyalty-Tier", "sync", "found")

    def test_is_found_for_the_key_without_the_suffix(self):
        organization = Organization("braze", "klaviyo", keys=["tier"])
        organization.sync(ONE, "tier")
        assert found(organization, "tier_1", TWO) == ("tier", "convention", "unknown")
        organization.sync(TWO, "Tier")
        assert found(organization, "tier_1", TWO) == ("Tier", "sync", "found")

    def test_is_skipped_if_its_name_is_set_for_another_field(self):
        organization = Organization("klaviyo", keys=["tier"])
        level = organization.define("level")
        organization.sync(ONE, "tier", "Tier")
        organization.set_name(ONE, level, "tier")
        assert found(organization, "tier", ONE) == ("Tier", "sync", "found")

    def test_is_at_its_own_integration_itself(self):
        organization = Organization("klaviyo")
        organization.sync(ONE, "Tier")
        assert found(organization, "tier", ONE) == ("Tier", "sync", "found")
        assert organization.names.find(organization.get("tier"), ONE).counterpart is None


class TestTheConvention:
    def test_uses_the_standard_field_and_its_form(self):
        organization = Organization("braze")
        name = organization.names.find(organization.define("email"), ONE)
        assert (name.name, name.standard) == ("email_address", True)

    def test_uses_the_standard_form_for_each_name_of_the_table(self):
        organization = Organization("braze")
        field = organization.define("date_of_birth")
        assert organization.names.find(field, ONE).standard
        organization.set_name(ONE, field, "date_of_birth", custom=True)
        assert not organization.names.find(field, ONE).standard

    def test_derives_other_names_from_the_key(self):
        organization = Organization(keys=["tier"])
        assert found(organization, "tier", Esp("iterable")) == ("tier", "convention", "unknown")
        assert found(organization, "tier", Esp("brevo")) == ("TIER", "convention", "unknown")

    def test_skips_a_name_that_is_set_for_another_field(self):
        organization = Organization("braze", keys=["tier"])
        organization.set_name(ONE, organization.define("level"), "tier")
        assert found(organization, "tier", ONE) is None

    def test_has_no_name_without_a_safe_form(self):
        organization = Organization("mailchimp", keys=["loyalty_tier"])
        assert found(organization, "loyalty_tier", ONE) is None


class TestTheState:
    @pytest.mark.parametrize(
        ("esp", "key", "state"),
        [
            (Esp("hubspot"), "tier", "missing"),
            (Esp("klaviyo"), "tier", "unknown"),
            (Esp("customerio"), "tier", "unknown"),
            (Esp("braze"), "tier", "missing"),
            (Esp("braze"), "email", "unknown"),
            (Esp("mailchimp"), "email", "unknown"),
            (Esp("mailchimp"), "first_name", "missing"),
            (Esp("activecampaign"), "first_name", "unknown"),
            (Esp("sendgrid"), "first_name", "missing"),
        ],
    )
    def test_after_a_sync_without_the_field(self, esp, key, state):
        organization = Organization(esp)
        organization.define(key)
        assert found(organization, key, ONE)[2] == "unknown"
        organization.sync(ONE, RefusedField("other", "It is a list."))
        assert found(organization, key, ONE)[2] == state

    def test_is_found_if_the_sync_refused_the_field(self):
        organization = Organization("braze", keys=["tier"])
        organization.sync(ONE, RefusedField("tier", "It is a list."))
        assert found(organization, "tier", ONE) == ("tier", "convention", "found")

    def test_of_a_custom_field_with_the_name_of_an_unlisted_one_is_missing(self):
        organization = Organization("braze")
        organization.set_name(ONE, organization.define("email"), "email_address", custom=True)
        organization.sync(ONE, "tier")
        assert found(organization, "email", ONE)[2] == "missing"


def test_of_two_fields_with_one_name_both_can_be_set():
    organization = Organization("klaviyo")
    standard = EspField(name="email", data_type=DataType.TEXT, standard=True)
    organization.sync(ONE, "email", standard)
    first, second = organization.define("primary"), organization.define("secondary")
    organization.set_name(ONE, first, "email")
    organization.set_name(ONE, second, "email", custom=True)
    names = organization.names
    assert names.find(first, ONE).standard
    assert not names.find(second, ONE).standard
    assert names.find(first, ONE).counterpart != names.find(second, ONE).counterpart


def test_a_key_that_no_field_has_is_explained_by_the_synced_fields_for_it():
    organization = Organization("braze", "klaviyo", "mailchimp")
    definition = organization.define("first_name")
    organization.sync(TWO, "First Name")
    organization.sync(THREE, "FNAME")
    organization.delete(definition)
    names = organization.names
    assert names.explain_key("first_name") == (
        "Create it, or write the key of a synced field: first_name_2 (integration 2, Main), fname"
        " (integration 3, Main)."
    )
    assert names.explain_key("town") is None


class TestNamesThatDifferOnlyInCase:
    def test_an_exact_name_wins(self):
        organization = Organization("klaviyo", keys=["shop"])
        organization.sync(ONE, "Shop", "SHOP", "shop")
        assert found(organization, "shop", ONE) == ("shop", "sync", "found")

    def test_the_key_of_a_synced_field_belongs_to_the_exact_name(self):
        organization = Organization("braze")
        organization.sync(ONE, "Town", "TOWN", "town")
        assert found(organization, "town", ONE) == ("town", "sync", "found")
        assert found(organization, "town_1", ONE) == ("TOWN", "sync", "found")
        assert found(organization, "town_1_2", ONE) == ("Town", "sync", "found")

    def test_without_an_exact_name_the_choice_is_ambiguous(self):
        organization = Organization("klaviyo")
        field = organization.define("shop_size")
        organization.sync(ONE, "shop size", "Shop Size")
        assert found(organization, "shop_size", ONE) == ("Shop Size", "sync", "ambiguous")
        assert organization.names.find_similar(field, ONE) == ("shop size",)

    def test_a_field_that_the_esp_adds_later_makes_the_choice_ambiguous_and_does_not_change_it(
        self,
    ):
        organization = Organization("klaviyo", keys=["shop_size"])
        organization.sync(ONE, "shop size")
        assert found(organization, "shop_size", ONE) == ("shop size", "sync", "found")
        organization.sync(ONE, "Shop Size", "shop size")
        assert found(organization, "shop_size", ONE) == ("shop size", "sync", "ambiguous")

    def test_the_key_of_a_synced_field_is_ambiguous_if_the_exact_name_came_later(self):
        organization = Organization("braze")
        organization.sync(ONE, "Town")
        assert found(organization, "town", ONE) == ("Town", "sync", "found")
        organization.sync(ONE, "Town", "town")
        assert found(organization, "town", ONE) == ("Town", "sync", "ambiguous")
        assert organization.names.find_similar(organization.get("town"), ONE) == ("town",)
        assert found(organization, "town_1", ONE) == ("town", "sync", "found")

    def test_a_set_name_ends_the_ambiguity(self):
        organization = Organization("klaviyo")
        field, other = organization.define("shop_size"), organization.define("other")
        organization.sync(ONE, "Shop Size", "shop size")
        organization.set_name(ONE, field, "shop size")
        assert found(organization, "shop_size", ONE) == ("shop size", "integration", "found")
        organization.set_name(ONE, field, "Shop Size")
        organization.set_name(ONE, other, "shop size")
        assert found(organization, "shop_size", ONE) == ("Shop Size", "integration", "found")


class TestSimilarNames:
    @pytest.mark.parametrize(
        "name", ["firstname", "firstName", "FIRSTNAME", "First-name", "first  name"]
    )
    def test_differ_in_case_spaces_and_punctuation_only(self, name):
        organization = Organization("iterable")
        field = organization.define("first_name")
        organization.set_name(ONE, field, "the_first_name", custom=True)
        organization.sync(ONE, name, "lastName", "firstNames")
        assert organization.names.find_similar(field, ONE) == ()
        organization.set_name(ONE, field, "First_name")
        assert organization.names.find_similar(field, ONE) == (name,)

    def test_are_none_before_a_sync(self):
        organization = Organization("hubspot")
        assert organization.names.find_similar(organization.define("first_name"), ONE) == ()

    def test_are_not_those_that_other_api_or_manual_fields_have(self):
        organization = Organization("hubspot")
        field = organization.define("shoe_size")
        organization.sync(ONE, "shoesize")
        assert organization.names.find_similar(field, ONE) == ("shoesize",)
        organization.delete(organization.get("shoesize"))
        organization.define("shoesize")
        organization.sync(ONE, "shoesize")
        assert organization.names.find_similar(field, ONE) == ()

    def test_are_not_those_that_are_set_for_another_field(self):
        organization = Organization("hubspot")
        field = organization.define("first_name")
        organization.sync(ONE, "firstname")
        organization.set_name(ONE, organization.define("greeting"), "firstname")
        assert organization.names.find_similar(field, ONE) == ()

    def test_are_at_most_ten(self):
        organization = Organization("iterable")
        field = organization.define("a_b_c_d_e_f")
        organization.sync(ONE, *(f"ab{' ' * n}cdef" for n in range(12)))
        assert len(organization.names.find_similar(field, ONE)) == 10


class TestTheDefinition:
    def test_of_counterparts_is_the_api_or_manual_field(self):
        organization = Organization("braze", "klaviyo")
        field = organization.define("loyalty_tier")
        organization.sync(ONE, "loyalty_tier")
        organization.sync(TWO, "Loyalty Tier")
        names = organization.names
        counterparts = names.counterparts(field)
        assert {each.key for each in counterparts.values()} == {"loyalty_tier_1", "loyalty_tier_2"}
        assert {names.definition_of(each) for each in counterparts.values()} == {field}
        assert names.definition_of(field) is None

    def test_is_the_synced_field_with_the_key_if_there_is_no_other(self):
        organization = Organization("braze", "klaviyo", "iterable")
        organization.sync(TWO, "Loyalty Tier")
        organization.sync(ONE, "loyalty_tier")
        organization.sync(THREE, "loyalty_tier")
        names = organization.names
        stand_in = organization.get("loyalty_tier")
        assert stand_in.origin.integration_id == TWO
        assert set(names.counterparts(stand_in)) == {ONE, THREE}

    def test_is_the_synced_field_with_the_lowest_id_without_that_key(self):
        organization = Organization("braze", "klaviyo")
        gone = organization.define("tier")
        organization.sync(ONE, "tier")
        organization.sync(TWO, "tier")
        organization.delete(gone)
        assert organization.names.definition_of(organization.get("tier_2")).key == "tier_1"

    def test_is_the_synced_field_with_the_key_even_if_its_id_is_higher(self):
        organization = Organization("braze", "klaviyo")
        gone = organization.define("tier")
        organization.sync(ONE, "tier")
        organization.delete(gone)
        organization.sync(TWO, "tier")
        assert organization.names.definition_of(organization.get("tier_1")).key == "tier"

    def test_of_a_synced_field_is_not_another_one_if_an_api_field_stands_for_it(self):
        organization = Organization("braze", "klaviyo")
        field = organization.define("email")
        organization.sync(TWO, "email_address")
        organization.sync(ONE, "email_address")
        names = organization.names
        assert names.counterparts(field) == {ONE: organization.get("email_address_1")}
        assert names.counterparts(organization.get("email_address")) == {}

    def test_is_not_another_field_of_the_same_integration(self):
        organization = Organization("klaviyo")
        organization.sync(ONE, "Loyalty Tier", "loyalty_tier")
        assert not any(map(organization.names.counterparts, organization.fields))


def test_the_field_whose_key_the_name_derives_stands_for_a_synced_field_of_two_keys():
    """At Mailchimp, `first_name` and `fname` both mean FNAME."""
    organization = Organization("mailchimp")
    for key in ("first_name", "fname"):
        organization.define(key)
    organization.sync(IntegrationId(1), "FNAME")
    definition = organization.names.definition_of(organization.get("fname_1"))
    assert definition == organization.get("fname")
