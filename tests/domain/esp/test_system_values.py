"""Links, the sender, the year and the address of the recipient are exported without a field."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from attrs import evolve

from recipient_fields.domain import (
    ADMINISTRATOR,
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.content import (
    Content,
    InvalidContent,
    SystemValue,
    WarningCode,
    WarningKind,
    parse_content,
    preview_content,
)
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportedContent,
    ExportOptions,
    export_content,
)
from recipient_fields.domain.esp.content.foreign_code import MAX_TAGS
from recipient_fields.domain.esp.content.links import find_missing_link
from recipient_fields.domain.esp.languages.hubl import read_hubl
from recipient_fields.domain.esp.profiles.profile import Strength
from recipient_fields.domain.integrations import FieldCodes, IntegrationDraft, SetName

from ...support.growth import assert_grows_linearly

NO_FIELDS = FieldCodes.of([])
EVERY_CODE = pytest.mark.parametrize(
    ("esp", "value"),
    [
        pytest.param(esp, value, id=f"{esp}-{value.value}")
        for esp in BUILT_IN.esps
        for value in SystemValue
    ],
)
WITHOUT_A_NAME = {
    *(
        (esp, SystemValue.YEAR)
        for esp in map(Esp, ("braze", "customerio", "hubspot", "iterable", "onesignal"))
    ),
    *(("brevo", value) for value in (SystemValue.SENDER_NAME, SystemValue.SENDER_ADDRESS)),
}
"""The codes by which no name says what they show, and Brevo's that content also has."""
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def export(esp: str, source: str, codes: FieldCodes = NO_FIELDS) -> ExportedContent:
    return export_content(parse_content(source), codes, Esp(esp), ExportOptions(strict=False))


def refusals(esp: str, source: str) -> list[str]:
    with pytest.raises(InvalidContent) as raised:
        export(esp, source)
    return [each.message for each in raised.value.violations]


def codes(exported: ExportedContent) -> list[WarningCode]:
    return [each.code for each in exported.warnings]


@EVERY_CODE
def test_a_value_has_the_code_of_the_esp_or_is_refused_with_what_to_do(esp, value):
    code = BUILT_IN[esp].find_system_code(value)
    if isinstance(code, str):
        assert refusals(esp, f"a {value}") == [f"Line 1, column 3: {code}"]
        assert "Write" in code or "Remove" in code
        return
    exported = export(esp, f"a {value} b")
    assert code.code in exported.content
    is_secondary = WarningCode.SECONDARY_SOURCES in codes(exported)
    assert is_secondary is (code.strength is Strength.SECONDARY)
    differs = WarningCode.SYSTEM_VALUE_DIFFERS in codes(exported)
    assert differs is (code.caveat is not None)
    assert {each.code.kind for each in exported.warnings} <= {WarningKind.CAVEAT}


@EVERY_CODE
def test_a_code_is_native_at_its_esp_and_has_our_form_at_others(esp, value):
    code = BUILT_IN[esp].find_system_code(value)
    if isinstance(code, str):
        return
    kinds = {each.code.kind for each in export(esp, code.code).warnings}
    assert WarningKind.MISTAKE not in kinds
    if (esp, value) in WITHOUT_A_NAME:
        return
    for other in {"sfmc", "mailchimp", "activecampaign"} - {esp}:
        for warning in export(other, code.code).warnings:
            assert warning.message.endswith((f"Write `{value}`.", "Write `{{link.unsubscribe}}`."))


@pytest.mark.parametrize(
    "source", ["{% if organization.name %}", "{% with x=organization.name %}", "{{ params.name }}"]
)
def test_a_tag_that_shows_no_system_value_has_no_form_of_one(source):
    (warning,) = export("mailchimp", source).warnings
    assert "sender.name" not in warning.message


def test_a_date_is_no_year_and_the_year_has_our_form():
    (warning,) = export("mailchimp", "{{ local_dt|format_datetime('MMMM') }}").warnings
    assert "today.year" not in warning.message
    (warning,) = export("mailchimp", "{{ year }}").warnings
    assert warning.message.endswith("Write `{{today.year}}`.")


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("klaviyo", "{% if {{link.unsubscribe}} %}"),
        ("klaviyo", "{% verbatim %}{{link.unsubscribe}}{% endverbatim %}"),
        ("klaviyo", "{# {{link.unsubscribe}} #}"),
        ("klaviyo", "{{{link.unsubscribe}}"),
        ("activecampaign", "100%{{link.unsubscribe}}"),
    ],
)
def test_a_position_at_which_the_esp_would_not_read_the_code_is_refused(esp, source):
    assert len(refusals(esp, source)) == 1


def test_the_code_has_other_quotes_than_the_attribute():
    source = "<i title=\"{{today.year}}\" alt='{{today.year}}'>"
    exported = export("iterable", source)
    assert """title="{{now format='yyyy'}}" alt='{{now format="yyyy"}}'""" in exported.content


def test_white_space_and_tildes_are_read_as_in_references():
    exported = export("mailchimp", "a {{~ link.unsubscribe ~}} b")
    assert exported.content == "a*|UNSUB|*b"
    (warning,) = export("mailchimp", "{{{link.unsubscribe}}}").warnings
    assert warning.code is WarningCode.OUTER_BRACES


# The web version


WEB = "{{link.view_in_browser}}"
OPENING, CLOSING = "*|IFNOT:ARCHIVE_PAGE|*", "*|END:IF|*"


@pytest.mark.parametrize(
    ("source", "exported"),
    [
        (f'x <a href="{WEB}">Open</a> y', 'x [<a href="*|ARCHIVE|*">Open</a>] y'),
        (f'<A class="b" href="{WEB}">\n<b>Open</b></A>', None),
        (f"Open: {WEB}.", "Open: [*|ARCHIVE|*]."),
        (f'<a href="{WEB}">{WEB}</a>', '[<a href="*|ARCHIVE|*">*|ARCHIVE|*</a>]'),
        (f'<a href="x">{WEB}</a>', '<a href="x">[*|ARCHIVE|*]</a>'),
        (
            f'<a href="{WEB}">a</a><a href="{WEB}">b</a>',
            '[<a href="*|ARCHIVE|*">a</a>][<a href="*|ARCHIVE|*">b</a>]',
        ),
        (f'<v:rect href="{WEB}"/>', '<v:rect href="*|ARCHIVE|*"/>'),
        (f'<a href="{WEB}">a <a href="x">b</a>', '<a href="*|ARCHIVE|*">a <a href="x">b</a>'),
        (f'<a href="{WEB}">a', '<a href="*|ARCHIVE|*">a'),
        (f'<a title="a > b" href="{WEB}">a</a>', '[<a title="a > b" href="*|ARCHIVE|*">a</a>]'),
        (f"<!-- {WEB} -->", "<!-- *|ARCHIVE|* -->"),
        (f'*|IFNOT:ARCHIVE_PAGE|*<a href="{WEB}">a</a>*|END:IF|*', '[<a href="*|ARCHIVE|*">a</a>]'),
    ],
)
def test_the_web_version_of_mailchimp_does_not_show_the_link_to_itself(source, exported):
    if exported is None:
        exported = f"[{source.replace(WEB, '*|ARCHIVE|*')}]"
    expected = exported.replace("[", OPENING).replace("]", CLOSING)
    assert export("mailchimp", source).content == expected


def test_a_link_in_a_branch_is_enclosed_there_and_one_across_branches_stays():
    field = _field("tier")
    inside = f'{{{{#if recipient.tier is set}}}}<a href="{WEB}">a</a>{{{{/if}}}}'
    content = export("mailchimp", inside, FieldCodes.of([field])).content
    assert content == f'*|IF:TIER|*{OPENING}<a href="*|ARCHIVE|*">a</a>{CLOSING}*|END:IF|*'
    across = f'{{{{#if recipient.tier is set}}}}<a href="{WEB}">a{{{{/if}}}}</a>'
    assert OPENING not in export("mailchimp", across, FieldCodes.of([field])).content
    around = f'<a href="{WEB}">{{{{#if recipient.tier is set}}}}{WEB}{{{{/if}}}}</a>'
    assert export("mailchimp", around, FieldCodes.of([field])).content == (
        f'{OPENING}<a href="*|ARCHIVE|*">*|IF:TIER|**|ARCHIVE|**|END:IF|*</a>{CLOSING}'
    )


@pytest.mark.parametrize("link", [f"<a href='{WEB}'>a</a>", f"<a {WEB} ", f"{WEB} "])
def test_the_time_for_links_to_the_web_version_is_linear(link):
    def build(size: int) -> Content:
        return parse_content(link * size)

    def call(content: Content) -> ExportedContent:
        return export_content(content, NO_FIELDS, "mailchimp")

    assert_grows_linearly(call, build, 2_000)


# Emails without a link to unsubscribe


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_an_html_email_without_a_link_has_a_caveat_if_the_esp_requires_or_adds_one(esp):
    missing = codes(export(esp, "<html><p>Hello</p></html>"))
    assert (missing == []) is (esp in {"sfmc", "customerio", "onesignal"})
    assert missing in ([], [WarningCode.UNSUBSCRIBE_LINK_MISSING])
    linked = export(esp, '<html><p>Hello</p><a href="{{link.unsubscribe}}">Leave</a></html>')
    assert WarningCode.UNSUBSCRIBE_LINK_MISSING not in codes(linked)


@pytest.mark.parametrize(
    ("source", "is_email"),
    [
        *(("<!doctype html><p>a</p>", True), ("<HTML lang='en'>", True), ("<body>a", True)),
        *(("a</body>", True), ("{{recipient.email}}</html>", True)),
        *(("<p>a</p>", False), ("<table><tr><td>a</table>", False), ("a", False)),
        *(("<tbody><htmlx>", False), ("<!-- <body> -->a", False), ("{{! <body> }}<p>", False)),
        ("<script>'<body>'</script>", False),
    ],
)
def test_only_a_whole_email_needs_a_link(source, is_email):
    missing = WarningCode.UNSUBSCRIBE_LINK_MISSING in codes(export("mailchimp", source))
    assert missing is is_email


def test_an_email_in_plain_text_needs_no_link():
    options = ExportOptions(surface="text")
    exported = export_content(parse_content("<body>a"), NO_FIELDS, "mailchimp", options)
    assert codes(exported) == []


@pytest.mark.parametrize(
    ("esp", "link"),
    [
        ("mailchimp", "*|UNSUB|*"),
        ("klaviyo", "{% unsubscribe 'Leave' %}"),
        ("braze", "<p>{{${unsubscribe_url}}}</p>"),
        ("braze", "<!--[if !mso]><!--><a href='{{link.unsubscribe}}'>a</a><!--<![endif]-->"),
        ("hubspot", "{{ unsubscribe_link_all }}"),
        ("hubspot", '{% module "f" path="@hubspot/email_can_spam" %}'),
        ("sendgrid", "<%asm_group_unsubscribe_raw_url%>"),
        ("iterable", "{{hostedUnsubscribeUrl}}"),
        ("iterable", "{{link.preferences}}"),
        ("brevo", "{{ unsubscribe }}"),
        ("activecampaign", "%UNSUBSCRIBELINK%"),
    ],
)
def test_a_code_of_the_esp_is_a_link(esp, link):
    assert WarningCode.UNSUBSCRIBE_LINK_MISSING not in codes(export(esp, f"<body>{link}</body>"))


@pytest.mark.parametrize(
    "place", ["<!-- %s -->", "<!--[if mso]>%s<![endif]-->", "<style>%s</style>"]
)
@pytest.mark.parametrize("link", ["{{${unsubscribe_url}}}", "{{link.unsubscribe}}"])
def test_a_link_in_a_comment_or_only_for_outlook_is_no_link(place, link):
    (missing,) = (
        each
        for each in export("braze", f"<body>{place % link}</body>").warnings
        if each.code is WarningCode.UNSUBSCRIBE_LINK_MISSING
    )
    assert missing.message.endswith(
        "All clients must show it: the one in this email is in a comment, or only for Outlook."
    )


def test_code_of_another_esp_and_unread_code_is_no_link():
    for source in ("*|UNSUB|*", "{# {% unsubscribe %} #}", "unsubscribe"):
        warnings = codes(export("klaviyo", f"<body>{source}</body>"))
        assert WarningCode.UNSUBSCRIBE_LINK_MISSING in warnings


def test_the_link_is_searched_in_the_tags_that_are_examined_only():
    read: list[object] = []

    def read_parts(text):
        for part in read_hubl(text):
            read.append(part)
            yield part

    profile = evolve(BUILT_IN[Esp("hubspot")], languages=(read_parts,))
    content = parse_content("<body>unsubscribe " + "{{a}}" * 100_000)
    assert find_missing_link(profile, content) is None
    assert len(read) < 2 * MAX_TAGS


# Other names


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ link.unsubscrib }}", "Did you mean `{{link.unsubscribe}}`?"),
        ("{{link.home}}", "It has link.unsubscribe, link.unsubscribe_all,"),
        ("{{today.years}}", "Did you mean `{{today.year}}`?"),
        ("{{link.unsubscribe | upper}}", "Write only the name between the braces"),
    ],
)
@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_another_name_of_a_link_or_of_today_is_a_mistake(esp, source, message):
    warnings = export(esp, source).warnings
    assert [each.code for each in warnings] == [WarningCode.REFERENCE_LOOKALIKE]
    assert message in warnings[0].message


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("klaviyo", "{% for link in event.links %}{{ link.url }}{% endfor %}"),
        ("braze", "{% assign link = event_properties.${a} %}{{ link.url }}"),
        ("hubspot", "{% set today = content.created %}{{ today.month }}"),
        ("brevo", "{{ sender.email }} {{ sender.company }}"),
    ],
)
def test_variables_of_the_content_and_other_codes_of_brevo_stay(esp, source):
    exported = export(esp, source)
    assert (exported.content, exported.warnings) == (source, ())


# The address of the recipient


EMAIL = "{{recipient.email}}"


@pytest.mark.parametrize(
    ("esp", "code"),
    [
        ("sfmc", "%%=v(@emailaddr)=%%"),
        ("mailchimp", "*|EMAIL|*"),
        ("klaviyo", "{{ email|default_if_none:'' }}"),
        ("braze", "{{${email_address}}}"),
        ("customerio", "{{customer.email}}"),
        ("hubspot", "{{ contact.email }}"),
        ("sendgrid", "{{email}}"),
        ("iterable", "{{email}}"),
        ("brevo", "{{ contact.EMAIL|default_if_none:'' }}"),
        ("activecampaign", "%EMAIL%"),
        ("onesignal", "{{ subscription.email }}"),
    ],
)
def test_the_address_is_the_own_field_of_the_esp(esp, code):
    exported = export(esp, EMAIL)
    assert exported.content.endswith(code)
    assert exported.keys == ()
    others = {WarningCode.HTML_IN_VALUES, WarningCode.MISSING_VALUE_STOPS}
    assert {*codes(exported)} <= {WarningCode.ASSUMED_NAME, *others}
    assert WarningCode.ASSUMED_NAME in codes(exported)


def test_the_address_can_have_a_default_and_be_compared():
    source = '{{recipient.email | default: "-"}}{{#if recipient.email is set}}x{{/if}}'
    assert export("mailchimp", source).content == (
        "*|IF:EMAIL|**|EMAIL|**|ELSE:|*-*|END:IF|**|IF:EMAIL|*x*|END:IF|*"
    )


def test_a_field_with_the_key_has_its_own_code():
    field = _field("email", insertion_code="*|ADDRESS|*")
    exported = export("mailchimp", EMAIL, FieldCodes.of([field]))
    assert (exported.content, exported.keys) == ("*|ADDRESS|*", ("email",))


def test_the_address_stays_the_own_field_if_its_name_is_set_for_another_field():
    field = _field("contact")
    draft = IntegrationDraft(esp="mailchimp", name="Main", created_at=NOW)
    integration = draft.with_id(IntegrationId(1), OrganizationId(1))
    named = evolve(integration, names={field.id: SetName("EMAIL")})
    exported = export_content(
        parse_content(EMAIL), FieldCodes.of([field], [named]), IntegrationId(1)
    )
    assert exported.content == "*|EMAIL|*"


def test_the_preview_shows_stand_ins_and_the_year():
    content = parse_content(f"{SystemValue.UNSUBSCRIBE} {SystemValue.YEAR} {EMAIL}")
    assert preview_content(content, [], {}, today=date(2031, 1, 1)).content == (
        "https://example.com/unsubscribe 2031 recipient@example.com"
    )
    assert preview_content(content, [], {"email": "ada@example.com"}).content == (
        "https://example.com/unsubscribe {{today.year}} ada@example.com"
    )
    assert preview_content(parse_content(EMAIL), [_field("email")], {}).content == ""


def _field(key: str, insertion_code: str | None = None) -> RecipientField:
    draft = FieldDraft(
        name=key, key=key, data_type=DataType.TEXT, custom_insertion_code=insertion_code
    )
    return draft.define(by=ADMINISTRATOR, at=NOW).with_id(FieldId(1), OrganizationId(1))
