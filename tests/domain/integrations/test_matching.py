"""The proposals of names, by example and for generated organizations."""

from __future__ import annotations

from hypothesis import given

from recipient_fields.domain import DataType, IntegrationId
from recipient_fields.domain.integrations import EspField, MatchReason
from recipient_fields.domain.integrations.matching import match_names
from recipient_fields.domain.integrations.setting import set_names

from ...support.growth import assert_grows_linearly
from .catalogs import Organization, organizations

SIGNS = str.maketrans("01", "-_")
ONE, TWO = map(IntegrationId, (1, 2))


def proposals(organization, target=ONE):
    return [
        (each.field.key, each.proposed and each.proposed.name, each.reason.name)
        for each in match_names(organization.names, target)
    ]


def test_a_field_of_the_esp_is_proposed_once_for_the_field_with_the_best_reason():
    organization = Organization("klaviyo")
    for key in ("shopsize", "shop_size", "s_hopsize"):
        organization.define(key)
    organization.sync(ONE, "shop_size", "Shop Size")
    assert proposals(organization) == [
        ("shop_size", "shop_size", "SAME_NAME"),
        ("shopsize", "Shop Size", "SIMILAR_NAME"),
        ("s_hopsize", None, "NOT_FOUND"),
    ]


def test_a_field_of_the_same_type_has_precedence():
    organization = Organization("klaviyo")
    organization.define("shop_size", data_type=DataType.NUMBER)
    number = EspField(name="SHOP-SIZE", data_type=DataType.NUMBER)
    organization.sync(ONE, "Shop Size", number)
    assert proposals(organization) == [("shop_size", "SHOP-SIZE", "SIMILAR_NAME")]


def test_a_standard_field_is_proposed_for_that_of_another_esp():
    organization = Organization("mailchimp", "braze")
    organization.sync(ONE, EspField(name="FNAME", label="Given name", data_type=DataType.TEXT))
    assert proposals(organization, TWO) == [("fname", "first_name", "STANDARD_FIELD")]


def test_a_standard_field_that_the_sync_did_not_find_is_not_proposed():
    organization = Organization("brevo", keys=["first_name"])
    assert proposals(organization) == [("first_name", "FIRSTNAME", "STANDARD_FIELD")]
    organization.sync(ONE, "CITY")
    assert proposals(organization) == [("first_name", None, "NOT_FOUND")]


def test_values_that_several_fields_have_are_no_reason():
    organization = Organization("braze")
    values = ("yes", "no")
    organization.define("news", allowed_values=values)
    reported = [
        EspField(name=name, data_type=DataType.TEXT, allowed_values=values) for name in ("A", "B")
    ]
    organization.sync(ONE, reported[0])
    assert proposals(organization) == [("news", "A", "SAME_VALUES")]
    organization.sync(ONE, *reported)
    assert proposals(organization) == [("news", None, "NOT_FOUND")]
    organization.sync(ONE, reported[0])
    organization.define("offers", allowed_values=values)
    assert {reason for _, _, reason in proposals(organization)} == {"NOT_FOUND"}


def test_the_name_of_a_field_that_is_created_is_short_enough():
    organization = Organization("mailchimp", keys=["loyalty_tier"])
    organization.sync(ONE, "CITY")
    (match,) = match_names(organization.names, ONE)
    assert match.creation is not None
    assert "Add a merge field with the tag LOYALTY_TI to" in match.creation


def test_before_the_first_sync_nothing_has_to_be_created():
    organization = Organization("mailchimp", keys=["tier"])
    (match,) = match_names(organization.names, ONE)
    assert (match.describe(), match.creation) == ("not synced yet", None)
    organization.sync(ONE, "CITY")
    (match,) = match_names(organization.names, ONE)
    assert match.describe() == "not found"


@given(organizations())
def test_all_proposals_can_be_accepted_together(organization):
    fields = organization.fields
    for integration in organization.integrations.values():
        matches = match_names(organization.names, integration.id)
        listed = organization.names.fields_to_name(integration.id)
        assert sorted(each.field.key for each in matches) == sorted(each.key for each in listed)
        proposed = {str(each.field.key): each.proposed for each in matches}
        changes = {key: name for key, name in proposed.items() if name is not None}
        assert len({each.name for each in changes.values()}) == len(changes)
        organization.integrations[integration.id] = set_names(integration, fields, changes)
        reasons = {each.reason for each in match_names(organization.names, integration.id)}
        assert reasons <= {MatchReason.SET, MatchReason.NOT_FOUND}


def test_similar_names_take_linear_time():
    def build(count):
        organization = Organization("klaviyo")
        organization.sync(ONE, *(f"a{each:b}b".translate(SIGNS) for each in range(count)))
        for each in range(count):
            organization.define(f"field_{each}", name="a b")
        return organization.names

    assert_grows_linearly(lambda names: match_names(names, ONE), build, 400)
