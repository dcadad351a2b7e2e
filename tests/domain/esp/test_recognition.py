"""Recognition of the dialects of an insertion code, also of codes that users write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain.esp import BUILT_IN, Esp, derive_codes, recognize_dialects
from recipient_fields.domain.esp.errors import NoSafeForm
from recipient_fields.domain.esp.recognition.tags import find_text_tags
from recipient_fields.domain.esp.recognition.words import TagRole

from ...docs.recognition import recognize
from ...support.growth import assert_grows_linearly
from .strategies import ANY_TEXT, DEFAULTS, NAMES, ORDINARY_NAMES

EVERY_ESP = pytest.mark.parametrize("esp", BUILT_IN.esps)

WRITTEN = [
    ("%%=v(@firstName)=%%", "sfmc"),
    ("%%=ProperCase(@firstName)=%%", "sfmc"),
    ('%%[ SET @x = AttributeValue("x") ]%%%%=v(@x)=%%', "sfmc"),
    ("%%[\nSET @x = 1\n]%%", "sfmc"),
    ("%%First Name%%", "sfmc"),
    ("%%first name%%", "sfmc"),
    ("{{#each items}}x{{/each}}", "sendgrid iterable"),
    ("{{#notEquals a b}}x{{/notEquals}}", "sendgrid"),
    ("{{#ifEq a b}}x{{/ifEq}}", "iterable"),
    ("Dear *|FNAME|*", "mailchimp"),
    ("*|IF:FNAME|*you*|END:IF|*", "mailchimp"),
    ("{{ person.City }}", "klaviyo iterable"),
    ('{{ person|lookup:"$city"|title }}', "klaviyo"),
    ("{% if person|lookup:'VIP' %}Hi{% endif %}", "klaviyo"),
    ("{{ first_name|default:'you' }}", "klaviyo onesignal"),
    ("{{ first_name }}", "klaviyo sendgrid iterable onesignal"),
    ("{{custom_attribute.${vip}}}", "braze"),
    ("{{${first_name} | default: 'you'}}", "braze"),
    ("{% if {{custom_attribute.${points}}} > 3 %}Hi{% endif %}", "braze"),
    ("{% if customer.vip %}Hi{% endif %}", "customerio"),
    ('{{ customer["plan-name"] | upcase }}', "customerio"),
    ("It's {{ customer.vip | upcase }}, isn't it?", "customerio"),
    ('{{ customer["["] | upcase }}', "customerio"),
    ("{{customer.vip}}", "customerio iterable"),
    ("{{ contact.firstname }}", "hubspot iterable"),
    ('{{ personalization_token("contact.firstname", "you") }}', "hubspot"),
    ("{% if contact.vip == 'yes' %}Hi{% endif %}", "hubspot"),
    ("{{ contact.FIRSTNAME|title }}", "brevo"),
    ("{{tier}}", "sendgrid iterable onesignal"),
    ("{{{ tier }}}", "sendgrid iterable"),
    ("{{#if tier}}{{tier}}{{/if}}", "sendgrid iterable"),
    ("{{#equals tier 'gold'}}Hi{{/equals}}", "sendgrid"),
    ('{{insert tier "default=none"}}', "sendgrid"),
    ("{{#ifEq tier 'gold'}}Hi{{/ifEq}}", "iterable"),
    ("{{[Lifetime Value]}}", "iterable"),
    ("{{defaultIfEmpty tier 'none'}}", "iterable"),
    ("{{else}}", ""),
    ("{{ else }}", ""),
    ("{{#equals tier 'gold'}}Hi{{else}}Ho{{/equals}}", "sendgrid"),
    ("{{#ifEq tier 'gold'}}Hi{{else}}Ho{{/ifEq}}", "iterable"),
    ("{{#eq tier 'gold'}}Hi{{/eq}}", "iterable"),
    ("{{#gte visits 3}}Hi{{/gte}}", "iterable"),
    ("{{upper tier}}", "iterable"),
    ("{{numberFormat price 'currency' 'fr_FR'}}", "iterable"),
    ("{{math visits '+' 2}}", "iterable"),
    ("{{dateFormat signupDate format='long' tz='UTC'}}", "iterable"),
    ("{{upper (defaultIfEmpty [First Name] 'you')}}", "iterable"),
    ("{{address.[Zip Code]}}", "iterable"),
    ("{{formatDate since 'MM/DD/YYYY'}}", "sendgrid"),
    ("{{formatDate since dateFormat}}", "sendgrid"),
    ("{{formatDate since dateFormat timezoneOffset}}", "sendgrid"),
    ("{{formatDate user.since 'MM'}}", "sendgrid"),
    ("Hi %%FirstName%%!", "sfmc"),
    ("Hi %%First Name%%, 100% yours", "sfmc"),
    ("%%emailaddr%%", "sfmc"),
    ("100%% sure, 50%% off", ""),
    ("%A%%B%%C%", "activecampaign"),
    ("%IF $A != ''%%A%%ELSE%you%/IF%", "activecampaign"),
    ("Hi %FIRSTNAME%!", "activecampaign"),
    ("%IF in_array('x', $TAGS)%Hi%/IF%", "activecampaign"),
    ("", ""),
    ("Hi there", ""),
    ("50% off, 100%", ""),
    ("50% off, {{tier}}", "sendgrid iterable onesignal"),
    ("{{ tier | default: 'none' }}", "onesignal"),
    ("{{ subscription.email }}", "iterable onesignal"),
    ("50% OFF, 100%%, {{ contact.TIER }}", "brevo iterable"),
    ("50% off, *|TIER|*", "mailchimp"),
    ("50% off, %TIER%", "activecampaign"),
    ("{ a: 1 }", ""),
    ("{{ a | b }}", ""),
    ("[[name]]", "iterable"),
    ("[Unsubscribe]", "sendgrid"),
    ("[%city | there%]", "sendgrid"),
    ("[[1, 2]] <<name>> -name- #name#", ""),
    ("{% unsubscribe 'x' %}", "klaviyo"),
    ("{{ mirror }}", "brevo"),
    ("%UNSUBSCRIBELINK%", "activecampaign"),
]
TWINS = {
    "klaviyo": {"sendgrid", "iterable", "onesignal"},
    "customerio": {"iterable"},
    "hubspot": {"iterable"},
    "sendgrid": {"klaviyo", "iterable", "onesignal"},
    "iterable": {"klaviyo", "customerio", "hubspot", "brevo", "sendgrid", "onesignal"},
    "brevo": {"iterable"},
    "onesignal": {"klaviyo", "sendgrid", "iterable"},
}
"""The other ESPs in whose dialects the same code can be written."""


@pytest.mark.parametrize(("code", "esps"), WRITTEN)
def test_the_most_likely_dialect_of_a_code_comes_first(code, esps):
    assert list(recognize_dialects(code)) == esps.split()


@EVERY_ESP
@given(data=st.data())
def test_every_derived_code_is_recognized_unless_its_name_means_something_elsewhere(esp, data):
    name = data.draw(NAMES[esp])
    default = data.draw(st.none() | DEFAULTS)
    try:
        codes = derive_codes(esp, name, standard=data.draw(st.booleans()), default=default)
    except NoSafeForm:
        return
    recognized = recognize_dialects(codes.insertion_code)
    tags = find_text_tags(codes.insertion_code, BUILT_IN, esp)
    if all(tag.judge(esp) is None for tag in tags):  # `{{ else }}` is rather one of Handlebars
        assert esp in recognized
    if codes.prelude is not None:
        assert recognize_dialects(codes.prelude) == (esp,)


def test_a_field_that_is_called_like_a_variable_of_a_loop_is_recognized():
    [field] = recognize("{{[@index]}}")
    [variable] = recognize("{{@index}}")
    assert field.dialects[0] == Esp("iterable")
    assert (field.role, field.names) == (TagRole.FIELD, ("@index",))
    assert (variable.role, variable.names) == (TagRole.NONE, ())


@EVERY_ESP
@given(data=st.data())
def test_the_dialect_of_an_ordinary_field_is_the_most_likely_one(esp, data):
    codes = derive_codes(esp, data.draw(ORDINARY_NAMES[esp]))
    with_bare_names = {Esp("iterable"), Esp("onesignal")}
    likeliest = {esp, Esp("sendgrid")} if esp in with_bare_names else {esp}
    recognized = recognize_dialects(codes.insertion_code)
    assert recognized[0] in likeliest
    assert set(recognized) <= {esp} | TWINS.get(esp, set())


@given(text=ANY_TEXT)
def test_text_without_delimiters_is_in_no_dialect(text):
    assert recognize_dialects(text.translate(dict.fromkeys(map(ord, "{%*|")))) == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["{{", "{%", "{{ ", "{{customer", "{{x ", "%%=", "%%[", "%IF $A", "$A", "*|", "['\"", "{{#if"],
)
@pytest.mark.parametrize("opening", ["", "{{", "%IF ", "%%=", "*|"])
def test_a_code_is_recognized_in_linear_time(opening, piece):
    def build(size):
        return (opening + piece * size)[:size]

    assert_grows_linearly(recognize_dialects, build, 8_000)
