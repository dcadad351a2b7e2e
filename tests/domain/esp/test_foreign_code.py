"""Warnings about code of other ESPs in content, and their absence for native code."""

from __future__ import annotations

import re
import timeit
from collections.abc import Callable
from contextlib import suppress
from time import thread_time

import pytest

from recipient_fields.domain import API, RecipientField
from recipient_fields.domain.content import (
    Content,
    InvalidContent,
    WarningCode,
    parse_content,
    read_content,
)
from recipient_fields.domain.esp import (
    PROFILES,
    Esp,
    ExportOptions,
    RejectedWarning,
    check_content,
    export_content,
    recognize,
)
from recipient_fields.domain.esp.recognition.judging import TextTag
from recipient_fields.domain.esp.recognition.tags import find_text_tags
from recipient_fields.domain.integrations import FieldCodes

from ...support.growth import assert_grows_linearly, count_calls
from .native_tags import NATIVE

MISTAKE = WarningCode.FOREIGN_CODE
CAVEAT = WarningCode.POSSIBLY_FOREIGN_CODE
UNREADABLE = WarningCode.UNREADABLE_CODE
UNKNOWN = WarningCode.UNKNOWN_WORD
OURS = {"{{ sender.name }}"}
"""Code of Brevo that content also has, so that the export reads it as content."""
PAIRS = [
    (esp, tag)
    for esp, tags in NATIVE.items()
    for tag, *_ in tags
    if not tag.startswith(("{{#if", "{{else"))  # the parser of content reads these
    and tag not in OURS
]


def warnings(esp: Esp, source: str, *fields: RecipientField, literals: tuple[str, ...] = ()):
    codes = FieldCodes.of(fields)
    options = ExportOptions(literals=literals, strict=False)
    exported = export_content(parse_content(source), codes, esp, options)
    return [
        each for each in exported.warnings if each.code is not WarningCode.UNSUBSCRIBE_LINK_MISSING
    ]


def codes(esp: Esp, source: str) -> list[WarningCode]:
    return [each.code for each in warnings(esp, source)]


@pytest.mark.parametrize(
    ("esp", "tag", "role", "names"),
    [(esp, *each) for esp, tags in NATIVE.items() for each in tags],
)
def test_a_native_tag_has_a_role_and_names(esp, tag, role, names):
    (found,) = recognize(tag, esp)
    assert (found.role.value, found.names, found.text) == (role, tuple(names), tag)
    assert esp in found.dialects


@pytest.mark.parametrize(("esp", "tag"), PAIRS)
def test_native_code_is_never_a_mistake(esp, tag):
    assert MISTAKE not in codes(esp, tag)


@pytest.mark.parametrize(("esp", "tag"), PAIRS)
def test_no_tag_passes_silently_where_the_esp_lacks_its_delimiters(esp, tag):
    for other in {Esp.SALESFORCE, Esp.MAILCHIMP, Esp.ACTIVECAMPAIGN} - {esp}:
        assert codes(other, tag) == [MISTAKE]


@pytest.mark.parametrize(
    ("esp", "tag"),
    [
        (esp, tag)
        for esp, tags in NATIVE.items()
        for tag, role, _ in tags
        if role == "system" and tag not in OURS
    ],
)
def test_no_system_tag_passes_silently(esp, tag):
    for other in set(Esp) - {esp}:
        shared = any(esp is not other and tag == each for each, *_ in NATIVE[other])
        assert codes(other, tag) or shared, other


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [
        (Esp.BRAZE, "[[name]]", [MISTAKE]),
        (Esp.BRAZE, "[[1, 2], [3]] a[[0]]", []),
        (Esp.BRAZE, "{{#if a}}x{{/if}}", [MISTAKE, MISTAKE]),
        (Esp.BRAZE, "{# note #}", [MISTAKE]),
        (Esp.BRAZE, "{{ event.name }}", [MISTAKE]),
        (Esp.BRAZE, "{{ a.b }}", [UNKNOWN]),
        (Esp.BRAZE, "{% assign a = 'x' %}{{ a.b }}", []),
        (Esp.BRAZE, "{% for event in items %}{{ event.name }}{% endfor %}", []),
        (Esp.BRAZE, "{% connected_content https://a.b/c :save event %}{{ event.name }}", []),
        (Esp.BRAZE, "{% set a = 1 %}", [MISTAKE]),
        (Esp.BRAZE, "{% for a in event_properties.b %}{% endfor %}", [UNKNOWN]),
        (Esp.BRAZE, "{% raw %}*|FNAME|* {{ event.x }}{% endraw %}", []),
        (Esp.BRAZE, "{% if {{custom_attribute.${a}}} == 1 %}{% endif %}", []),
        (Esp.CUSTOMER_IO, "{% if {{customer.a}} == 1 %}{% endif %}", [UNREADABLE]),
        (Esp.CUSTOMER_IO, "{{ customer.a | lookup:'b' }}", [MISTAKE]),
        (Esp.CUSTOMER_IO, "{{ customer.a | default('b') }}", [UNREADABLE]),
        (Esp.CUSTOMER_IO, "{{upper tier}}", [MISTAKE]),
        (Esp.CUSTOMER_IO, "{% unsubscribe 'Stop' %}", [CAVEAT]),
        (Esp.CUSTOMER_IO, "{% unsubscribe %}", []),
        (Esp.KLAVIYO, "{% unsubscribe 'Stop' %}", []),
        (Esp.KLAVIYO, "{% assign x = 1 %}", [MISTAKE]),
        (Esp.KLAVIYO, "{{ person.City|upcase }}", []),
        (Esp.KLAVIYO, "{{ unsubscribe_link }}", [MISTAKE]),
        (Esp.KLAVIYO, "{% with a=event.x %}{{ a }}{% endwith %}", []),
        (Esp.KLAVIYO, "{{ event.a|base64_url_safe_encode }}", []),
        (Esp.BRAZE, "{{content_blocks.${footer} | id: 'cb1'}}", []),
        (Esp.BRAZE, "{% tablerow a in event_properties.${b} %}{{ a.c }}{% endtablerow %}", []),
        (Esp.BRAZE, "{% liquid assign a = 1 %}", []),
        (Esp.HUBSPOT, "{{ contact.FIRSTNAME }}", [MISTAKE]),
        (Esp.HUBSPOT, "{{ [1, 2]|join(',') }}", []),
        (Esp.HUBSPOT, "{{ ['a', 'b']|join(',') }}", []),
        (Esp.HUBSPOT, "{{[First Name]}} {{[1stName]}}", [MISTAKE, MISTAKE]),
        (Esp.HUBSPOT, "{% set a = [1, 2] %}{% do a.append(3) %}", []),
        (Esp.HUBSPOT, "{% from 'a.html' import b %}{{ b(1) }}", []),
        (Esp.HUBSPOT, "{{ personalization_token('contact.a', 'b') }}", []),
        (Esp.HUBSPOT, "{{ range(3) }}{{ today() }}", []),
        (Esp.HUBSPOT, "{{ what(3) }}", [UNKNOWN]),
        (Esp.HUBSPOT, "{{ contact.firstname|default:'x' }}", [UNREADABLE]),
        (Esp.BREVO, "{{ contact.firstname }}", [CAVEAT]),
        (Esp.BREVO, "{{ unsubscribe_link }}", [MISTAKE]),
        (Esp.BREVO, "{{ personalization_token('contact.a') }}", [MISTAKE]),
        (Esp.SENDGRID, "%%Account:Name%% %%User.Email%%", [MISTAKE, MISTAKE]),
        (Esp.SENDGRID, "100%% sure. 50%% off: 3%%", []),
        (Esp.SENDGRID, "{{name}} {{event.name}}", [CAVEAT]),
        (Esp.SENDGRID, "{{ mirror }}", [MISTAKE]),
        (Esp.SENDGRID, "{{content}}", [CAVEAT]),
        (Esp.SENDGRID, "{{#ifEq a b}}x{{/ifEq}}", [MISTAKE, MISTAKE]),
        (Esp.SENDGRID, '{{Contact.Attribute."People"."Tier"}}', [MISTAKE]),
        (Esp.SENDGRID, "[Unsubscribe] [%city | there%]", []),
        (Esp.ITERABLE, "{{{weblink}}}", [MISTAKE]),
        (Esp.ITERABLE, '{{Event.Purchase."First Name"}}', [MISTAKE]),
        (Esp.BRAZE, '<a href="[Unsubscribe]">x</a>', [CAVEAT]),
        (Esp.BRAZE, "[weblink] [%city | there%]", [CAVEAT, CAVEAT]),
        (Esp.BRAZE, "[Unsubscribe](https://a.b) [x] [50%] [%] [a%b%c]", []),
        (Esp.SENDGRID, "{{ contact.a | default: 'x' }}", [UNREADABLE]),
        (Esp.ITERABLE, "{{#equals a b}}x{{/equals}}", [MISTAKE, MISTAKE]),
        (Esp.ITERABLE, "<%asm_group_unsubscribe_raw_url%>", [MISTAKE]),
        (Esp.SALESFORCE, "{{Contact.Attribute.Person.Name}} {{name}}", [MISTAKE]),
        (Esp.MAILCHIMP, "%UNSUBSCRIBELINK% %SENDER-INFO%", [MISTAKE, MISTAKE]),
        (Esp.MAILCHIMP, "%WHATEVER%", [CAVEAT]),
        (Esp.MAILCHIMP, "https://a.b/?c=%FIRSTNAME% %C3%A9%20 50%OFF 5%", []),
        (Esp.MAILCHIMP, "%Y%m%d %H:%M:%S", []),
        (Esp.MAILCHIMP, '<a href="%UNSUBSCRIBELINK%">x</a>', [MISTAKE]),
        (Esp.ACTIVECAMPAIGN, "%FIRSTNAME|Friend% %SENDER-INFO-SINGLELINE%", []),
    ],
)
def test_a_tag_is_a_mistake_or_a_caveat(esp, source, expected):
    assert codes(esp, source) == expected


@pytest.mark.parametrize(
    ("esp", "tag", "role", "names", "system_names"),
    [
        (Esp.SENDGRID, "[Unsubscribe_Preferences]", "system", (), ("Unsubscribe_Preferences",)),
        (Esp.SENDGRID, "[%city | there%]", "field", ("city",), ()),
        (Esp.HUBSPOT, "{{ contact.city.split(' ') }}", "field", ("city",), ()),
    ],
)
def test_a_name_is_read_in_each_form(esp, tag, role, names, system_names):
    (found,) = recognize(tag, esp)
    assert (found.role.value, found.names, found.system_names) == (role, names, system_names)


@pytest.mark.parametrize(
    "place",
    ["<script>%s</script>", "<STYLE>%s</STYLE>", "<template>%s</template>", "<!-- %s -->"],
)
def test_a_tag_in_a_script_or_a_comment_is_a_caveat(place):
    source = f"{place % '*|A|*'} *|B|*"
    assert codes(Esp.BRAZE, source) == [CAVEAT, MISTAKE]


@pytest.mark.parametrize(
    "source",
    ["<!--[if mso]>*|A|*<![endif]-->", "<!--[if !mso]><!-->*|A|*<!--<![endif]-->"],
)
def test_a_conditional_comment_is_content(source):
    assert codes(Esp.BRAZE, source) == [MISTAKE]


@pytest.mark.parametrize(
    ("esp", "advice"),
    [
        (Esp.BRAZE, "Write it between `{% raw %}` and `{% endraw %}`."),
        (Esp.HUBSPOT, "Write it between `{% raw %}` and `{% endraw %}`."),
        (Esp.KLAVIYO, "Write it between `{% verbatim %}` and `{% endverbatim %}`."),
        (Esp.ITERABLE, "Write a backslash before each tag: `\\{{title}}`."),
        (Esp.MAILCHIMP, None),
        (Esp.SALESFORCE, None),
    ],
)
def test_code_in_a_template_of_amp_is_for_the_client(esp, advice):
    section = "{{#items}}{{title}}{{/items}}"
    template = '<template type="amp-mustache">%s</template>'
    found = warnings(esp, template % section)
    assert bool(found) is (advice is not None)
    assert all(advice in each.message for each in found)
    if "`{% raw %}`" in (advice or ""):
        assert not warnings(esp, template % f"{{% raw %}}{section}{{% endraw %}}")


def test_a_literal_stays_without_warnings():
    source = "*|A|* {{recipients.x}}  *|B|*"
    assert len(warnings(Esp.BRAZE, source)) == 3
    (warning,) = warnings(Esp.BRAZE, source, literals=("*|A|*", "{{recipients.x}}"))
    assert warning.column == 25


def test_a_warning_names_the_dialects_and_our_own_form():
    messages = [
        each.message
        for each in warnings(Esp.BRAZE, "{{ event.x }} {{ person|lookup:'VIP' }} *|IF:VIP|*")
    ]
    assert messages == [
        "Braze does not read `event`, which is code of Klaviyo or Customer.io or Brevo.",
        "Braze does not read `|lookup`, which is code of Klaviyo. Write `{{recipient.KEY}}`.",
        (
            "Braze does not read this code of Mailchimp. Write conditions as"
            " `{{#if recipient.KEY …}}…{{/if}}`."
        ),
    ]


@pytest.mark.parametrize(
    ("tag", "form"),
    [
        ("{{${email_address}}}", "{{recipient.email}}"),
        ("%%EmailAddr%%", "{{recipient.email}}"),
        ("*|FNAME|*", "{{recipient.first_name}}"),
        ("*|LOYALTY|*", "{{recipient.loyalty}}"),
        ("*|LNAME|*", "{{recipient.lname}}"),
        ("{{ contact.LOYALTY }}", "{{recipient.loyalty}}"),
        ("{{ contact.OTHER }}", "{{recipient.KEY}}"),
    ],
)
def test_a_warning_names_the_key_of_the_field(tag, form, make_field):
    fields = [make_field(API, key=key) for key in ("first_name", "lname", "loyalty")]
    (warning,) = warnings(Esp.ACTIVECAMPAIGN, tag, *fields)
    assert warning.message.endswith(f" Write `{form}`.")


@pytest.mark.parametrize(("esp", "tag"), PAIRS)
def test_no_esp_has_code_of_its_own_in_content_for_all(esp, tag):
    with pytest.raises(InvalidContent) as invalid:
        check_content(parse_content(f"Hello {tag}"), [])
    (violation,) = invalid.value.violations
    assert isinstance(violation, RejectedWarning)
    assert (violation.warning, violation.position.column) == (MISTAKE, 7)
    assert PROFILES[esp].title in violation.reason


def test_text_that_may_be_code_of_an_esp_is_a_caveat_in_content_for_all():
    source = "100%OFF% [unsubscribe] <style>{{ x }}</style> %H 50 % of 100 %"
    checked = check_content(parse_content(source), [])
    assert [(each.code, each.column) for each in checked.warnings] == [
        (CAVEAT, 4),
        (CAVEAT, 10),
        (CAVEAT, 31),
    ]


def test_tags_beyond_a_number_are_not_examined_and_a_caveat_says_so():
    source = "{{${a}}}" * 20_000
    (found,) = warnings(Esp.BRAZE, source)
    assert found.message.startswith("The tags from here on are not examined")
    assert count_calls(TextTag.judge, lambda: warnings(Esp.BRAZE, source)) <= 1_250


@pytest.mark.parametrize("esp", [Esp.KLAVIYO, None])
@pytest.mark.parametrize(
    "piece", ["{{", "%", "*|", "[[a", "{%", "%%=", "%%a ", "<!--", "{{ ${", "%A", "http://", "%41%"]
)
def test_foreign_code_is_searched_in_linear_time(esp, piece):
    def search(content: Content) -> None:
        with suppress(InvalidContent):
            if esp is None:
                check_content(content, [])
            else:
                export_content(content, FieldCodes.of([]), esp)

    assert_grows_linearly(search, lambda size: read_content((piece * size)[:size]), 40_000)


def test_encoded_text_is_searched_in_linear_time():
    assert_grows_linearly(lambda text: list(find_text_tags(text)), lambda size: "%41" * size, 4_000)


@pytest.mark.parametrize("esp", Esp)
def test_text_without_tags_is_skipped_as_fast_as_a_search_for_characters_allows(esp):
    text = "Thank you for your order. " * 10_000
    characters = re.compile("[%*<{[]")

    def fastest(work: Callable[[], object]) -> float:
        return min(timeit.repeat(work, timer=thread_time, repeat=5, number=1))

    assert fastest(lambda: list(PROFILES[esp].find_tags(text))) < 5 * fastest(
        lambda: characters.search(text)
    )


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [
        (Esp.KLAVIYO, "{%- if x -%}a{%- endif -%}", [UNREADABLE] * 2),
        (Esp.KLAVIYO, "{% if (a or b) and c %}x{% endif %}", [UNREADABLE]),
        (Esp.KLAVIYO, "{{ person.first_name|default: 'x' }}", [CAVEAT]),
        (Esp.BREVO, "{{ contact.FIRSTNAME|default: 'x' }}", []),
        (Esp.BRAZE, "{% if not ${first_name} %}x{% endif %}", [UNREADABLE]),
        (Esp.BRAZE, "{% if (${city} or ${country}) and ${gender} %}x{% endif %}", [UNREADABLE]),
        (Esp.BRAZE, "{{${first_name} | default: \u2018x\u2019}}", [UNREADABLE]),
        (Esp.BRAZE, "{% if ${first_name} %}x", [UNREADABLE]),
        (Esp.CUSTOMER_IO, "{% endif %}", [UNREADABLE]),
        (Esp.SENDGRID, "{{first_name | Customer}}", []),
        (Esp.ITERABLE, "{{#each [[products]]}}x{{/each}}", []),
        (Esp.MAILCHIMP, "*|IF:FNAME|*x", [UNREADABLE]),
        (Esp.SALESFORCE, "%%[ IF @a == 1 ]%%", [UNREADABLE]),
        *(
            (esp, '{{var:firstname:"there"}}', [UNREADABLE])
            for esp in (Esp.BRAZE, Esp.CUSTOMER_IO, Esp.KLAVIYO, Esp.HUBSPOT, Esp.BREVO)
        ),
    ],
)
def test_code_that_the_language_of_the_esp_does_not_read_is_a_mistake(esp, source, expected):
    assert codes(esp, source) == expected


@pytest.mark.parametrize(
    "tag",
    [
        *("{contactfield=firstname|there}", "[firstname,fallback=there]", "{!Contact.FirstName}"),
        *("%recipient.first_name%", "{$name}", "{unsubscribe_url}", '[[data:firstname:"there"]]'),
    ],
)
@pytest.mark.parametrize("esp", Esp)
def test_a_tag_of_a_sender_beyond_the_esps_is_a_caveat(esp, tag):
    assert codes(esp, f"Hello {tag}!") == [CAVEAT]
    assert not list(recognize(tag))


@pytest.mark.parametrize(
    "text", ["{a}", "{ name }", "a{color:red}", "[1,2]", "50%recipient%", "${x}"]
)
def test_braces_and_brackets_in_a_text_are_no_tags(text):
    assert codes(Esp.MAILCHIMP, text) == []


def test_code_that_only_another_language_reads_names_its_dialect_and_the_reason():
    (warning,) = warnings(Esp.BRAZE, "{% if not person.vip %}")
    assert warning.code is MISTAKE
    assert warning.message.startswith(
        "Braze does not read this code of Klaviyo. Liquid has no `not`."
    )


@pytest.mark.parametrize("esp", [Esp.MAILCHIMP, Esp.KLAVIYO, Esp.BREVO])
def test_a_value_without_a_name_is_a_mistake(esp):
    assert [each.kind.value for each in codes(esp, "{{ .Subscriber.Name }}")] == ["mistake"]


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [
        (Esp.KLAVIYO, "{{ customer.plan|default: 'x' }}", [MISTAKE]),
        (Esp.KLAVIYO, "{% abort_message('no items') %}", [MISTAKE]),
        (Esp.KLAVIYO, "{{#each items}}{{else}}{{/each}}", [MISTAKE] * 3),
        (Esp.KLAVIYO, "{% for a in event_properties.b %}{% endfor %}", [MISTAKE]),
        (Esp.KLAVIYO, "{% assign a = 'x' %}{{ a.b }}", [MISTAKE]),
        (Esp.HUBSPOT, "{{ forloop.index }}", [MISTAKE]),
        (Esp.KLAVIYO, "{{ now|date:'Y' }}", [CAVEAT]),
        (Esp.MAILCHIMP, '{%%[ SET @a = "b" ]%%', [MISTAKE]),
        (Esp.MAILCHIMP, '%%[ SET @a = 1 & "{{x}}" ]%%', [MISTAKE]),
        (Esp.BRAZE, "{% case event.a %}{% when 'x' %}{% endcase %}", [MISTAKE]),
    ],
)
def test_the_words_in_a_tag_are_judged_wherever_they_are(esp, source, expected):
    assert codes(esp, source) == expected


def test_the_names_in_a_tag_that_may_not_be_read_are_found():
    (found,) = recognize("{{ person|lookup:'A B'|default: 'x' }}", Esp.KLAVIYO)
    assert found.names == ("A B",)
