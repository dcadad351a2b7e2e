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
    WarningKind,
    parse_content,
    read_content,
)
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportOptions,
    RejectedWarning,
    check_content,
    export_content,
)
from recipient_fields.domain.esp.content.export import check_native
from recipient_fields.domain.esp.recognition.judging import TextTag
from recipient_fields.domain.esp.recognition.tags import find_text_tags
from recipient_fields.domain.integrations import FieldCodes

from ...docs.recognition import recognize
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


def warnings(esp: str, source: str, *fields: RecipientField, literals: tuple[str, ...] = ()):
    codes = FieldCodes.of(fields)
    options = ExportOptions(literals=literals, strict=False)
    exported = export_content(parse_content(source), codes, Esp(esp), options)
    return [
        each for each in exported.warnings if each.code is not WarningCode.UNSUBSCRIBE_LINK_MISSING
    ]


def mistakes(
    esp: str | None, source: str, literals: tuple[str, ...] = ()
) -> list[tuple[tuple[int, int], WarningCode, str]]:
    """Return the places, codes and messages of the mistakes, without an ESP in content for all."""
    if esp is None:
        found = check_content(parse_content(source), [], strict=False, literals=literals).warnings
    else:
        found = tuple(warnings(esp, source, literals=literals))
    return [
        ((each.line, each.column), each.code, each.message)
        for each in found
        if each.code.kind is WarningKind.MISTAKE
    ]


def codes(esp: str, source: str) -> list[WarningCode]:
    return [each.code for each in warnings(esp, source)]


@pytest.mark.parametrize(
    ("esp", "tag", "role", "names"), [(esp, *each) for esp, tags in NATIVE.items() for each in tags]
)
def test_a_native_tag_has_a_role_and_names(esp, tag, role, names):
    (found,) = recognize(tag, esp)
    assert (found.role.value, found.names, found.text) == (role, tuple(names), tag)
    assert esp in found.dialects


def test_native_code_is_never_a_mistake():
    assert [(esp, tag) for esp, tag in PAIRS if MISTAKE in codes(esp, tag)] == []


def test_no_tag_passes_silently_where_the_esp_lacks_its_delimiters():
    others = ("sfmc", "mailchimp", "activecampaign")
    foreign = [(other, tag) for esp, tag in PAIRS for other in others if other != esp]
    assert [(other, tag) for other, tag in foreign if codes(other, tag) != [MISTAKE]] == []


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
    for other in set(BUILT_IN.esps) - {esp}:
        shared = any(esp is not other and tag == each for each, *_ in NATIVE[other])
        assert codes(other, tag) or shared, other


JUDGED = {
    "a tag is a mistake or a caveat": [
        ("braze", "[[name]]", [MISTAKE]),
        ("braze", "[[1, 2], [3]] a[[0]]", []),
        ("braze", "{{#if a}}x{{/if}}", [MISTAKE, MISTAKE]),
        ("braze", "{# note #}", [MISTAKE]),
        ("braze", "{{ params.name }}", [MISTAKE]),
        ("braze", "{{ a.b }}", [UNKNOWN]),
        ("braze", "{% assign a = 'x' %}{{ a.b }}", []),
        ("braze", "{% for event in items %}{{ event.name }}{% endfor %}", []),
        ("braze", "{% connected_content https://a.b/c :save event %}{{ event.name }}", []),
        ("braze", "{% set a = 1 %}", [MISTAKE]),
        ("braze", "{% for a in event_properties.b %}{% endfor %}", [UNKNOWN]),
        ("braze", "{% raw %}*|FNAME|* {{ event.x }}{% endraw %}", []),
        ("braze", "{% if {{custom_attribute.${a}}} == 1 %}{% endif %}", []),
        ("customerio", "{% if {{customer.a}} == 1 %}{% endif %}", [UNREADABLE]),
        ("customerio", "{{ customer.a | lookup:'b' }}", [MISTAKE]),
        ("customerio", "{{ customer.a | default('b') }}", [UNREADABLE]),
        ("customerio", "{{upper tier}}", [MISTAKE]),
        ("customerio", "{% unsubscribe 'Stop' %}", [CAVEAT]),
        ("customerio", "{% unsubscribe %}", []),
        ("klaviyo", "{% unsubscribe 'Stop' %}", []),
        ("klaviyo", "{% assign x = 1 %}", [MISTAKE]),
        ("klaviyo", "{{ person.City|upcase }}", []),
        ("klaviyo", "{{ unsubscribe_link }}", [MISTAKE]),
        ("klaviyo", "{% with a=event.x %}{{ a }}{% endwith %}", []),
        ("klaviyo", "{{ event.a|base64_url_safe_encode }}", []),
        ("braze", "{{content_blocks.${footer} | id: 'cb1'}}", []),
        ("braze", "{% tablerow a in event_properties.${b} %}{{ a.c }}{% endtablerow %}", []),
        ("braze", "{% liquid assign a = 1 %}", []),
        ("hubspot", "{{ contact.FIRSTNAME }}", [MISTAKE]),
        ("hubspot", "{{ [1, 2]|join(',') }}", []),
        ("hubspot", "{{ ['a', 'b']|join(',') }}", []),
        ("hubspot", "{{[First Name]}} {{[1stName]}}", [MISTAKE, MISTAKE]),
        ("hubspot", "{% set a = [1, 2] %}{% do a.append(3) %}", []),
        ("hubspot", "{% from 'a.html' import b %}{{ b(1) }}", []),
        ("hubspot", "{{ personalization_token('contact.a', 'b') }}", []),
        ("hubspot", "{{ range(3) }}{{ today() }}", []),
        ("hubspot", "{{ what(3) }}", [UNKNOWN]),
        ("hubspot", "{{ contact.firstname|default:'x' }}", [UNREADABLE]),
        ("brevo", "{{ contact.firstname }}", [CAVEAT]),
        ("brevo", "{{ unsubscribe_link }}", [MISTAKE]),
        ("brevo", "{{ personalization_token('contact.a') }}", [MISTAKE]),
        ("sendgrid", "%%Account:Name%% %%User.Email%%", [MISTAKE, MISTAKE]),
        ("sendgrid", "100%% sure. 50%% off: 3%%", []),
        ("sendgrid", "{{name}} {{params.name}}", [CAVEAT]),
        ("sendgrid", "{{ mirror }}", [MISTAKE]),
        ("sendgrid", "{{content}}", [CAVEAT]),
        ("sendgrid", "{{#ifEq a b}}x{{/ifEq}}", [MISTAKE, MISTAKE]),
        ("sendgrid", '{{Contact.Attribute."People"."Tier"}}', [MISTAKE]),
        ("sendgrid", "[Unsubscribe] [%city | there%]", []),
        ("iterable", "{{{weblink}}}", [MISTAKE]),
        ("iterable", '{{Event.Purchase."First Name"}}', [MISTAKE]),
        ("braze", '<a href="[Unsubscribe]">x</a>', [CAVEAT]),
        ("braze", "[weblink] [%city | there%]", [CAVEAT, CAVEAT]),
        ("braze", "[Unsubscribe](https://a.b) [x] [50%] [%] [a%b%c]", []),
        ("sendgrid", "{{ contact.a | default: 'x' }}", [UNREADABLE]),
        ("iterable", "{{#equals a b}}x{{/equals}}", [MISTAKE, MISTAKE]),
        ("iterable", "<%asm_group_unsubscribe_raw_url%>", [MISTAKE]),
        ("sfmc", "{{Contact.Attribute.Person.Name}} {{name}}", [MISTAKE]),
        ("mailchimp", "%UNSUBSCRIBELINK% %SENDER-INFO%", [MISTAKE, MISTAKE]),
        ("mailchimp", "%WHATEVER%", [CAVEAT]),
        ("mailchimp", "https://a.b/?c=%FIRSTNAME%", [MISTAKE]),
        ("mailchimp", "https://a.b/?c=%20EMAIL%20 %C3%A9%20 50%OFF 5%", []),
        ("mailchimp", "%Y%m%d %H:%M:%S", []),
        ("mailchimp", '<a href="%UNSUBSCRIBELINK%">x</a>', [MISTAKE]),
        ("activecampaign", "%FIRSTNAME|Friend% %SENDER-INFO-SINGLELINE%", []),
    ],
    "the words in a tag are judged wherever they are": [
        ("klaviyo", "{{ customer.plan|default: 'x' }}", [MISTAKE]),
        ("klaviyo", "{% abort_message('no items') %}", [MISTAKE]),
        ("klaviyo", "{{#each items}}{{else}}{{/each}}", [MISTAKE] * 3),
        ("klaviyo", "{% for a in event_properties.b %}{% endfor %}", [MISTAKE]),
        ("klaviyo", "{% assign a = 'x' %}{{ a.b }}", [MISTAKE]),
        ("hubspot", "{{ forloop.index }}", [MISTAKE]),
        ("klaviyo", "{{ now|date:'Y' }}", [CAVEAT]),
        ("mailchimp", '{%%[ SET @a = "b" ]%%', [MISTAKE]),
        ("mailchimp", '%%[ SET @a = 1 & "{{x}}" ]%%', [MISTAKE]),
        ("braze", "{% case event.a %}{% when 'x' %}{% endcase %}", [MISTAKE]),
    ],
    "code that the language of the ESP does not read is a mistake": [
        ("klaviyo", "{%- if x -%}a{%- endif -%}", [MISTAKE, UNREADABLE]),
        ("klaviyo", "{% if (a or b) and c %}x{% endif %}", [UNREADABLE]),
        ("klaviyo", "{% catalog 'a' %}{{ catalog_item.url }}{% endcatalog %}", []),
        ("klaviyo", "{% catalog 'a' %}x", [UNREADABLE]),
        ("klaviyo", "{{ person.first_name|default: 'x' }}", [CAVEAT]),
        ("brevo", "{{ contact.FIRSTNAME|default: 'x' }}", []),
        ("braze", "{% if not ${first_name} %}x{% endif %}", [UNREADABLE]),
        ("braze", "{% if (${city} or ${country}) and ${gender} %}x{% endif %}", [UNREADABLE]),
        ("braze", "{{${first_name} | default: \u2018x\u2019}}", [UNREADABLE]),
        ("braze", "{% if ${first_name} %}x", [UNREADABLE]),
        ("customerio", "{% endif %}", [UNREADABLE]),
        ("sendgrid", "{{first_name | Customer}}", []),
        ("iterable", "{{#each [[products]]}}x{{/each}}", []),
        ("mailchimp", "*|IF:FNAME|*x", [UNREADABLE]),
        ("sfmc", "%%[ IF @a == 1 ]%%", [UNREADABLE]),
        *(
            (esp, '{{var:firstname:"there"}}', [UNREADABLE])
            for esp in ("braze", "customerio", "klaviyo", "hubspot", "brevo")
        ),
    ],
    "a tag in a script or a comment is a caveat": [
        ("braze", "<script>*|A|*</script> *|B|*", [CAVEAT, MISTAKE]),
        ("braze", "<STYLE>*|A|*</STYLE> *|B|*", [CAVEAT, MISTAKE]),
        ("braze", "<template>*|A|*</template> *|B|*", [CAVEAT, MISTAKE]),
        ("braze", "<!-- *|A|* --> *|B|*", [CAVEAT, MISTAKE]),
    ],
    "a value without a name is a mistake": [
        ("mailchimp", "{{ .Subscriber.Name }}", [MISTAKE]),
        ("klaviyo", "{{ .Subscriber.Name }}", [MISTAKE]),
        ("brevo", "{{ .Subscriber.Name }}", [UNREADABLE]),
    ],
    "a conditional comment is content": [
        ("braze", "<!--[if mso]>*|A|*<![endif]-->", [MISTAKE]),
        ("braze", "<!--[if !mso]><!-->*|A|*<!--<![endif]-->", [MISTAKE]),
    ],
}


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [
        pytest.param(*row, id=f"{group}: {row[0]}: {row[1]}")
        for group, rows in JUDGED.items()
        for row in rows
    ],
)
def test_code_is_judged(esp, source, expected):
    assert codes(esp, source) == expected


@pytest.mark.parametrize(
    ("esp", "tag", "role", "names", "system_names"),
    [
        ("sendgrid", "[Unsubscribe_Preferences]", "system", (), ("Unsubscribe_Preferences",)),
        ("sendgrid", "[%city | there%]", "field", ("city",), ()),
        ("hubspot", "{{ contact.city.split(' ') }}", "field", ("city",), ()),
    ],
)
def test_a_name_is_read_in_each_form(esp, tag, role, names, system_names):
    (found,) = recognize(tag, esp)
    assert (found.role.value, found.names, found.system_names) == (role, names, system_names)


@pytest.mark.parametrize(
    ("esp", "advice"),
    [
        ("braze", "Write it between `{% raw %}` and `{% endraw %}`."),
        ("hubspot", "Write it between `{% raw %}` and `{% endraw %}`."),
        ("klaviyo", "Write it between `{% verbatim %}` and `{% endverbatim %}`."),
        ("iterable", "Write a backslash before each tag: `\\{{title}}`."),
        ("mailchimp", None),
        ("sfmc", None),
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
    assert len(warnings("braze", source)) == 3
    (warning,) = warnings("braze", source, literals=("*|A|*", "{{recipients.x}}"))
    assert warning.column == 25


def test_a_warning_names_the_dialects_and_our_own_form():
    messages = [
        each.message
        for each in warnings("braze", "{{ event.x|size }} {{ person|lookup:'VIP' }} *|IF:VIP|*")
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
    (warning,) = warnings("activecampaign", tag, *fields)
    assert warning.message.endswith(f" Write `{form}`.")


@pytest.mark.parametrize("esp", NATIVE)
def test_no_esp_has_code_of_its_own_in_content_for_all(esp):
    for tag in (tag for each, tag in PAIRS if each == esp):
        with pytest.raises(InvalidContent) as invalid:
            check_content(parse_content(f"Hello {tag}"), [])
        (violation,) = invalid.value.violations
        assert isinstance(violation, RejectedWarning)
        assert (violation.warning, violation.position.column) == (MISTAKE, 7), tag
    assert BUILT_IN[esp].title in violation.reason


def test_text_that_may_be_code_of_an_esp_is_a_caveat_in_content_for_all():
    source = "100%OFF% [unsubscribe] <style>{{ x }}</style> %H 50 % of 100 %"
    checked = check_content(parse_content(source), [])
    assert [(each.code, each.column) for each in checked.warnings] == [
        (CAVEAT, 4),
        (CAVEAT, 10),
        (CAVEAT, 31),
    ]


@pytest.mark.parametrize("esp", [None, "sfmc", "braze"])
def test_a_block_that_a_conversion_left_to_a_person_is_a_mistake(esp):
    source = (
        "a [BY HAND: line 7]b {{recipient.email}}[END BY HAND]\n"
        "[BY HAND: line 12]<!-- c [BY HAND: line 3] -->[END BY HAND][END BY HAND] [BY HAND]"
    )
    form = "as portable content" if esp is None else f"for {BUILT_IN[esp].title}"
    message = f"This block is by hand: write it {form}, and delete the marks around it."
    assert mistakes(esp, source) == [
        (place, MISTAKE, message) for place in ((1, 3), (2, 1), (2, 26), (2, 60))
    ]
    literals = ("[BY HAND: line 7]", "[END BY HAND]")
    assert mistakes(esp, "[BY HAND: line 7]b[END BY HAND]", literals) == []


def test_a_mark_in_native_code_is_a_mistake():
    with pytest.raises(InvalidContent) as invalid:
        check_native("{{ ${a} }}\n [BY HAND: line 7]b[END BY HAND]", Esp("braze"))
    (violation,) = invalid.value.violations
    assert (violation.position.line, violation.position.column) == (2, 2)
    assert "write it for Braze" in violation.reason


@pytest.mark.parametrize("esp", [None, "sfmc", "braze"])
def test_a_delimiter_of_ampscript_without_its_tag_is_a_mistake(esp):
    source = "a ]%% b {{recipient.email}}]%%"
    found = [(place, code) for place, code, _ in mistakes(esp, source)]
    assert found == [((1, 3), UNREADABLE), ((1, 28), UNREADABLE)]
    ((place, code, message),) = mistakes(esp, "ab %%[ SET @a = 1")
    assert (place, code) == ((1, 4), UNREADABLE)
    if esp != "sfmc":
        assert message.startswith("`%%[` belongs to no tag. Delete it, or write the whole tag. ")
    assert mistakes(esp, "a ]%% b", ("]%%",)) == []
    assert mistakes(esp, "<script>a = b]%%</script>") == []


def test_a_delimiter_beside_a_block_of_ampscript_is_a_mistake():
    source = "%%[ SET @a = 1 ]%%%%=v(@a)=%%%%[ SET @b = {{recipient.email | expression}} ]%%]%%"
    assert [place for place, *_ in mistakes("sfmc", source)] == [(1, len(source) - 2)]


def test_tags_beyond_a_number_are_not_examined_and_a_caveat_says_so():
    source = "{{${a}}}" * 20_000
    (found,) = warnings("braze", source)
    assert found.message.startswith("The tags from here on are not examined")
    assert count_calls(TextTag.judge, lambda: warnings("braze", source)) <= 1_250


@pytest.mark.slow
@pytest.mark.parametrize("esp", ["klaviyo", None])
@pytest.mark.parametrize(
    "piece",
    [
        *("{{", "%", "*|", "[[a", "{%", "%%=", "%%a ", "<!--", "{{ ${", "%A", "http://", "%41%"),
        *("]%%", "%%[", "%%[]%%", "[BY HAND: line 1]", "[BY HAND: line 1", "[END BY HAND]"),
    ],
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
    def search(text):
        return list(find_text_tags(text, BUILT_IN))

    assert_grows_linearly(search, lambda size: "%41" * size, 4_000)


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_text_without_tags_is_skipped_as_fast_as_a_search_for_characters_allows(esp):
    text = "Thank you for your order. " * 10_000
    characters = re.compile("[%*<{[]")

    def fastest(work: Callable[[], object]) -> float:
        return min(timeit.repeat(work, timer=thread_time, repeat=5, number=1))

    assert fastest(lambda: list(BUILT_IN[esp].find_tags(text))) < 5 * fastest(
        lambda: characters.search(text)
    )


@pytest.mark.parametrize(
    "tag",
    [
        *("{contactfield=firstname|there}", "[firstname,fallback=there]", "{!Contact.FirstName}"),
        *("%recipient.first_name%", "{$name}", "{unsubscribe_url}", '[[data:firstname:"there"]]'),
    ],
)
@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_a_tag_of_a_sender_beyond_the_esps_is_a_caveat(esp, tag):
    assert codes(esp, f"Hello {tag}!") == [CAVEAT]
    assert not list(recognize(tag))


@pytest.mark.parametrize(
    "text", ["{a}", "{ name }", "a{color:red}", "[1,2]", "50%recipient%", "${x}"]
)
def test_braces_and_brackets_in_a_text_are_no_tags(text):
    assert codes("mailchimp", text) == []


def test_code_that_only_another_language_reads_names_its_dialect_and_the_reason():
    (warning,) = warnings("braze", "{% if not person.vip %}")
    assert warning.code is MISTAKE
    assert warning.message.startswith(
        "Braze does not read this code of Klaviyo. Liquid has no `not`."
    )


def test_the_names_in_a_tag_that_may_not_be_read_are_found():
    (found,) = recognize("{{ person|lookup:'A B'|default: 'x' }}", Esp("klaviyo"))
    assert found.names == ("A B",)
