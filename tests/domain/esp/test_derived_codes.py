"""Insertion codes: what each dialect derives from a name, and what it rejects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import liquid
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recipient_fields.domain import DataType, InsertionCode, RecipientFieldsError, ValueExpression
from recipient_fields.domain.esp import BUILT_IN, Esp, derive_codes
from recipient_fields.domain.esp.derived_codes import VariableClash, find_clashes
from recipient_fields.domain.esp.errors import NoSafeForm

from .code_parsers import ParsedCodes, braze_as_liquid, field_in_condition, parse_codes
from .strategies import DEFAULTS, NAMES, ORDINARY_DEFAULTS, ORDINARY_NAMES

EVERY_ESP = pytest.mark.parametrize("esp", BUILT_IN.esps)

TEXT = {
    Esp("sfmc"): ("loyalty_tier", "%%=v(@loyalty_tier)=%%", "@loyalty_tier"),
    Esp("mailchimp"): ("TIER", "*|TIER|*", "TIER"),
    Esp("klaviyo"): ("My Tier", "{{ person|lookup:'My Tier' }}", "person|lookup:'My Tier'"),
    Esp("braze"): ("my_tier", "{{custom_attribute.${my_tier}}}", "custom_attribute.${my_tier}"),
    Esp("customerio"): ("loyalty_tier", "{{customer.loyalty_tier}}", "customer.loyalty_tier"),
    Esp("hubspot"): ("loyalty_tier", "{{ contact.loyalty_tier }}", "contact.loyalty_tier"),
    Esp("sendgrid"): ("loyalty_tier", "{{loyalty_tier}}", "loyalty_tier"),
    Esp("iterable"): ("loyaltyTier", "{{loyaltyTier}}", "loyaltyTier"),
    Esp("brevo"): ("LOYALTY_TIER", "{{ contact.LOYALTY_TIER }}", "contact.LOYALTY_TIER"),
    Esp("activecampaign"): ("LOYALTY_TIER", "%LOYALTY_TIER%", "$LOYALTY_TIER"),
    Esp("onesignal"): ("loyalty_tier", "{{ loyalty_tier }}", "loyalty_tier"),
}
"""The name of a field, its insertion code and its value expression."""
WITH_DEFAULT = {
    Esp("sfmc"): '%%=IIf(Empty(@loyalty_tier), "there", @loyalty_tier)=%%',
    Esp("mailchimp"): "*|IF:TIER|**|TIER|**|ELSE:|*there*|END:IF|*",
    Esp("klaviyo"): "{{ person|lookup:'My Tier'|default:'there' }}",
    Esp("braze"): "{{custom_attribute.${my_tier} | default: 'there'}}",
    Esp("customerio"): (
        '{% if customer.loyalty_tier != nil and customer.loyalty_tier != "" %}'
        "{{customer.loyalty_tier}}{% else %}there{% endif %}"
    ),
    Esp("hubspot"): "{{ personalization_token('contact.loyalty_tier', 'there') }}",
    Esp("sendgrid"): '{{insert loyalty_tier "default=there"}}',
    Esp("iterable"): '{{defaultIfEmpty loyaltyTier "there"}}',
    Esp("brevo"): (
        "{% if contact.LOYALTY_TIER %}{{ contact.LOYALTY_TIER }}{% else %}there{% endif %}"
    ),
    Esp("activecampaign"): "%IF $LOYALTY_TIER != ''%%LOYALTY_TIER%%ELSE%there%/IF%",
    Esp("onesignal"): '{{ loyalty_tier | default: "there" }}',
}
NUMBER = {
    Esp("sfmc"): ("loyalty_points", "%%=v(@loyalty_points)=%%", "@loyalty_points"),
    Esp("mailchimp"): ("POINTS", "*|POINTS|*", "POINTS"),
    Esp("klaviyo"): ("My Sum", "{{ person|lookup:'My Sum' }}", "person|lookup:'My Sum'"),
    Esp("braze"): ("My Sum", "{{custom_attribute.${My Sum}}}", "custom_attribute.${My Sum}"),
    Esp("customerio"): ("loyalty_points", "{{customer.loyalty_points}}", "customer.loyalty_points"),
    Esp("hubspot"): ("loyalty_points", "{{ contact.loyalty_points }}", "contact.loyalty_points"),
    Esp("sendgrid"): ("loyalty_points", "{{loyalty_points}}", "loyalty_points"),
    Esp("iterable"): ("Lifetime Value", "{{[Lifetime Value]}}", "[Lifetime Value]"),
    Esp("brevo"): ("LOYALTY_POINTS", "{{ contact.LOYALTY_POINTS }}", "contact.LOYALTY_POINTS"),
    Esp("activecampaign"): ("LOYALTY_POINTS", "%LOYALTY_POINTS%", "$LOYALTY_POINTS"),
    Esp("onesignal"): ("loyalty_points", "{{ loyalty_points }}", "loyalty_points"),
}

REFUSED_NAMES = {
    "sfmc": {"format": ["1st name", "_id"], "invalid_characters": ["a]%%b"]},
    "mailchimp": {
        "format": ["Tier", "1ST", "ELEVEN_CHAR"],
        "invalid_characters": ["A|*B"],
        "reserved": ["ELSE"],
    },
    "klaviyo": {"invalid_characters": ['it\'s "big"', "a}}b", "a\\b"]},
    "braze": {
        "invalid_characters": ["a}b"],
        "format": ["address.city", "a | upcase", "it's", "Discount %", "%", "tier-", "-tier"],
        "reserved": ["size"],
    },
    "customerio": {"format": ["size"], "invalid_characters": ['it\'s "big"', "a}b"]},
    "hubspot": {"format": ["First name", "_name", "n" * 101]},
    "sendgrid": {"format": ["first name", "1st", "n" * 101], "reserved": ["length"]},
    "iterable": {
        "format": ["a[0]", "address..city", "address. Zip Code", "it's"],
        "reserved": ["now", "cart.size"],
    },
    "brevo": {"format": ["first_name", "_NAME", "1ST"]},
    "activecampaign": {"format": ["first"], "invalid_characters": ["100%"], "reserved": ["IF"]},
    "onesignal": {
        "format": ["First name", "_tier", "condition_1"],
        "reserved": ["number_parts", "subscription"],
    },
}
REFUSED_DEFAULTS = {
    "sfmc": {"invalid_characters": ['x")=%%']},
    "mailchimp": {"invalid_characters": ["*|END:IF|*", "|"]},
    "klaviyo": {"invalid_characters": ['l\'ami "x"', "x\\"]},
    "braze": {"invalid_characters": ["{{x}}"]},
    "customerio": {"invalid_characters": ["x}"]},
    "hubspot": {"invalid_characters": ['l\'ami "x"']},
    "sendgrid": {"invalid_characters": ['say "hi"']},
    "iterable": {"invalid_characters": ['l\'ami "x"']},
    "brevo": {"invalid_characters": ["%}{% x"]},
    "activecampaign": {"invalid_characters": ["50% off"]},
}
"""The texts without a safe form of each ESP, by the rule that rejects them."""
LIQUID_WORDS = (
    "and as blank cols contains continue else empty false first for if in last limit nil not null"
    " offset or required reversed true with"
)
HANDLEBARS = "as else false if each log lookup null this true undefined unless with"
RESERVED = {
    Esp("mailchimp"): "IF IFNOT ELSE ELSEIF END ARCHIVE DATE FORWARD REWARDS UNSUB",
    Esp("activecampaign"): "IF ELSE ELSEIF",
    Esp("braze"): "size",
    Esp("onesignal"): (
        "and blank by contains cols empty false forloop in limit nil not null offset or range"
        " reversed tablerowloop true with app data_feed journey message org subscription template"
        " user number_parts"
    ),
    Esp("sendgrid"): (
        f"{HANDLEBARS} and equals formatDate greaterThan insert length lessThan notEquals or root"
    ),
    Esp("iterable"): (
        f"{HANDLEBARS} abbreviate and assign base64 block breaklines capitalize capitalizeFirst"
        " catalog center cut dateFormat dateMath defaultIfEmpty embedded eq groupBy gt gte"
        " hexEncode hmacSHA1 hmacSHA256 i18n i18nJs ifContains ifContainsStr ifEq ifGt ifGte ifLt"
        " ifLte ifMatchesRegexStr ifModEq join ljust lower lt lte math maxInList md5 minInList neq"
        " not now numberFormat or partial precompile profile replace rjust sendSkip sha1 sha256"
        " size slugify snippet sortBy stringFormat stripTags substring timestamp toJson"
        " toUrlEncodedJson upper urlEncode wordWrap yesno"
    ),
}
"""The keywords of each template engine that can't be field names."""

WRITTEN_NAMES = [
    (Esp("sfmc"), 'the "A" list', 'AttributeValue("the ""A"" list")'),
    (Esp("sfmc"), "名前", 'SET @u540D_u524D = AttributeValue("名前")'),
    (Esp("sfmc"), "Имя 2", 'SET @u0418_u043C_u044F_2 = AttributeValue("Имя 2")'),
    (Esp("sfmc"), "Plan 名", 'SET @Plan_u540D = AttributeValue("Plan 名")'),
    (Esp("sfmc"), "की", 'SET @u0915_u0940 = AttributeValue("की")'),
    (Esp("sfmc"), "m²", 'SET @m_ = AttributeValue("m²")'),
    (Esp("sfmc"), "Ủy ban", 'SET @_y_ban = AttributeValue("Ủy ban")'),
    (Esp("sfmc"), "Größe (cm)", 'SET @Gr_e_cm_ = AttributeValue("Größe (cm)")'),
    (Esp("klaviyo"), "it's", 'person|lookup:"it\'s"'),
    (Esp("klaviyo"), "$source", "person|lookup:'$source'"),
    (Esp("braze"), "日本 №1", "custom_attribute.${日本 №1}"),
    (Esp("customerio"), "plan-name", 'customer["plan-name"]'),
    (Esp("customerio"), "address.city", 'customer["address.city"]'),
    (Esp("customerio"), 'the "A" list', "customer['the \"A\" list']"),
    (Esp("customerio"), "first", 'customer["first"]'),
    (Esp("customerio"), "if", 'customer["if"]'),
    (Esp("iterable"), "1st", "[1st]"),
    (Esp("iterable"), "address.city", "address.city"),
    (Esp("iterable"), "address.Zip Code", "address.[Zip Code]"),
    (Esp("iterable"), "User Signed Up.First Name", "[User Signed Up].[First Name]"),
    (Esp("sendgrid"), "first_name", "first_name"),
]
WRITTEN_DEFAULTS = [
    (Esp("sfmc"), 'say "hi" 50%', '"say ""hi"" 50%"'),
    (Esp("mailchimp"), "5* | all", "|*5* | all*|"),
    (Esp("klaviyo"), "l'ami", 'default:"l\'ami"'),
    (Esp("braze"), "l'ami", 'default: "l\'ami"'),
    (Esp("customerio"), 'say "hi"', '{% else %}say "hi"{% endif %}'),
    (Esp("hubspot"), "l'ami", ', "l\'ami")'),
    (Esp("sendgrid"), "l'ami", '"default=l\'ami"'),
    (Esp("iterable"), 'say "hi"', "'say \"hi\"'"),
    (Esp("brevo"), "l'ami", "{% else %}l'ami{% endif %}"),
    (Esp("activecampaign"), "l'ami", "%ELSE%l'ami%/IF%"),
]


def refusal(esp: Esp, name: str, **options: Any) -> tuple[list[str], str]:
    """Return the violations of a name or a default without a safe form, and the message."""
    with pytest.raises(NoSafeForm) as refused:
        derive_codes(esp, name, **options)
    violations = [f"{'.'.join(map(str, v.path))}: {v.rule.value}" for v in refused.value.violations]
    return violations, str(refused.value)


@pytest.mark.parametrize(("data_type", "table"), [(DataType.TEXT, TEXT), (DataType.NUMBER, NUMBER)])
@EVERY_ESP
def test_each_dialect_derives_the_documented_codes(esp, data_type, table):
    name, code, expression = table[esp]
    codes = derive_codes(esp, name, data_type=data_type)
    assert (codes.insertion_code, codes.value_expression) == (code, expression)


@EVERY_ESP
def test_each_dialect_derives_a_code_with_a_default(esp):
    name, _, expression = TEXT[esp]
    codes = derive_codes(esp, name, default="there")
    assert (codes.insertion_code, codes.value_expression) == (WITH_DEFAULT[esp], expression)


@EVERY_ESP
def test_only_salesforce_sets_a_variable_before_use(esp):
    codes = derive_codes(esp, TEXT[esp][0], default="there")
    prelude = '%%[ SET @loyalty_tier = AttributeValue("loyalty_tier") ]%%'
    assert codes.prelude == (prelude if esp == Esp("sfmc") else None)


@pytest.mark.parametrize(
    ("esp", "code", "expression", "with_default"),
    [
        (Esp("braze"), "{{${first_name}}}", "${first_name}", "{{${first_name} | default: 'you'}}"),
        (Esp("klaviyo"), "{{ first_name }}", "first_name", "{{ first_name|default:'you' }}"),
    ],
)
def test_braze_and_klaviyo_write_their_standard_fields_differently(
    esp, code, expression, with_default
):
    codes = derive_codes(esp, "first_name", standard=True)
    assert (codes.insertion_code, codes.value_expression) == (code, expression)
    assert (
        derive_codes(esp, "first_name", standard=True, default="you").insertion_code == with_default
    )
    assert derive_codes(esp, "first_name").value_expression != expression


@pytest.mark.parametrize("name", ["phone_number", "organization"])
def test_klaviyo_writes_some_standard_fields_as_attributes_of_the_person(name):
    codes = derive_codes(Esp("klaviyo"), name, standard=True)
    assert codes.insertion_code == f"{{{{ person.{name} }}}}"
    assert codes.value_expression == f"person.{name}"


@pytest.mark.parametrize(
    "esp", sorted(set(BUILT_IN.esps) - {Esp("braze"), Esp("klaviyo"), Esp("onesignal")}, key=str)
)
def test_other_dialects_write_standard_fields_like_custom_ones(esp):
    name = TEXT[esp][0]
    assert derive_codes(esp, name, standard=True) == derive_codes(esp, name)


@pytest.mark.parametrize(
    ("esp", "name"),
    [(Esp("klaviyo"), "Loyalty Tier"), (Esp("braze"), "Loyalty Tier"), (Esp("onesignal"), "tier")],
)
def test_a_name_that_can_not_be_a_standard_field_is_rejected(esp, name):
    assert refusal(esp, name, standard=True)[0] == ["name: format"]


@pytest.mark.parametrize(("esp", "name", "part"), WRITTEN_NAMES)
def test_an_unusual_name_has_a_safe_form(esp, name, part):
    codes = derive_codes(esp, name)
    assert part in (codes.prelude or codes.value_expression)
    assert parse_codes(esp, codes) == ParsedCodes(name, None)


def test_a_keyword_of_liquid_is_written_in_brackets():
    words = LIQUID_WORDS.split()
    written = [derive_codes(Esp("customerio"), word).value_expression for word in words]
    assert written == [f'customer["{word}"]' for word in words]


@pytest.mark.parametrize(("esp", "words"), RESERVED.items())
def test_a_reserved_name_is_rejected(esp, words):
    for word in words.split():
        assert refusal(esp, word)[0] == ["name: reserved"], word
        assert derive_codes(esp, f"{word[:8]}1")


@pytest.mark.parametrize(("esp", "default", "part"), WRITTEN_DEFAULTS)
def test_an_unusual_default_has_a_safe_form(esp, default, part):
    name = TEXT[esp][0]
    codes = derive_codes(esp, name, default=default)
    assert part in codes.insertion_code
    assert parse_codes(esp, codes) == ParsedCodes(name, default)


def refused(table: Mapping[str, Mapping[str, Sequence[str]]]) -> list[tuple[Esp, str, str]]:
    """Return a row for each text: the ESP, the rule and the text."""
    rules = [(Esp(esp), *each) for esp, texts in table.items() for each in texts.items()]
    return [(esp, rule, text) for esp, rule, texts in rules for text in texts]


@pytest.mark.parametrize(("esp", "rule", "name"), refused(REFUSED_NAMES))
def test_a_name_without_a_safe_form_is_rejected(esp, rule, name):
    violations, message = refusal(esp, name)
    assert violations == [f"name: {rule}"]
    assert BUILT_IN[esp].title in message


@pytest.mark.parametrize(("esp", "rule", "default"), refused(REFUSED_DEFAULTS))
def test_a_default_without_a_safe_form_is_rejected(esp, rule, default):
    violations, message = refusal(esp, TEXT[esp][0], default=default)
    assert violations == [f"default: {rule}"]
    assert BUILT_IN[esp].title in message


@EVERY_ESP
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "blank"),
        (" ", "blank"),
        ("A\nB", "invalid_characters"),
        ("A\0", "invalid_characters"),
        ("A\ud800", "invalid_characters"),
        ("A" * 256, "too_long"),
    ],
    ids=["empty", "white space", "two lines", "null", "lone surrogate", "long"],
)
def test_violations_of_the_name_and_the_default_are_reported_together(esp, text, rule):
    assert refusal(esp, text, default=text)[0] == [f"name: {rule}", f"default: {rule}"]


@EVERY_ESP
@pytest.mark.parametrize("space", [" ", "\u00a0"])
def test_white_space_around_a_name_is_rejected(esp, space):
    for name in (TEXT[esp][0] + space, space + TEXT[esp][0]):
        assert refusal(esp, name)[0] == ["name: format"]


@EVERY_ESP
@pytest.mark.parametrize("text", ["hunter2'\"", "hunter2}}%%|*", "hunter2\n", "h u n t e r 2."])
def test_no_message_repeats_what_was_sent(esp, text):
    _, message = refusal(esp, text, default="hunter2 %% {{ |* '\"")
    assert "hunter2" not in message
    assert text not in message


def test_no_safe_form_is_an_error_of_this_package():
    assert issubclass(NoSafeForm, RecipientFieldsError)


@EVERY_ESP
@given(data=st.data())
def test_every_derived_code_inserts_only_its_field_and_its_default(esp, data):
    name = data.draw(NAMES[esp])
    default = data.draw(st.none() | DEFAULTS)
    data_type = data.draw(st.sampled_from(DataType))
    standard = data.draw(st.booleans())
    try:
        codes = derive_codes(esp, name, data_type=data_type, standard=standard, default=default)
    except NoSafeForm:
        return
    assert parse_codes(esp, codes, standard=standard) == ParsedCodes(name, default)
    assert isinstance(codes.insertion_code, InsertionCode)
    assert isinstance(codes.value_expression, ValueExpression)
    expression = codes.value_expression
    if esp == Esp("activecampaign") and default is None:
        assert codes.insertion_code == f"%{expression.removeprefix('$')}%"
    else:
        assert expression in codes.insertion_code


@pytest.mark.parametrize(
    "esp",
    [Esp("klaviyo"), Esp("braze"), Esp("customerio"), Esp("hubspot"), Esp("brevo")],
    ids=lambda esp: esp,
)
@given(data=st.data())
def test_a_condition_on_the_expression_evaluates_only_its_field(esp, data):
    name, standard = data.draw(NAMES[esp]), data.draw(st.booleans())
    try:
        expression = derive_codes(esp, name, standard=standard).value_expression
    except NoSafeForm:
        return
    assert field_in_condition(esp, expression, standard=standard) == name


@EVERY_ESP
@given(data=st.data())
def test_ordinary_names_and_defaults_are_never_rejected(esp, data):
    name = data.draw(ORDINARY_NAMES[esp])
    default = data.draw(st.none() | ORDINARY_DEFAULTS)
    assume(name not in BUILT_IN[esp].names.reserved)
    codes = derive_codes(esp, name, default=default)
    assert parse_codes(esp, codes) == ParsedCodes(name, default)


@EVERY_ESP
@given(data=st.data())
def test_the_default_does_not_change_the_expression_or_the_prelude(esp, data):
    name = data.draw(ORDINARY_NAMES[esp])
    assume(name not in BUILT_IN[esp].names.reserved)
    plain = derive_codes(esp, name)
    other = derive_codes(esp, name, default=data.draw(ORDINARY_DEFAULTS))
    assert (plain.value_expression, plain.prelude) == (other.value_expression, other.prelude)


HIDDEN = {
    Esp("klaviyo"): {DataType.NUMBER: "0", DataType.BOOLEAN: "False"},
    Esp("braze"): {DataType.BOOLEAN: "false"},
    Esp("iterable"): {DataType.NUMBER: "0", DataType.BOOLEAN: "false"},
    Esp("brevo"): {DataType.NUMBER: "0", DataType.BOOLEAN: "False"},
}


@EVERY_ESP
@pytest.mark.parametrize("data_type", DataType)
def test_a_default_that_would_replace_another_value_is_rejected(esp, data_type):
    name = TEXT[esp][0]
    shown = HIDDEN.get(esp, {}).get(data_type)
    if shown is None:
        assert (
            parse_codes(esp, derive_codes(esp, name, data_type=data_type, default="7")).default
            == "7"
        )
        return
    derived = derive_codes(esp, name, data_type=data_type, default=shown)
    assert parse_codes(esp, derived) == ParsedCodes(name, shown)
    assert refusal(esp, name, data_type=data_type, default="7")[0] == ["default: not_applicable"]


@pytest.mark.parametrize(
    ("esp", "root"), [(Esp("braze"), "custom_attribute"), (Esp("customerio"), "customer")]
)
def test_a_liquid_default_does_not_replace_false_or_zero(esp, root):
    for data_type, default, value, shown in [
        (DataType.BOOLEAN, "false", False, "false"),
        (DataType.NUMBER, "none", 0, "0"),
    ]:
        code = derive_codes(esp, "vip", data_type=data_type, default=default).insertion_code
        assert liquid.parse(braze_as_liquid(code)).render(**{root: {"vip": value}}) == shown


class TestVariableClashes:
    def test_names_with_the_same_variable_are_reported_in_order(self):
        names = ["First Name", "Tier", "first-name", "FIRST_NAME", "Größe", "Gr@e"]
        assert find_clashes(BUILT_IN[Esp("sfmc")], names) == (
            VariableClash("@First_Name", ("First Name", "first-name", "FIRST_NAME")),
            VariableClash("@Gr_e", ("Größe", "Gr@e")),
        )

    def test_names_in_other_scripts_have_distinct_variables(self):
        names = ["名前", "日付", "Имя", "Дата", "名前 2", "日付 2", "का", "की", "٣ نقاط", "نقاط"]
        names += ["プランⅠ", "プランⅡ", "プラン①", "プラン②"]
        assert find_clashes(BUILT_IN[Esp("sfmc")], names) == ()

    def test_a_name_does_not_clash_with_itself(self):
        assert find_clashes(BUILT_IN[Esp("sfmc")], ["Tier", "Tier"]) == ()

    def test_names_without_a_safe_form_are_ignored(self):
        assert find_clashes(BUILT_IN[Esp("sfmc")], ["A %%", "A_", "A ?"]) == (
            VariableClash("@A_", ("A_", "A ?")),
        )

    @pytest.mark.parametrize("esp", sorted(set(BUILT_IN.esps) - {Esp("sfmc")}, key=str))
    def test_no_other_dialect_has_variables(self, esp):
        assert (
            find_clashes(BUILT_IN[esp], [*(x[0] for x in TEXT.values()), "a b", "a-b", "A-B"]) == ()
        )

    @given(names=st.lists(NAMES[Esp("sfmc")], max_size=6))
    def test_a_name_that_is_not_reported_has_a_unique_variable(self, names):
        reported = {
            name for clash in find_clashes(BUILT_IN[Esp("sfmc")], names) for name in clash.names
        }
        variables: dict[str, set[str]] = {}
        for name in names:
            try:
                variable = derive_codes(Esp("sfmc"), name).value_expression.lower()
            except NoSafeForm:
                assert name not in reported
                continue
            others = variables.setdefault(variable, set())
            others.add(name)
        for others in variables.values():
            assert others <= reported if len(others) > 1 else others.isdisjoint(reported)
