"""The names to set that are proposed for fields, by example."""

from __future__ import annotations

from recipient_fields.domain import API, DataType, FieldDraft, FieldId, IntegrationId
from recipient_fields.domain.esp import Esp, NameProposal
from recipient_fields.domain.integrations import FieldCodes

from ...support.growth import assert_grows_linearly
from .catalogs import NOON, ORGANIZATION, Organization

ONE = IntegrationId(1)


def proposed(organization, target=ONE):
    """Return the proposed names by the keys of the fields."""
    codes = FieldCodes(organization.names)
    proposals = {each.key: codes.get(each, target).proposal for each in organization.fields}
    return {key: each.name for key, each in proposals.items() if each is not None}


def refusal(organization, key, target=ONE):
    return FieldCodes(organization.names).get(organization.get(key), target).insertion_refusal


def test_a_name_without_a_safe_form_is_shortened():
    organization = Organization("mailchimp")
    field = organization.define("loyalty_tier")
    code = FieldCodes(organization.names).get(field, ONE)
    rule = (
        "Mailchimp has no safe form for the name LOYALTY_TIER. A Mailchimp tag is 1 to 10"
        " capital letters, digits and underscores, and begins with a letter."
    )
    help_ = "Set a name for this field at integration 1, such as LOYALTY_TI."
    assert code.refusal == f"{rule} {help_}"
    assert code.proposal == NameProposal(ONE, field.key, "LOYALTY_TI")
    organization.sync(ONE, "FNAME")
    sentences = refusal(organization, "loyalty_tier")
    assert sentences == f"The last sync found no field for the key loyalty_tier. {code.refusal}"


def test_an_integration_is_needed_to_set_a_name():
    organization = Organization(keys=["loyalty_tier"])
    assert refusal(organization, "loyalty_tier", Esp("mailchimp")).endswith(
        "Create an integration with Mailchimp, and set a name such as LOYALTY_TI."
    )
    assert proposed(organization, Esp("mailchimp")) == {}


def test_a_name_that_is_set_for_another_field_gets_a_number():
    organization = Organization("braze", keys=["tier"])
    organization.set_name(ONE, organization.define("level"), "tier")
    assert proposed(organization) == {"tier": "tier_2"}
    assert refusal(organization, "tier") == (
        "At this integration, the name tier is set for another field. Set a name for this field at"
        " integration 1, such as tier_2."
    )


def test_proposals_differ_from_each_other():
    organization = Organization("mailchimp", keys=["loyalty_status", "loyalty_stamps"])
    assert proposed(organization) == {"loyalty_status": "LOYALTY_ST", "loyalty_stamps": "LOYALTY_2"}
    assert "such as LOYALTY_2" in refusal(organization, "loyalty_stamps")


def test_proposals_differ_from_names_in_use():
    organization = Organization("mailchimp", keys=["loyalty_status", "loyalty_2"])
    organization.set_name(ONE, organization.define("tier"), "LOYALTY_ST")
    organization.sync(ONE, "LOYALTY_3", "FNAME")
    assert proposed(organization) == {"loyalty_status": "LOYALTY_4"}


def test_a_similar_name_is_proposed_to_one_field_only():
    organization = Organization("hubspot", keys=["shoe_size", "s_hoe_size"])
    organization.sync(ONE, "shoesize")
    assert proposed(organization) == {"shoe_size": "shoesize"}


def with_keys(*keys):
    organization = Organization("mailchimp")
    organization.fields = tuple(
        FieldDraft(name="Tier", key=key, data_type=DataType.TEXT)
        .define(by=API, at=NOON)
        .with_id(FieldId(number), ORGANIZATION)
        for number, key in enumerate(keys, start=1)
    )
    return organization


def test_many_fields_with_the_same_shortened_name_take_linear_time():
    assert_grows_linearly(
        proposed, lambda number: with_keys(*(f"loyalty_tier_{each}" for each in range(number))), 800
    )
