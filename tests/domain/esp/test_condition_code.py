"""Compiled conditions: the code for each ESP, its caveats, and the reasons for refusals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from attrs import evolve

from recipient_fields.domain import (
    ADMINISTRATOR,
    AllowedValues,
    Channel,
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.domain.conditions import InvalidCondition, parse_condition
from recipient_fields.domain.content import Strict
from recipient_fields.domain.esp import (
    BUILT_IN,
    ConditionCode,
    Esp,
    NotExpressible,
    check_condition_for,
    compile_condition,
    derive_codes,
)
from recipient_fields.domain.esp.derived_codes import is_reference
from recipient_fields.domain.integrations import FieldCodes, IntegrationDraft

TYPES = {
    "tier": DataType.TEXT,
    "visits": DataType.NUMBER,
    "member": DataType.BOOLEAN,
    "born": DataType.DATE,
    "seen": DataType.DATETIME,
}
NOW = datetime(2026, 11, 20, 9, 15, tzinfo=UTC)
CAPITALS = {"mailchimp", "brevo", "activecampaign"}


def defined(draft: FieldDraft, channel: Channel, number: int = 1) -> RecipientField:
    return draft.define(by=channel, at=NOW).with_id(FieldId(number), OrganizationId(1))


def synced_field(esp: str, name: str, data_type: DataType, *, key: str = "") -> RecipientField:
    codes = derive_codes(Esp(esp), name, data_type=data_type)
    draft = FieldDraft(
        name=name,
        key=key or name.lower(),
        data_type=data_type,
        custom_insertion_code=codes.insertion_code,
        custom_value_expression=codes.value_expression,
        esp_field_name=name,
    )
    return defined(draft, sync_channel(IntegrationId(7)))


def manual_field(
    key: str, expression: str | None, insertion_code: str | None = None
) -> RecipientField:
    draft = FieldDraft(
        name=key,
        data_type="text",
        custom_insertion_code=insertion_code,
        custom_value_expression=expression,
    )
    return defined(draft, ADMINISTRATOR)


def synced_fields(esp: str) -> list[RecipientField]:
    return [
        synced_field(esp, key.upper() if esp in CAPITALS else key, data_type)
        for key, data_type in TYPES.items()
    ]


def compiled(
    esp: str,
    text: str,
    *fields: RecipientField,
    then: str = "A",
    otherwise: str = "B",
    strict: Strict = False,
) -> ConditionCode:
    draft = IntegrationDraft(esp=Esp(esp), name="Main", created_at=NOW)
    integration = draft.with_id(IntegrationId(7), OrganizationId(1)).synced(NOW)
    codes = FieldCodes.of(fields or synced_fields(esp), [integration])
    return compile_condition(
        parse_condition(text), codes, Esp(esp), then=then, otherwise=otherwise, strict=strict
    )


def written(esp: Esp, text: str) -> list[str]:
    """Return the code, the caveats or the refusal, as `condition_codes.txt` contains them."""
    try:
        result = compiled(esp, text)
    except NotExpressible as refusal:
        return [f"refused: {refusal}"]
    return [result.code, *(f"caveat: {caveat}" for caveat in result.caveats)]


def vectors() -> Mapping[tuple[Esp, str], list[str]]:
    """Return the lines of each condition in `condition_codes.txt`."""
    results: dict[tuple[Esp, str], list[str]] = {}
    text = Path(__file__).with_name("condition_codes.txt").read_text("utf-8")
    for section in text.removeprefix("[").split("\n["):
        name, _, conditions = section.partition("]")
        for lines in conditions.strip().split("\n\n"):
            condition, *written = lines.split("\n")
            results[Esp(name), condition] = [line.strip() for line in written]
    return results


VECTORS = vectors()


@pytest.mark.parametrize(("esp", "condition"), VECTORS, ids=str)
def test_a_condition_has_this_code_with_these_caveats_or_is_refused(esp, condition):
    assert written(esp, condition) == VECTORS[esp, condition]


def test_every_condition_is_listed_for_every_esp():
    conditions = {condition for _, condition in VECTORS}
    assert set(VECTORS) == {(esp, condition) for esp in BUILT_IN.esps for condition in conditions}


def test_no_condition_for_hubspot_applies_a_filter_to_a_personalization_token():
    codes = [lines[0] for (esp, _), lines in VECTORS.items() if esp == "hubspot"]
    assert any("contact." in code for code in codes)
    assert not any("|" in code for code in codes)


@pytest.mark.parametrize(
    ("condition", "is_documented"),
    [
        ("tier is set", True),
        ("born is set", True),
        ("tier is not set", True),
        ("tier is set and born is set", False),
        ("visits is set", False),
    ],
)
def test_brevo_documents_a_condition_without_operators(condition, is_documented):
    caveat = "Only secondary sources establish the operators of Brevo."
    assert (caveat in compiled("brevo", condition).caveats) is not is_documented


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_the_texts_are_copied_verbatim(esp):
    text = "  <b>\u00e9 'quoted' \"quoted\"</b>\n"
    code = compiled(esp, "born is set", then=text, otherwise=f"not {text}").code
    assert code.count(text) == 2
    assert f"not {text}" in code


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_there_is_no_else_part_without_a_text_for_it(esp):
    assert "else" not in compiled(esp, "born is set", otherwise="").code.lower()


UNKNOWN_OPTION = (
    "Brevo does not document whether an email contains the value or the label of an option."
)


@pytest.mark.parametrize("esp", BUILT_IN.esps)
@pytest.mark.parametrize("test", ['= "gold"', '!= "gold"', 'in ("gold", "silver")'])
def test_an_option_of_brevo_has_a_caveat(esp, test):
    name = "TIER" if esp in CAPITALS else "tier"
    tier = synced_field(esp, name, DataType.TEXT)
    limited = evolve(tier, allowed_values=AllowedValues(DataType.TEXT, ["gold", "silver"]))
    caveats = compiled(esp, f"tier {test}", limited).caveats
    assert (UNKNOWN_OPTION in caveats) == (esp == "brevo")
    assert UNKNOWN_OPTION not in compiled(esp, "tier is set", limited).caveats
    assert UNKNOWN_OPTION not in compiled(esp, f"tier {test}", tier).caveats


def test_an_allowed_number_is_no_option_of_brevo():
    visits = synced_field("brevo", "VISITS", DataType.NUMBER)
    limited = evolve(visits, allowed_values=AllowedValues(DataType.NUMBER, [1, 2]))
    assert UNKNOWN_OPTION not in compiled("brevo", "visits in (1, 2)", limited).caveats


JOINING_TEXTS = {
    **dict.fromkeys(BUILT_IN.esps, ("a{", "}a")),
    Esp("sfmc"): ("50%", "%off", "%%%=v(@x)=%%"),
    Esp("mailchimp"): ("|x",),
    Esp("activecampaign"): ("50%", "50% off", "%A% 50%"),
}


@pytest.mark.parametrize(
    ("esp", "text"), [(esp, text) for esp, texts in JOINING_TEXTS.items() for text in texts]
)
def test_a_text_that_would_join_with_a_tag_is_refused(esp, text):
    with pytest.raises(NotExpressible, match="the text for then as code"):
        compiled(esp, "born is set", then=text)
    with pytest.raises(NotExpressible, match="the text for else as code"):
        compiled(esp, "born is set", otherwise=text)


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_the_texts_can_be_insertion_codes(esp):
    text = derive_codes(esp, "TIER" if esp in CAPITALS else "tier").insertion_code
    assert text in compiled(esp, "born is set", then=text, otherwise=text).code


def test_the_prelude_sets_each_variable_once():
    result = compiled("sfmc", 'tier = "a" or tier = "b" or visits > 1')
    assert result.prelude == (
        '%%[ SET @tier = AttributeValue("tier") ]%%%%[ SET @visits = AttributeValue("visits") ]%%'
    )
    assert "SET" not in result.code


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_only_salesforce_has_a_prelude(esp):
    assert (compiled(esp, "born is set").prelude is not None) is (esp == "sfmc")


def test_a_variable_of_two_attributes_is_refused():
    fields = [
        synced_field("sfmc", "My tier", DataType.TEXT, key="first"),
        synced_field("sfmc", "My-Tier", DataType.TEXT, key="second"),
    ]
    with pytest.raises(NotExpressible, match="first and second set the same variable, @My_T"):
        compiled("sfmc", "first is set and second is set", *fields)


def test_a_variable_without_a_known_attribute_is_a_caveat():
    result = compiled("sfmc", "tier is set", manual_field("tier", "@tier"))
    assert result.prelude is None
    assert result.caveats == ("The content must set @tier before this code.",)


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_a_field_without_code_of_its_own_has_the_code_of_its_name(esp):
    expression = derive_codes(esp, "TIER" if esp in CAPITALS else "tier").value_expression
    assert expression in compiled(esp, "tier is set", manual_field("tier", None)).code


def test_a_field_with_an_insertion_code_only_that_is_no_plain_reference_is_refused():
    field = manual_field("tier", None, insertion_code="static")
    with pytest.raises(NotExpressible, match="tier: The field tier has code of its own"):
        compiled("braze", "tier is set", field)


def test_the_warnings_about_names_have_the_places_of_the_comparisons():
    text = "tier is set\nand (visits is set or tier is set)"
    fields = [manual_field("tier", None), manual_field("visits", "$VISITS")]
    (first, *_) = compiled("iterable", text, *fields).warnings
    assert first.code.name == "MISSING_NAME"
    assert [(each.line, each.column) for each in first.places] == [(1, 1), (2, 23)]
    with pytest.raises(NotExpressible, match="the last sync did not find it"):
        compiled("iterable", text, *fields, strict="mistakes")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("teir is set", "There is no field with this key."),
        ("tier > 3", "A text field does not support"),
    ],
)
def test_a_condition_that_does_not_fit_the_fields_is_rejected(text, message):
    for call in (
        lambda: compiled("braze", text),
        lambda: check_condition_for(
            parse_condition(text), FieldCodes.of(synced_fields("braze")), "braze"
        ),
    ):
        with pytest.raises(InvalidCondition) as invalid:
            call()
        (violation,) = invalid.value.violations
        assert message in violation.message
        assert violation.suggestion in {None, "tier"}


HANDLEBARS = ("sendgrid", "iterable")
FOREIGN_EXPRESSIONS = {
    "sfmc": ("[First Name]", "@a b", "contact.tier"),
    "mailchimp": ("*|TIER|*", "TIER=x", "tier"),
    "klaviyo": ("person|lookup:'a'|lower", "tier", "person|lookup:'a' or True"),
    "braze": ("custom_attribute.${a} == 1", "custom_attribute.${a}}", "customer.tier"),
    "customerio": ("customer.tier | upcase", "customer.a.b", "contact.tier"),
    "hubspot": ("contact.tier or true", "contact.TIER", "customer.tier"),
    "sendgrid": ("{{tier}}", "my tier", "a.b"),
    "iterable": ("[a] [b]", "(eq a b)", "my tier"),
    "brevo": ("contact.tier", "contact.TIER|lower", "TIER"),
    "activecampaign": ("%TIER%", "TIER", "$TIER != 'x' && $B"),
    "onesignal": ("{{ tier }}", "tier | upcase", "a.b"),
}


@pytest.mark.parametrize(
    ("esp", "expression"),
    [(esp, each) for esp, expressions in FOREIGN_EXPRESSIONS.items() for each in expressions],
)
def test_an_expression_that_is_not_a_reference_is_not_used(esp, expression):
    """It is ignored if it is certainly a reference of another ESP, and refused otherwise."""
    field = manual_field("tier", expression)
    others = [
        each
        for each in BUILT_IN.esps
        if each not in HANDLEBARS and is_reference(BUILT_IN[each], expression)
    ]
    if others and expression.lower() != "tier":
        assert expression not in compiled(esp, "tier is set", field).code
    else:
        with pytest.raises(NotExpressible, match="tier: the value expression is not a reference"):
            compiled(esp, "tier is set", field)


def test_references_of_standard_fields_are_accepted():
    field = manual_field("first", "${first_name}")
    code = compiled("braze", 'first = "A"', field).code
    assert code == '{% if ${first_name} == "A" %}A{% else %}B{% endif %}'


PAIRS = [f'(tier = "{number}" or visits = {number})' for number in range(12)]


def test_a_normal_form_can_be_that_of_the_negation():
    code = compiled("klaviyo", " and ".join(PAIRS)).code
    tier, visits = "person|lookup:'tier'", "person|lookup:'visits'"
    assert code.startswith(f'{{% if {tier} != "0" and {visits} != 0 or {tier} != "1"')
    assert code.endswith("%}B{% else %}A{% endif %}")
    assert code.count("person") == 24


@pytest.mark.parametrize(
    ("esp", "reason"),
    [
        ("klaviyo", "Without parentheses, this condition has more than 60 alternatives"),
        ("sendgrid", "Nested blocks would contain more than 32 copies of the texts"),
        ("mailchimp", "Nested blocks would contain more than 32 copies of the texts"),
    ],
)
def test_conditions_that_become_too_large_are_refused(esp, reason):
    conjunctions, disjunctions = " and ".join(PAIRS), " or ".join(PAIRS).replace(" or v", " and v")
    with pytest.raises(NotExpressible, match=reason):
        compiled(esp, f"({conjunctions}) and ({disjunctions})")


@pytest.mark.parametrize("esp", ["sfmc", "hubspot", "braze"])
def test_parentheses_and_variables_need_no_more_tests_than_the_condition(esp):
    code = compiled(esp, " and ".join(PAIRS)).code
    assert code.count("==") == 24


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_lists_of_many_values_are_refused(esp):
    values = ", ".join(f'"{number}"' for number in range(101))
    with pytest.raises(NotExpressible, match="more than 100 tests"):
        compiled(esp, f"tier in ({values})")


def test_copies_of_an_empty_text_do_not_count():
    values = ", ".join(f'"a{number}"' for number in range(20))
    text = f"not (visits > 1 and tier in ({values}))"
    compiled("iterable", text, then="", otherwise="B")


def test_small_and_large_numbers_have_no_exponent():
    assert "> 0.0000001 %" in compiled("brevo", "visits > 0.0000001").code
    assert "> 9007199254740991.0 %" in compiled("brevo", "visits > 9007199254740991").code


def texts(number: int) -> str:
    return ", ".join(f'"a{index}"' for index in range(number))


def test_a_normal_form_has_at_most_60_alternatives():
    low, high = (
        " and ".join(f"visits {symbol} {number}" for number in range(1, 9)) for symbol in "<>"
    )
    either = f"({low} or {high})"  # The normal form of its negation has 64 alternatives.
    code = compiled("klaviyo", f"tier in ({texts(30)}) and {either}").code
    assert code.count(" or ") == 59
    with pytest.raises(NotExpressible, match="more than 60 alternatives"):
        compiled("klaviyo", f"tier in ({texts(31)}) and {either}")


def test_tags_of_alternatives_contain_at_most_32_copies():
    both = '(tier = "a" and visits > 1)'
    either = " or ".join(both.replace("1", str(number)) for number in range(1, 33))
    code = compiled("brevo", either, then="yes", otherwise="no").code
    assert (code.count("{% elif "), code.count("yes"), code.count("no")) == (31, 32, 1)
    with pytest.raises(NotExpressible, match="more than 32 alternatives"):
        compiled("brevo", f"{either} or {both.replace('1', '33')}")


def test_nested_blocks_contain_at_most_32_copies():
    code = compiled("iterable", f"tier in ({texts(31)})", then="yes", otherwise="no").code
    assert (code.count("yes"), code.count("no")) == (31, 1)
    with pytest.raises(NotExpressible, match="more than 32 copies"):
        compiled("iterable", f"tier in ({texts(32)})")
    with pytest.raises(NotExpressible, match="more than 32 copies"):
        compiled("iterable", f"not (member or tier in ({texts(32)}))", then="", otherwise="no")


def test_a_condition_has_at_most_100_tests():
    assert compiled("hubspot", f"tier in ({texts(100)})").code.count("==") == 100
    guarded = f"tier in ({texts(98)}) or tier is set"
    assert compiled("hubspot", guarded).code.count("==") == 98
    with pytest.raises(NotExpressible, match="more than 100 tests"):
        compiled("hubspot", f"tier in ({texts(99)}) or tier is set")


@pytest.mark.parametrize("esp", ["braze", "customerio"])
def test_instants_are_compared_from_1970_on(esp):
    code = compiled(esp, 'seen < date "2026-11-20T10:15:00.001+01:00"').code
    assert "seen_milliseconds < 1795166100001 %}" in code
    with pytest.raises(NotExpressible, match="seen: Comparisons with an instant before 1970"):
        compiled(esp, 'seen in (date "2026-11-20T09:15:00Z", date "1969-12-31T23:59:59Z")')


@pytest.mark.parametrize("esp", ["mailchimp", "sendgrid", "iterable"])
def test_nested_blocks_contain_no_more_copies_than_the_formula_needs(esp):
    """For `(a or b) and c or d`, both texts are in the else part of `a`, and of `b`, and of `c`."""
    text = '(tier = "a" or tier = "b") and tier = "c" or tier = "d"'
    code = compiled(esp, text, then="THEN", otherwise="OTHER").code
    assert (code.count("THEN"), code.count("OTHER")) == (5, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tier is set and member", "{{#and tier member}}THEN{{else}}OTHER{{/and}}"),
        ("tier is set or member", "{{#or tier member}}THEN{{else}}OTHER{{/or}}"),
        (
            "tier is not set and born is not set and member",
            "{{#or tier born}}OTHER{{else}}{{#if member}}THEN{{else}}OTHER{{/if}}{{/or}}",
        ),
    ],
)
@pytest.mark.parametrize("esp", HANDLEBARS)
def test_two_tests_of_truth_are_one_test_in_handlebars(esp, text, expected):
    code = compiled(esp, text, then="THEN", otherwise="OTHER").code
    assert code == expected
