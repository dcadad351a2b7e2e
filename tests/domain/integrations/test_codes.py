"""The codes of fields, by example."""

from __future__ import annotations

import pytest

from recipient_fields.domain import ADMINISTRATOR, IntegrationId
from recipient_fields.domain.esp import BUILT_IN, Esp, NameProposal
from recipient_fields.domain.esp import field_codes as names_of_codes
from recipient_fields.domain.esp.derived_codes import derive
from recipient_fields.domain.esp.errors import NotInsertable
from recipient_fields.domain.integrations import FieldCodes

from .catalogs import Organization

ONE, TWO = IntegrationId(1), IntegrationId(2)
KLAVIYO_CODE = {
    "custom_insertion_code": "{{ person|lookup:'Tier' }}",
    "custom_value_expression": "person|lookup:'Tier'",
}


def get(organization, key, target):
    return FieldCodes(organization.names).find(key, target)


def codes(organization, key, target):
    code = get(organization, key, target)
    return code.insertion_code, code.value_expression


def test_a_field_without_codes_works_in_every_esp():
    organization = Organization()
    organization.define("tier", by=ADMINISTRATOR)
    assert {esp: get(organization, "tier", esp).insertion_code for esp in BUILT_IN.esps} == {
        Esp("sfmc"): "%%=v(@tier)=%%",
        Esp("mailchimp"): "*|TIER|*",
        Esp("klaviyo"): "{{ person|lookup:'tier' }}",
        Esp("braze"): "{{custom_attribute.${tier}}}",
        Esp("customerio"): "{{customer.tier}}",
        Esp("hubspot"): "{{ contact.tier }}",
        Esp("sendgrid"): "{{tier}}",
        Esp("iterable"): "{{tier}}",
        Esp("brevo"): "{{ contact.TIER }}",
        Esp("activecampaign"): "%TIER%",
        Esp("onesignal"): "{{ tier }}",
    }


class TestTheOrder:
    def test_a_set_name_is_before_the_own_code(self):
        organization = Organization("klaviyo")
        field = organization.define("tier", **KLAVIYO_CODE)
        assert get(organization, "tier", ONE).name_from.value == "field"
        organization.set_name(ONE, field, "Level")
        assert codes(organization, "tier", ONE) == (
            "{{ person|lookup:'Level' }}",
            "person|lookup:'Level'",
        )

    def test_the_own_code_is_before_that_of_the_counterpart(self):
        organization = Organization("klaviyo")
        organization.define("tier", **KLAVIYO_CODE)
        organization.sync(ONE, "tier")
        code = get(organization, "tier", ONE)
        assert (code.esp_name.name, code.esp_name.state) == ("Tier", None)
        assert code.insertion_code == KLAVIYO_CODE["custom_insertion_code"]

    def test_own_code_in_another_dialect_is_not_used(self):
        organization = Organization("braze")
        organization.define("tier", **KLAVIYO_CODE)
        code = get(organization, "tier", ONE)
        assert code.insertion_code == "{{custom_attribute.${tier}}}"
        assert code.name_from.value == "convention"

    def test_the_code_of_the_counterpart_is_used_as_stored(self):
        organization = Organization("braze", "klaviyo", keys=["tier"])
        organization.sync(TWO, "Tier")
        older = {"custom_insertion_code": "{{person.Tier}}", "custom_value_expression": "x"}
        organization.replace(organization.get("tier_2"), **older)
        assert codes(organization, "tier", TWO) == ("{{person.Tier}}", "x")
        assert codes(organization, "tier_2", TWO) == ("{{person.Tier}}", "x")
        assert codes(organization, "tier_2", ONE) == (
            "{{custom_attribute.${tier}}}",
            "custom_attribute.${tier}",
        )

    def test_a_key_of_another_integration_resolves_through_its_name(self):
        organization = Organization("braze", "klaviyo")
        organization.sync(ONE, "loyalty_tier")
        organization.sync(TWO, "Loyalty Tier")
        for key in ("loyalty_tier", "loyalty_tier_2"):
            expressions = [get(organization, key, each).value_expression for each in (ONE, TWO)]
            assert expressions == [
                "custom_attribute.${loyalty_tier}",
                "person|lookup:'Loyalty Tier'",
            ]


class TestOwnCodes:
    """The two codes of a field are judged together."""

    @pytest.mark.parametrize(
        ("esp", "insertion_code", "expression"),
        [
            (Esp("sfmc"), "%%=v(@Tier)=%%", "@Tier"),
            (Esp("mailchimp"), "*|TIER|*", "TIER"),
            (Esp("klaviyo"), "{{ person|lookup:'Tier' }}", "person|lookup:'Tier'"),
            (Esp("klaviyo"), "{{ first_name }}", "first_name"),
            (Esp("klaviyo"), "{{person.phone_number}}", "person.phone_number"),
            (Esp("braze"), "{{${city}}}", "${city}"),
            (Esp("hubspot"), "{{ contact.tier }}", "contact.tier"),
            (Esp("iterable"), "{{[Loyalty Tier]}}", "[Loyalty Tier]"),
            (Esp("activecampaign"), "%TIER%", "$TIER"),
        ],
    )
    def test_the_missing_one_is_derived_from_a_plain_reference(
        self, esp, insertion_code, expression
    ):
        organization = Organization()
        organization.define("inserted", custom_insertion_code=insertion_code)
        organization.define("compared", custom_value_expression=expression)
        assert codes(organization, "inserted", esp) == (insertion_code, expression)
        derived, same = codes(organization, "compared", esp)
        assert ("".join(derived.split()), same) == ("".join(insertion_code.split()), expression)

    def test_only_the_missing_one_is_refused_if_the_other_is_not_a_plain_reference(self):
        organization = Organization()
        insertion_code = "{{ person|lookup:'Tier'|title }}"
        organization.define("inserted", custom_insertion_code=insertion_code)
        organization.define("compared", custom_value_expression="tier|lower")
        inserted = get(organization, "inserted", Esp("klaviyo"))
        compared = get(organization, "compared", Esp("klaviyo"))
        assert inserted.require_insertion_code() == insertion_code
        with pytest.raises(NotInsertable) as refused:
            inserted.require_value_expression()
        assert inserted.refusal == (
            "This field has no value expression, and its insertion code is not a plain"
            " reference of Klaviyo. Add the value expression, or remove the insertion code."
        )
        assert str(refused.value) == (f"The field inserted has code of its own. {inserted.refusal}")
        assert compared.require_value_expression() == "tier|lower"
        with pytest.raises(NotInsertable, match="This field has no insertion code"):
            compared.require_insertion_code()

    @pytest.mark.parametrize(
        ("insertion_code", "expression", "is_used"),
        [
            ("{{custom_attribute.${tier}}}", "custom_attribute.${tier}", True),
            ("{{custom_attribute.${tier}}}", "person|lookup:'Tier'", False),
            ("{{custom_attribute.${tier}}}", "contact.tier", False),
            ("{{custom_attribute.${tier}}}", "@tier", False),
            ("{{custom_attribute.${tier}}}", "$TIER", False),
            ("*|TIER|*", "custom_attribute.${tier}", False),
            ("{{ tier }}", "tier", True),
            ("{{ loyalty.tier }}", "loyalty.tier", True),
            ("static", "1", True),
        ],
    )
    def test_neither_is_used_if_one_is_certainly_in_another_dialect(
        self, insertion_code, expression, is_used
    ):
        organization = Organization()
        organization.define(
            "tier", custom_insertion_code=insertion_code, custom_value_expression=expression
        )
        code = get(organization, "tier", Esp("braze"))
        assert (code.name_from.value == "field") is is_used


def test_a_field_that_is_not_insertable_has_a_value_expression_only():
    organization = Organization()
    organization.define("tier", insertable=False)
    code = get(organization, "tier", Esp("braze"))
    assert code.refusal == "This field is not insertable."
    assert code.require_value_expression() == "custom_attribute.${tier}"


def test_a_field_without_a_name_is_refused_with_what_helps():
    organization = Organization("mailchimp", keys=["loyalty_tier"])
    code = get(organization, "loyalty_tier", ONE)
    for require in (code.require_insertion_code, code.require_value_expression):
        with pytest.raises(NotInsertable, match="such as LOYALTY_TI") as refused:
            require()
        assert refused.value.proposal == NameProposal(ONE, code.field.key, "LOYALTY_TI")
    assert (code.name_from, code.esp_name) == (None, None)
    assert code.refusal.count("such as LOYALTY_TI.") == 1


class TestADefault:
    def test_is_possible_for_each_source_of_a_code(self):
        organization = Organization("klaviyo", "klaviyo")
        own = organization.define("own", **KLAVIYO_CODE)
        assert own.custom_insertion_code
        organization.define("tier")
        organization.sync(TWO, "Tier")
        with_default = "{{ person|lookup:'Tier'|default:'none' }}"
        for key, target in (("own", ONE), ("tier", TWO), ("tier_2", TWO)):
            assert get(organization, key, target).require_insertion_code("none") == with_default
        by_convention = get(organization, "tier", ONE).require_insertion_code("none")
        assert by_convention == "{{ person|lookup:'tier'|default:'none' }}"

    def test_is_possible_for_a_variable_of_salesforce(self):
        organization = Organization()
        organization.define("tier", custom_value_expression="@Tier")
        code = get(organization, "tier", Esp("sfmc")).require_insertion_code("none")
        assert code == '%%=IIf(Empty(@Tier), "none", @Tier)=%%'

    def test_is_refused_for_another_insertion_code(self):
        organization = Organization()
        organization.define("tier", custom_insertion_code="{{ person|lookup:'Tier'|title }}")
        with pytest.raises(NotInsertable, match="Write the default into the insertion code"):
            get(organization, "tier", Esp("klaviyo")).require_insertion_code("none")

    def test_is_refused_if_it_is_not_safe(self):
        organization = Organization(keys=["tier"])
        with pytest.raises(NotInsertable, match="This default is not possible"):
            get(organization, "tier", Esp("klaviyo")).require_insertion_code("}}")


class TestAPrelude:
    def test_sets_the_variable_of_the_name(self):
        organization = Organization("sfmc")
        field = organization.define("tier")
        organization.set_name(ONE, field, "Loyalty Tier")
        assert get(organization, "tier", ONE).preludes == {
            "@loyalty_tier": '%%[ SET @Loyalty_Tier = AttributeValue("Loyalty Tier") ]%%'
        }

    def test_sets_the_variable_of_the_counterpart(self):
        organization = Organization("sfmc", keys=["tier"])
        organization.sync(ONE, "Tier")
        assert get(organization, "tier", ONE).preludes == {
            "@tier": '%%[ SET @Tier = AttributeValue("Tier") ]%%'
        }

    def test_sets_the_variables_in_own_code_as_those_of_synced_fields(self):
        organization = Organization("sfmc")
        organization.define("shown", custom_insertion_code="%%=v(@Loyalty_Tier)=%%")
        prelude = '%%[ SET @Loyalty_Tier = AttributeValue("{}") ]%%'
        code = get(organization, "shown", ONE)
        assert code.preludes == {"@loyalty_tier": prelude.format("Loyalty_Tier")}
        organization.sync(ONE, "Loyalty Tier")
        code = get(organization, "shown", ONE)
        assert code.preludes == {"@loyalty_tier": prelude.format("Loyalty Tier")}


def test_the_codes_of_a_field_are_those_of_its_integrations_and_of_the_other_esps():
    organization = Organization("klaviyo", "braze", "klaviyo")
    field = organization.define("tier")
    listed = FieldCodes(organization.names).list_codes(field)
    assert [each.integration_id for each in listed] == [1, 2, 3, *[None] * 9]
    assert [each.esp for each in listed[:3]] == [Esp("klaviyo"), Esp("braze"), Esp("klaviyo")]
    assert {each.esp for each in listed[3:]} == set(BUILT_IN.esps) - {Esp("klaviyo"), Esp("braze")}


def test_the_name_behind_a_code_is_found_once_however_often_the_code_is_inserted(monkeypatch):
    organization = Organization(keys=["tier"])
    derivations = []

    def count(*arguments, **options):
        derivations.append(arguments)
        return derive(*arguments, **options)

    code = get(organization, "tier", Esp("klaviyo"))
    monkeypatch.setattr(names_of_codes, "derive", count)
    for _ in range(10):
        assert code.is_derived
        code.require_insertion_code()

    assert len(derivations) == 1
