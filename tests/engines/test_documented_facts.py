"""The engines do what the documentation of the ESPs and of the template languages states."""

from __future__ import annotations

import pytest

from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.esp.profiles.profile import Engine

from .errors import NotRendered
from .rendering import render, render_all


def liquid(condition: str) -> str:
    return f"{{% if {condition} %}}yes{{% else %}}no{{% endif %}}"


def ampscript(condition: str) -> str:
    return (
        '%%[ SET @tier = AttributeValue("Tier") SET @n = AttributeValue("N") ]%%'
        f"%%[ IF {condition} THEN ]%%yes%%[ ELSE ]%%no%%[ ENDIF ]%%"
    )


def mailchimp(condition: str) -> str:
    return f"*|{condition}|*yes*|ELSE:|*no*|END:IF|*"


def activecampaign(condition: str) -> str:
    return f"%IF {condition}%yes%ELSE%no%/IF%"


def handlebars(opening: str) -> str:
    return f"{{{{#{opening}}}}}yes{{{{else}}}}no{{{{/{opening.split()[0]}}}}}"


FACTS = [
    # Shopify: "operators are checked from right to left. You cannot change the order".
    (Esp("customerio"), liquid("false and false or true"), {}, "no"),
    (Esp("customerio"), liquid("true or false and false"), {}, "yes"),
    # Shopify: all values are truthy but nil and false, also empty text.
    (Esp("customerio"), liquid("customer.tier"), {"tier": ""}, "yes"),
    (Esp("customerio"), liquid("customer.n"), {"n": 0}, "yes"),
    (Esp("customerio"), liquid("customer.tier"), {}, "no"),
    (Esp("customerio"), liquid("customer.tier"), {"tier": None}, "no"),
    (Esp("customerio"), liquid("customer.vip"), {"vip": False}, "no"),
    # Shopify: "contains checks for the presence of a substring".
    (Esp("customerio"), liquid("customer.tier contains 'ol'"), {"tier": "gold"}, "yes"),
    (Esp("customerio"), liquid("customer.tier contains 'OL'"), {"tier": "gold"}, "no"),
    (Esp("customerio"), liquid("customer['my tier'] == \"gold\""), {"my tier": "gold"}, "yes"),
    # Braze: `blank` matches nil, empty text and white space.
    (Esp("braze"), liquid("custom_attribute.${My tier} == blank"), {}, "yes"),
    (Esp("braze"), liquid("custom_attribute.${My tier} == blank"), {"My tier": " "}, "yes"),
    (Esp("braze"), liquid("custom_attribute.${My tier} == blank"), {"My tier": "x"}, "no"),
    # OneSignal's page has these examples.
    (Esp("onesignal"), 'Hello {{ first_name | default: "there" }}.', {}, "Hello there."),
    (Esp("onesignal"), liquid('level == "1"'), {"level": 1}, "yes"),
    (Esp("onesignal"), liquid("true or false and false"), {}, "yes"),
    (
        Esp("onesignal"),
        '{{ bill_due | date: "%a, %b %d, %y" }}',
        {"bill_due": 1687968776},
        "Wed, Jun 28, 23",
    ),
    (Esp("braze"), "{{${first_name}}}, ${first_name}", {"first_name": "Ann"}, "Ann, ${first_name}"),
    # Jinjava: `or` returns a value, and `default` replaces null, or with true each false value.
    *(
        (Esp("hubspot"), f"{{{{ contact.city{code} }}}}", values, expected)
        for code, values, expected in (
            *(
                (" or 'x'", {}, "x"),
                (" or 'x'", {"city": ""}, "x"),
                (" or 'x'", {"city": "a"}, "a"),
            ),
            *(("|default('x')", {}, "x"), ("|default('x')", {"city": ""}, "")),
            *(
                ("|default('x', true)", {"city": ""}, "x"),
                ("|default('x', true)", {"city": 0}, "x"),
            ),
            ("|default('x', true)", {"city": "a"}, "a"),
        )
    ),
    # Klaviyo: {% if person|lookup:'Loyalty Points' > 150 %}
    (
        Esp("klaviyo"),
        liquid("person|lookup:'Loyalty Points' > 150"),
        {"Loyalty Points": 151},
        "yes",
    ),
    (Esp("klaviyo"), liquid("first_name == 'Ann'"), {"first_name": "Ann"}, "yes"),
    # Django: a comparison that fails is false.
    (Esp("brevo"), liquid("contact.N < 5"), {}, "no"),
    (Esp("brevo"), liquid("not contact.N < 5"), {}, "yes"),
    (Esp("brevo"), liquid("contact.N"), {"N": 0}, "no"),
    # Django: `and` has a higher precedence than `or`.
    (Esp("brevo"), liquid("contact.A or contact.B and contact.C"), {"A": True}, "yes"),
    (Esp("brevo"), liquid("'ol' in contact.TIER"), {"TIER": "gold"}, "yes"),
    # HubL: `and`, `or`, parentheses and expression tests.
    (Esp("hubspot"), liquid("contact.a == 'x' and (contact.b or contact.c)"), {"a": "x"}, "no"),
    (Esp("hubspot"), liquid("contact.tier is string_containing 'ol'"), {"tier": "gold"}, "yes"),
    (Esp("hubspot"), liquid("contact.tier is defined"), {}, "no"),
    (Esp("hubspot"), liquid("contact.tier is none"), {}, "yes"),
    (Esp("hubspot"), liquid("'ol' in contact.tier"), {"tier": "gold"}, "yes"),
    # Jinjava, ObjectTruthValue: 0, an empty text and the text "false" are false.
    (Esp("hubspot"), liquid("contact.n"), {"n": 0}, "no"),
    (Esp("hubspot"), liquid("contact.n"), {"n": -1}, "yes"),
    (Esp("hubspot"), liquid("contact.tier"), {"tier": "False"}, "no"),
    # Jinjava, FloatFilter: numbers in single precision
    (Esp("hubspot"), liquid("contact.n|float >= 99.99"), {"n": 99.99}, "no"),
    (Esp("hubspot"), liquid("contact.n|float < 99.99"), {"n": "99.99"}, "yes"),
    (Esp("hubspot"), liquid("contact.n|float == 16777217"), {"n": 16777217}, "no"),
    (Esp("hubspot"), liquid("contact.n|float == 16777216"), {"n": 16777216}, "yes"),
    (Esp("hubspot"), liquid("contact.n|float == 0"), {}, "yes"),
    # Jinjava: the type of one side decides how values are compared. Null equals null only.
    (Esp("hubspot"), liquid("contact.n >= 99.99"), {"n": 99.99}, "yes"),
    (Esp("hubspot"), liquid("contact.n == 3"), {"n": "3"}, "yes"),
    (Esp("hubspot"), liquid("contact.n == 3.0"), {"n": 3}, "yes"),
    (Esp("hubspot"), liquid("contact.n < 3.0"), {"n": "0.5"}, "yes"),
    (Esp("hubspot"), liquid("contact.n > 3"), {}, "no"),
    (Esp("hubspot"), liquid("contact.n <= 3"), {"n": None}, "no"),
    (Esp("hubspot"), liquid("contact.n == 0"), {}, "no"),
    (Esp("hubspot"), liquid("contact.n == 0"), {"n": ""}, "yes"),
    (Esp("hubspot"), liquid("contact.n in [0, 7]"), {}, "yes"),
    (Esp("hubspot"), liquid("contact.n in [1, 7]"), {"n": "7"}, "yes"),
    (Esp("hubspot"), liquid("contact.n in [7, 'x']"), {"n": "gold"}, "no"),
    (Esp("hubspot"), liquid("contact.vip == true"), {"vip": "True"}, "yes"),
    (Esp("hubspot"), liquid("contact.vip == true"), {"vip": False}, "no"),
    (Esp("hubspot"), liquid("contact.vip == true"), {}, "no"),
    (Esp("hubspot"), liquid("contact.vip == false"), {"vip": ""}, "yes"),
    (Esp("hubspot"), liquid("contact.vip == false"), {}, "no"),
    (Esp("hubspot"), liquid('contact.n != ""'), {"n": 0}, "no"),
    (Esp("hubspot"), liquid('contact.vip != ""'), {"vip": False}, "no"),
    (Esp("hubspot"), liquid('contact.n ~ "" != ""'), {"n": 0}, "yes"),
    (Esp("hubspot"), liquid('contact.vip ~ "" == "false"'), {"vip": False}, "yes"),
    (Esp("hubspot"), liquid('contact.n ~ "" != ""'), {}, "no"),
    (Esp("hubspot"), liquid("contact.tier is string_containing 'OL'"), {"tier": "gold"}, "no"),
    (Esp("hubspot"), liquid("contact.tier is string_containing 'ol'"), {}, "no"),
    # Java writes numbers in this form.
    (Esp("hubspot"), "{{ contact.n }} {{ contact.tier }}", {"n": 2, "tier": "x"}, "2 x"),
    (Esp("hubspot"), "{{ contact.n }} {{ contact.vip }}", {"n": 3.0, "vip": True}, "3.0 true"),
    (Esp("hubspot"), "{{ contact.n }}", {"n": 12345678.5}, "1.23456785E7"),
    (Esp("hubspot"), "{{ contact.n }}", {"n": 1e7}, "1.0E7"),
    # SendGrid: "empty strings, zero integers, and zero floating point numbers evaluate to false".
    (Esp("sendgrid"), handlebars("if n"), {"n": 0}, "no"),
    (Esp("sendgrid"), handlebars("if n"), {"n": -1}, "yes"),
    (Esp("sendgrid"), handlebars("if tier"), {"tier": ""}, "no"),
    (Esp("sendgrid"), handlebars("unless vip"), {"vip": False}, "yes"),
    (Esp("sendgrid"), handlebars('equals 3 "3"'), {}, "yes"),
    (Esp("sendgrid"), handlebars("and food drink"), {"food": "Pasta", "drink": ""}, "no"),
    (Esp("sendgrid"), handlebars("or runner cyclist"), {"runner": True, "cyclist": False}, "yes"),
    (Esp("sendgrid"), handlebars("greaterThan a b"), {"a": 100, "b": 78}, "yes"),
    (Esp("sendgrid"), handlebars("lessThan a b"), {"a": 100, "b": 78}, "no"),
    (Esp("sendgrid"), handlebars("greaterThan (length tier) 0"), {"tier": "gold"}, "yes"),
    # "a time in either epoch or ISO8601 format", and an offset from UTC
    (Esp("sendgrid"), '{{formatDate d "YYYYMMDD"}}', {"d": "2026-11-20"}, "20261120"),
    (
        Esp("sendgrid"),
        '{{formatDate d "YYYYMMDDHHmmss" "+0000"}}',
        {"d": "2026-11-20T00:30:00.500+01:00"},
        "20261119233000",
    ),
    # Iterable: subexpressions, and `#ifEq` for "numbers represented as strings, longs, and doubles"
    (Esp("iterable"), handlebars('and (eq tier "gold") vip'), {"tier": "gold", "vip": True}, "yes"),
    (Esp("iterable"), handlebars("ifEq n 3"), {"n": "3"}, "yes"),
    (Esp("iterable"), handlebars("ifEq n 3"), {}, "no"),
    (Esp("iterable"), handlebars("ifGte [My n] 3"), {"My n": 3}, "yes"),
    # Handlebars.java, ConditionalHelpers: values of different types are not equal.
    (Esp("iterable"), handlebars("eq vip false"), {"vip": False}, "yes"),
    (Esp("iterable"), handlebars("eq vip false"), {"vip": "false"}, "no"),
    (Esp("iterable"), handlebars('eq vip "false"'), {"vip": False}, "no"),
    (Esp("iterable"), handlebars("eq vip false"), {"vip": ""}, "no"),
    (Esp("iterable"), handlebars("eq vip false"), {}, "no"),
    # A guide: dates are compared in a format that consists of digits.
    (
        Esp("iterable"),
        '{{dateFormat d format="yyyyMMddHHmmss" tz="UTC"}}',
        {"d": "2026-11-20T00:30:00.500+01:00"},
        "20261119233000",
    ),
    (
        Esp("iterable"),
        handlebars('ifLt (dateFormat d format="yyyyMMddHHmmss" tz="UTC") "20170630000000"'),
        {"d": "2017-06-29T23:59:59Z"},
        "yes",
    ),
    (Esp("iterable"), handlebars("if n"), {"n": 0}, "no"),
    (Esp("iterable"), handlebars("if address.city"), {"address.city": "Bonn"}, "yes"),
    (Esp("sendgrid"), handlebars("equals vip false"), {"vip": False}, "yes"),
    (Esp("sendgrid"), handlebars("equals vip false"), {}, "no"),
    (Esp("iterable"), handlebars('ifContainsStr tier "ol"'), {"tier": "gold"}, "yes"),
    # Mailchimp: "no value for MERGE is provided, the condition will evaluate as false".
    (Esp("mailchimp"), mailchimp("IF:TIER=gold"), {}, "no"),
    (Esp("mailchimp"), mailchimp("IF:TIER=gold"), {"TIER": "gold"}, "yes"),
    (Esp("mailchimp"), mailchimp("IF:TIER!=gold"), {"TIER": "blue"}, "yes"),
    (Esp("mailchimp"), mailchimp("IFNOT:TIER"), {}, "yes"),
    (Esp("mailchimp"), "*|IF:T=x|*1*|ELSEIF:T=y|*2*|ELSEIF:T=y|*3*|END:IF|*", {"T": "y"}, "2"),
    (
        Esp("mailchimp"),
        "*|IF:A=x|**|IF:B=y|*both*|END:IF|**|END:IF|*",
        {"A": "x", "B": "y"},
        "both",
    ),
    (Esp("activecampaign"), activecampaign("$TIER == 'gold'"), {"TIER": "gold"}, "yes"),
    (Esp("activecampaign"), activecampaign("$TIER != ''"), {}, "no"),
    (Esp("activecampaign"), activecampaign("$A == 'x' && $B == 'y'"), {"A": "x", "B": "y"}, "yes"),
    (Esp("activecampaign"), "%IF $A == 'x'%1%ELSEIF $A == 'y'%2%/IF%", {"A": "y"}, "2"),
    # AMPscript: comparisons "are not case-sensitive"; quotes are doubled; IndexOf counts from 1.
    (Esp("sfmc"), ampscript('@tier == "GOLD"'), {"Tier": "gold"}, "yes"),
    (Esp("sfmc"), ampscript('@tier == "a ""b"""'), {"Tier": 'a "b"'}, "yes"),
    (Esp("sfmc"), ampscript("Empty(@tier)"), {}, "yes"),
    (
        Esp("sfmc"),
        ampscript('DateDiff("2026-11-20", @n, "D") == 1'),
        {"N": "2026-11-21"},
        "yes",
    ),
    (Esp("sfmc"), ampscript("Empty(@n)"), {"N": 0}, "no"),
    (Esp("sfmc"), ampscript("@n >= -0.5 and (@n < 1 or @n > 9)"), {"N": "0"}, "yes"),
    (Esp("sfmc"), ampscript('IndexOf(@tier, "ol") == 2'), {"Tier": "gold"}, "yes"),
    (Esp("sfmc"), ampscript('IndexOf(@tier, "x") > 0'), {"Tier": "gold"}, "no"),
    # SalesforceLabs/ampscript-core: IndexOf ignores case, texts are compared by value if one is a
    # number, and the others are 0 then.
    (Esp("sfmc"), ampscript('IndexOf(@tier, "OL") > 0'), {"Tier": "gold"}, "yes"),
    (Esp("sfmc"), ampscript('@tier == "07"'), {"Tier": "7"}, "yes"),
    (Esp("sfmc"), ampscript('@tier == "gold"'), {"Tier": "0"}, "yes"),
    (Esp("sfmc"), ampscript('@tier == "gold"'), {"Tier": "1"}, "no"),
    (Esp("sfmc"), ampscript('Concat("=", @tier) == Concat("=", "gold")'), {"Tier": "0"}, "no"),
    (Esp("sfmc"), ampscript("(not Empty(@tier)) and @n == 1"), {"Tier": "x", "N": 1}, "yes"),
    # Its tests of ProperCase and URLEncode, which were made on Marketing Cloud
    (Esp("sfmc"), '%%=ProperCase("BA1R.B BR.OWN")=%%', {}, "Ba1r.b Br.own"),
    (Esp("sfmc"), '%%=URLEncode("a: サ", 1, 1)=%%', {}, "a%3a+%e3%82%b5"),
    (Esp("sfmc"), '%%=Replace(URLEncode("a b+c", 1, 1), "+", "%20")=%%', {}, "a%20b%2bc"),
]

NOT_ESTABLISHED: list[tuple[Esp, str, dict[str, object]]] = [
    # LiquidJS orders null like 0, Ruby does not.
    (Esp("customerio"), liquid("customer.n < 5"), {"n": None}),
    (Esp("customerio"), liquid("not customer.n"), {}),
    (Esp("customerio"), liquid("(customer.n == 1) or customer.m"), {}),
    (Esp("customerio"), liquid("customer.n == 1 customer.m"), {}),
    (Esp("customerio"), liquid('customer.tier == "a\\"b"'), {}),
    (Esp("customerio"), liquid('customer.tier == "%}"'), {}),
    (Esp("customerio"), liquid("customer.tier | size > 1"), {}),
    (Esp("braze"), liquid("custom_attribute.${n} > 1"), {"n": "2"}),
    (Esp("onesignal"), liquid("level > 1"), {"level": "2"}),
    (Esp("klaviyo"), liquid("(first_name == 'Ann')"), {}),
    (Esp("klaviyo"), "{% now 'Y' %}", {}),
    (Esp("brevo"), liquid("contact.TIER == 'a\\'b'"), {}),
    (Esp("brevo"), liquid("contact.N == None"), {}),
    # Jinjava: an integer is compared with integers only, and a test after a filter is an error.
    (Esp("hubspot"), liquid("contact.n > 3"), {"n": "0.5"}),
    (Esp("hubspot"), liquid("contact.n > 3.0"), {"n": "x"}),
    (Esp("hubspot"), liquid("contact.n == 3"), {"n": True}),
    (Esp("hubspot"), liquid("contact.tier|lower is string_containing 'ol'"), {"tier": "gold"}),
    (Esp("hubspot"), liquid("not contact.n == 3"), {"n": 3}),
    (Esp("hubspot"), liquid("contact.n is even"), {"n": 3}),
    # Handlebars would read null and "" as 0.
    (Esp("sendgrid"), handlebars("greaterThan n -1"), {"n": None}),
    (Esp("sendgrid"), handlebars("greaterThan n -1"), {"n": ""}),
    (Esp("sendgrid"), handlebars('notEquals n "3"'), {"n": 3}),
    (Esp("sendgrid"), '{{formatDate d "YYYY"}}', {}),
    (Esp("sendgrid"), '{{formatDate d "YYYY"}}', {"d": "2026-11-20T00:30:00+01:00"}),
    (Esp("sendgrid"), '{{formatDate d "YYYYMMDDHHmmssSSS"}}', {"d": "2026-11-20T00:30:00Z"}),
    (Esp("sendgrid"), handlebars('and (equals tier "gold") vip'), {}),
    (Esp("sendgrid"), '{{#equals a "x"}}1{{else equals a "y"}}2{{/equals}}', {}),
    (Esp("sendgrid"), "{{^if n}}no{{/if}}", {}),
    (Esp("sendgrid"), handlebars('equals tier "a\\"b"'), {}),
    (Esp("sendgrid"), handlebars('ifEq tier "gold"'), {}),
    # Iterable: "If an lt expression references a non-existent or null field", the template fails.
    (Esp("iterable"), handlebars("ifLt n 5"), {}),
    (Esp("iterable"), handlebars("if (gte n 5)"), {"n": None}),
    (Esp("iterable"), handlebars('ifContainsStr tier "ol"'), {"tier": ""}),
    (Esp("iterable"), handlebars("ifGte n 3"), {"n": "5"}),
    (Esp("sendgrid"), handlebars("equals vip false"), {"vip": ""}),
    # Iterable: "both arguments passed to eq must be of the same type: double or long".
    (Esp("iterable"), handlebars("eq n 5"), {"n": 5}),
    (Esp("mailchimp"), mailchimp("IF:TIER=gold"), {"TIER": "Gold"}),
    (Esp("mailchimp"), mailchimp("IF:VIP=true"), {"VIP": True}),
    (Esp("mailchimp"), mailchimp("IF:N>3"), {}),
    (Esp("mailchimp"), mailchimp("IF:A=x and B=y"), {"A": "x", "B": "y"}),
    (Esp("mailchimp"), "*|IF:A=x|*yes", {"A": "x"}),
    (Esp("mailchimp"), "yes*|END:IF|*", {}),
    (Esp("mailchimp"), "*|IF:A=x|*1*|ELSE:|*2*|ELSE:|*3*|END:IF|*", {"A": "y"}),
    (Esp("activecampaign"), activecampaign("$N == '1.0'"), {"N": "1"}),
    (Esp("activecampaign"), activecampaign("$N > 1"), {}),
    (Esp("activecampaign"), activecampaign("in_string('ol', $TIER)"), {"TIER": "gold"}),
    (Esp("activecampaign"), activecampaign("$A == 'x' && $B == 'y' || $C == 'z'"), {"C": "z"}),
    (Esp("activecampaign"), activecampaign("$A == 'it\\'s'"), {}),
    (Esp("sfmc"), ampscript("@n < 5"), {}),
    (Esp("sfmc"), ampscript('@tier == ""'), {}),
    (Esp("sfmc"), ampscript("@n == 0"), {}),
    (Esp("sfmc"), ampscript('DateDiff("2026-11-20", @n, "D") > 1'), {}),
    (Esp("sfmc"), ampscript('DateDiff("2026-11-20", @n, "H") > 1'), {"N": "2026-11-21"}),
    # A guide: "String operands can only use == or != operators for comparison."
    (Esp("sfmc"), ampscript('Format(@n, "yyyyMMdd", "Date", "en-US") > 1'), {"N": "2026-11-20"}),
    (Esp("sfmc"), ampscript("@n == false"), {}),
    (Esp("sfmc"), ampscript("@n == 1 or @n == 2 and Empty(@tier)"), {"N": 1}),
    (Esp("sfmc"), ampscript("not @n == 1"), {"N": 1}),
    (Esp("sfmc"), ampscript("not Empty(@n) and @n == 1"), {"N": 1}),
    (Esp("sfmc"), ampscript("@n = 1"), {"N": 1}),
    (Esp("sfmc"), '%%[ IF "a]%%b" == "x" THEN ]%%yes%%[ ENDIF ]%%', {}),
]


OTHER_ENGINES: list[tuple[Esp, Engine, str, dict[str, object], str]] = [
    # Ruby's Liquid never finds a text equal to a number, and shows decimals with their zero. It
    # shows nothing of a block of white space.
    (Esp("braze"), Engine.RUBY_LIQUID, liquid("custom_attribute.${n} == 3"), {"n": "3"}, "no"),
    (Esp("braze"), Engine.RUBY_LIQUID, "{{custom_attribute.${n}}}", {"n": 3.0}, "3.0"),
    (Esp("braze"), Engine.LIQUIDJS, "{{custom_attribute.${n}}}", {"n": 3.0}, "3"),
    (Esp("braze"), Engine.RUBY_LIQUID, "a{% if true %} {% endif %}b", {}, "ab"),
    (Esp("braze"), Engine.RUBY_LIQUID, "a{% if true %} {{ nil }}{% endif %}b", {}, "a b"),
    # pongo2 groups operators from the right, negates the first operand, reads null as 0, and shows
    # decimals with six digits.
    (
        Esp("brevo"),
        Engine.PONGO2,
        liquid("contact.A and contact.B or contact.C"),
        {"C": True},
        "no",
    ),
    (
        Esp("brevo"),
        Engine.DJANGO,
        liquid("contact.A and contact.B or contact.C"),
        {"C": True},
        "yes",
    ),
    (Esp("brevo"), Engine.PONGO2, liquid("not contact.N < 5"), {"N": 3}, "yes"),
    (Esp("brevo"), Engine.PONGO2, liquid("contact.N < 5.0"), {"N": None}, "yes"),
    (Esp("brevo"), Engine.PONGO2, liquid("contact.N == 3"), {"N": 3.0}, "no"),
    (Esp("brevo"), Engine.PONGO2, "{{ contact.N }}", {"N": 3.0}, "3.000000"),
    (Esp("brevo"), Engine.PONGO2, "{{ contact.A }}", {"A": True}, "True"),
    # The cases of the caveats
    (Esp("klaviyo"), Engine.DJANGO, liquid("person|lookup:'N' >= 3"), {"N": "5"}, "no"),
    (Esp("brevo"), Engine.DJANGO, liquid("contact.N >= 3.0"), {"N": "5"}, "no"),
    (
        Esp("brevo"),
        Engine.DJANGO,
        "{{ contact.N }} {{ contact.A }}",
        {"N": 3.0, "A": True},
        "3.0 True",
    ),
    (Esp("sendgrid"), Engine.HANDLEBARS, handlebars("if vip"), {"vip": "false"}, "yes"),
    (Esp("iterable"), Engine.HANDLEBARS, handlebars("if vip"), {"vip": "false"}, "yes"),
    (
        Esp("sendgrid"),
        Engine.HANDLEBARS,
        handlebars('equals (formatDate seen "YYYYMMDDHHmmss" "+0000") 20261120091500'),
        {"seen": "2026-11-20T09:15:00.500Z"},
        "yes",
    ),
]


@pytest.mark.parametrize(("esp", "engine", "template", "values", "text"), OTHER_ENGINES)
def test_engines_differ_in_these_cases(esp, engine, template, values, text):
    assert render(esp, template, values, engine) == text


def test_ruby_s_liquid_raises_an_error_if_it_orders_a_text_and_a_number():
    template = liquid("custom_attribute.${n} > 1")
    with pytest.raises(NotRendered, match="comparison of String with 1 failed"):
        render(Esp("braze"), template, {"n": "2"}, Engine.RUBY_LIQUID)


@pytest.mark.parametrize(("esp", "template", "values", "text"), FACTS)
def test_an_engine_renders_what_the_documentation_states(esp, template, values, text):
    assert render(esp, template, values) == text


@pytest.mark.parametrize(("esp", "template", "values"), NOT_ESTABLISHED)
def test_an_engine_rejects_what_the_documentation_does_not_establish(esp, template, values):
    with pytest.raises(NotRendered):
        render(esp, template, values)


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_a_batch_has_one_result_per_case_in_order(esp):
    rejected = next((text, values) for each, text, values in NOT_ESTABLISHED if each == esp)
    texts = render_all(esp, [("a", {}), rejected, ("b", {})])
    assert [texts[0], texts[2]] == ["a", "b"]
    assert isinstance(texts[1], NotRendered)


def test_the_result_of_a_part_that_decides_nothing_need_not_be_established():
    template = ampscript("(not Empty(@n)) and @n < 5")
    assert render(Esp("sfmc"), template, {}) == "no"
    assert render(Esp("sfmc"), template, {"N": 4}) == "yes"
