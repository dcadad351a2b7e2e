"""Export replaces references and blocks with code of one ESP, and changes nothing else."""

from __future__ import annotations

import re

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    DataType,
    FieldId,
    IntegrationId,
    sync_channel,
)
from recipient_fields.domain.content import (
    MAX_WARNINGS,
    InvalidContent,
    WarningCode,
    parse_content,
)
from recipient_fields.domain.esp import (
    Esp,
    ExportedContent,
    derive_codes,
    export_content,
)
from recipient_fields.domain.esp.content.export import MAX_EXPORTED_LENGTH
from recipient_fields.domain.esp.derived_codes import derive_guarded_code

EVERY_ESP = pytest.mark.parametrize("esp", Esp, ids=lambda esp: esp.value)
BRACES = (
    *(Esp.KLAVIYO, Esp.BRAZE, Esp.CUSTOMER_IO, Esp.HUBSPOT),
    *(Esp.SENDGRID, Esp.ITERABLE, Esp.BREVO),
)
UPPER_CASE = {Esp.MAILCHIMP, Esp.BREVO, Esp.ACTIVECAMPAIGN}
SEVEN = IntegrationId(7)


@pytest.fixture(scope="session")
def synced(make_field):
    """Make a field that was synced from the ESP by integration 7, or by another one."""

    def make(esp: Esp, key: str, name: str = "", *, by: int = 7, **members: object):
        name = name or (key.upper() if esp in UPPER_CASE else key)
        codes = derive_codes(esp, name)
        field = make_field(
            sync_channel(IntegrationId(by)),
            key=key,
            esp_field_name=name,
            custom_insertion_code=codes.insertion_code,
            custom_value_expression=codes.value_expression,
            **members,
        )
        return evolve(field, id=FieldId(by))

    return make


@pytest.fixture(scope="session")
def manual(make_field):
    """Make a field of an administrator, with these codes."""

    def make(key: str, code: str | None, expression: str | None = None, **members: object):
        return make_field(
            ADMINISTRATOR,
            key=key,
            custom_insertion_code=code,
            custom_value_expression=expression,
            **members,
        )

    return make


@pytest.fixture
def export(synced):
    """Export content with the fields `tier` (text) and `visits` (number), and with others."""

    def run(esp: Esp, source: str, *others: object, strict: bool = False) -> ExportedContent:
        fields = [synced(esp, "tier"), synced(esp, "visits", data_type=DataType.NUMBER), *others]
        content = parse_content(source)
        return export_content(content, fields, esp, integration_id=SEVEN, strict=strict)

    return run


@pytest.fixture
def refusal(export):
    """Export content, and return the messages of its refusal."""

    def run(*args: object, **options: object) -> list[str]:
        with pytest.raises(InvalidContent) as invalid:
            export(*args, **options)
        return [violation.message for violation in invalid.value.violations]

    return run


def messages(exported: ExportedContent) -> list[str]:
    return [f"{each.line}:{each.column} {each.message}" for each in exported.warnings]


# Keys


def test_a_key_means_the_field_of_the_integration_with_the_same_name(synced):
    first, second = synced(Esp.BRAZE, "tier", by=1), synced(Esp.BRAZE, "tier_7", "tier", by=7)
    content = parse_content('{{recipient.tier}}{{#if recipient.tier = "a"}}x{{/if}}')
    for fields in ([first, second], [second]):
        exported = export_content(content, fields, Esp.BRAZE, integration_id=SEVEN)
        assert exported.content.startswith("{{custom_attribute.${tier}}}{% if ")
        assert exported.keys == ("tier_7",)
        assert exported.resolved == {"tier": "tier_7"}


def test_a_key_means_the_field_with_another_spelling_of_the_name(synced):
    first, second = synced(Esp.MAILCHIMP, "tier", by=1), synced(Esp.KLAVIYO, "tier_7", "Tier", by=7)
    content = parse_content("{{recipient.tier}}")
    exported = export_content(content, [first, second], Esp.KLAVIYO, integration_id=SEVEN)
    assert exported.content == "{{ person|lookup:'Tier'|default_if_none:'' }}"


@pytest.mark.parametrize(
    ("esp", "name", "guarded"),
    [
        (Esp.KLAVIYO, "tier", "{{ person|lookup:'tier'|default_if_none:'' }}"),
        (Esp.BREVO, "TIER", "{{ contact.TIER|default_if_none:'' }}"),
    ],
)
def test_only_code_that_a_sync_derived_gets_a_guard(esp, name, guarded, synced, manual):
    derived, content = synced(esp, "tier", name), parse_content("{{recipient.tier}}")
    exported = export_content(content, [derived], esp, integration_id=SEVEN)
    assert exported.content == guarded
    assert exported.warnings == ()
    written = manual("tier", str(derived.custom_insertion_code))
    exported = export_content(content, [written], esp)
    assert exported.content == derived.custom_insertion_code
    assert [each.code for each in exported.warnings] == [WarningCode.VERBATIM_CODE]


def test_a_number_that_an_engine_shows_in_another_form_is_a_caveat(synced):
    field = synced(Esp.BREVO, "visits", "VISITS", data_type=DataType.NUMBER)
    content = parse_content("{{recipient.visits}}{{recipient.visits}}")
    (warning,) = export_content(content, [field], Esp.BREVO, integration_id=SEVEN).warnings
    assert warning.code is WarningCode.SHOWN_FORM
    assert "pongo2 shows a number that is stored as a decimal" in warning.message


def test_a_block_of_white_space_stays_in_ruby_s_liquid(export):
    source = "a{{#if recipient.tier is set}} {{else}}\n{{/if}}b"
    assert export(Esp.BRAZE, source).content.partition("%}")[2] == (
        " {{ nil }}{% else %}\n{{ nil }}{% endif %}b"
    )


def test_the_field_with_the_key_has_precedence(synced, manual):
    fields = [manual("tier", "static"), synced(Esp.BRAZE, "tier_7", "tier")]
    content = parse_content("{{recipient.tier}}{{recipient.tier_7}}")
    exported = export_content(content, fields, Esp.BRAZE, integration_id=SEVEN)
    assert exported.content == "static{{custom_attribute.${tier}}}"
    assert (exported.keys, exported.resolved) == (("tier", "tier_7"), {})


def test_a_field_of_another_integration_is_refused(synced):
    fields = [synced(Esp.BRAZE, "city", by=8)]
    with pytest.raises(InvalidContent, match="The field city belongs to integration 8"):
        export_content(parse_content("{{recipient.city}}"), fields, Esp.BRAZE)


SET_BY = "An administrator sets it in the console or with `recipient-fields fields update`."


def test_every_reason_is_reported_with_its_position(refusal, manual):
    fields = [manual("bare", None), manual("secret", "x", insertable=False)]
    assert refusal(Esp.BRAZE, "{{recipient.tie}}\n {{recipient.bare}}", *fields) == [
        "Line 1, column 1: There is no field with the key tie."
    ]
    assert refusal(
        Esp.BRAZE,
        "{{recipient.bare}}\n {{recipient.secret}}{{recipient.bare | expression}}",
        *fields,
    ) == [
        f"Line 1, column 1: This field has no insertion code. {SET_BY}",
        "Line 2, column 2: This field is not insertable.",
        f"Line 2, column 22: This field has no value expression. {SET_BY}",
    ]


# Braces and other characters next to code


@pytest.mark.parametrize(
    ("esp", "code"),
    [
        (Esp.SALESFORCE, '%%[ SET @tier = AttributeValue("tier") ]%%a{%%=v(@tier)=%%}'),
        (Esp.MAILCHIMP, "a{*|TIER|*}"),
        (Esp.ACTIVECAMPAIGN, "a{%TIER%}"),
    ],
)
def test_braces_can_touch_code_without_braces(esp, code, export):
    assert export(esp, "a{{{recipient.tier}}}").content == code


@pytest.mark.parametrize("esp", BRACES)
def test_a_brace_after_code_is_separated(esp, export):
    content = export(esp, ".a{color:{{recipient.tier}}}").content
    code = derive_guarded_code(esp, "TIER" if esp in UPPER_CASE else "tier")
    separator = content.removeprefix(".a{color:" + code).removesuffix("}")
    assert separator in {"{# #}", "{{! }}", "{% if true %}{% endif %}"}


@pytest.mark.parametrize("esp", BRACES)
@pytest.mark.parametrize("code", ["{{recipient.tier}}", "{{#if recipient.tier is set}}x{{/if}}"])
def test_a_brace_before_code_is_refused(esp, code, refusal):
    (message,) = refusal(esp, f"a\n.b{{{code}")
    assert message.startswith("Line 2, column 3: ")
    assert message.endswith(
        "would read this character as part of the code after it. Write a space after it."
    )


def test_a_backslash_before_code_of_handlebars_is_refused(refusal):
    assert len(refusal(Esp.SENDGRID, "\\{{recipient.tier}}")) == 1


@pytest.mark.parametrize("esp", [Esp.SALESFORCE, Esp.ACTIVECAMPAIGN])
def test_a_percent_sign_before_code_in_percent_signs_is_refused(esp, refusal, export):
    assert len(refusal(esp, "100%{{recipient.tier}}")) == 1
    assert "%=v(@tier)=%%%" in export(Esp.SALESFORCE, "{{recipient.tier}}%").content


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("50% off", 3),
        ('<td width="100%">', 15),
        ("%A%%IF $B != ''%%C_1%%ELSE%x%/IF% 5%", 36),
        ("% off 20%", 1),
    ],
)
def test_a_percent_sign_in_a_block_of_activecampaign_is_a_warning(text, column, export):
    source = f'{{{{#if recipient.tier = "a"}}}}\n{text}\n{{{{/if}}}}'
    exported = export(Esp.ACTIVECAMPAIGN, source)
    assert text in exported.content
    (_, warning) = messages(exported)
    assert warning == (
        f"2:{column} No source establishes how ActiveCampaign reads this character in a condition."
        " Test the email."
    )
    assert len(export(Esp.ACTIVECAMPAIGN, source.replace(text, "%A%%IF $B%%/IF%")).warnings) == 1
    assert export(Esp.ACTIVECAMPAIGN, f"{text} {{{{recipient.tier}}}}").warnings == ()
    assert len(export(Esp.MAILCHIMP, source).warnings) == 1


def test_lines_with_only_a_tag_keep_their_line_breaks_in_handlebars(export):
    source = "a\n{{#if recipient.tier is set}}\nb\n{{else}}\nc\n{{/if}}\nd"
    assert export(Esp.ITERABLE, source).content == (
        "a\n{{#if tier}}{{! }}\nb\n{{! }}{{else}}{{! }}\nc\n{{! }}{{/if}}\nd"
    )


# Tags of the ESP


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        (Esp.BRAZE, '{% if {{recipient.tier}} == "gold" %}x{% endif %}'),
        (Esp.CUSTOMER_IO, "{{ {{recipient.tier}} | upcase }}"),
        (Esp.SALESFORCE, '%%[ IF {{recipient.tier}} == "gold" THEN ]%%x%%[ ENDIF ]%%'),
        (Esp.SALESFORCE, "%%=v({{recipient.tier}})=%%"),
        (Esp.MAILCHIMP, "*|IF:{{recipient.tier}}=gold|*x*|END:IF|*"),
        (Esp.SENDGRID, '{{#equals {{recipient.tier}} "gold"}}x{{/equals}}'),
        (Esp.ACTIVECAMPAIGN, "%IF {{recipient.tier}} == 'gold'%x%/IF%"),
        (Esp.BRAZE, "{% if {{#if recipient.tier is set}}x{{/if}} %}"),
        (Esp.HUBSPOT, "{{ never closed {{recipient.tier}}"),
        (Esp.SALESFORCE, "100%%{{#if recipient.tier is set}}x {{/if}}"),
    ],
)
def test_a_reference_inside_a_tag_of_the_esp_is_refused(esp, source, refusal):
    found = refusal(esp, source)
    assert "is inside a tag of " in found[0]
    assert "Write conditions as `{{#if recipient." in found[0]
    assert "| expression}}`" in found[0]


UNREAD = [
    *((esp, "{% raw %}{{ a }}", "{% endraw %}") for esp in (Esp.BRAZE, Esp.HUBSPOT)),
    *((Esp.CUSTOMER_IO, f"{{%{tag}%}}", "{%- endraw -%}") for tag in ("raw", "- raw -", " raw\n")),
    *((esp, "{% comment %}x", "{% endcomment %}") for esp in (Esp.BRAZE, Esp.CUSTOMER_IO)),
    *((esp, '{% comment "x" %}', "{%endcomment%}") for esp in (Esp.KLAVIYO, Esp.BREVO)),
    *((esp, "{% verbatim %}%}", "{% endverbatim %}") for esp in (Esp.KLAVIYO, Esp.BREVO)),
    (Esp.KLAVIYO, "{% verbatim a %}", "{% endverbatim a %}"),
    *((esp, "{# {{ a }}", "#}") for esp in (Esp.KLAVIYO, Esp.HUBSPOT, Esp.BREVO)),
    *((esp, "{{!-- {{ a }}", "--}}") for esp in (Esp.SENDGRID, Esp.ITERABLE)),
    *((esp, "{{~! ", "}}") for esp in (Esp.SENDGRID, Esp.ITERABLE)),
]
"""The beginnings and ends of comments, and of parts in which the ESP reads no code."""


@pytest.mark.parametrize(
    "code",
    [
        "{{recipient.tier}}",
        "{{recipient.tier | expression}}",
        "{{#if recipient.tier is set}}x{{/if}}",
    ],
)
@pytest.mark.parametrize(("esp", "begin", "end"), UNREAD)
def test_a_reference_in_a_part_that_the_esp_does_not_read_is_refused(
    esp, begin, end, code, refusal, export
):
    before = f"a\n {begin} "
    line, column = before.count("\n") + 1, len(before) - before.rindex("\n")
    for source in (f"{before}{code}{end}", f"{before}{code}"):
        found = refusal(esp, source)
        assert found[0].startswith(f"Line {line}, column {column}: ")
        for message in found:
            assert "does not read code after `" in message
            assert "in line 2, column 2. Move this out of that part." in message
    assert export(esp, f"{begin} {end} {code}").content


@pytest.mark.parametrize(
    ("esp", "source", "code"),
    [
        (
            Esp.BRAZE,
            '{% if {{recipient.tier | expression}} == "a" %}x{% endif %}',
            '{% if custom_attribute.${tier} == "a" %}x{% endif %}',
        ),
        (
            Esp.CUSTOMER_IO,
            "{{{{recipient.tier | expression}}}}",
            "{{customer.tier}}",
        ),
        (
            Esp.SALESFORCE,
            "%%=Uppercase({{recipient.tier | expression}})=%%",
            '%%[ SET @tier = AttributeValue("tier") ]%%%%=Uppercase(@tier)=%%',
        ),
        (
            Esp.MAILCHIMP,
            "*|IF:{{recipient.tier | expression}}=a|*x*|END:IF|*",
            "*|IF:TIER=a|*x*|END:IF|*",
        ),
    ],
)
def test_the_value_expression_can_be_inserted_into_a_tag(esp, source, code, export):
    exported = export(esp, source)
    assert (exported.content, exported.warnings) == (code, ())


def test_a_value_expression_outside_of_a_tag_is_a_warning(export):
    exported = export(Esp.BRAZE, "a {{recipient.tier | expression}}")
    assert exported.content == "a custom_attribute.${tier}"
    assert messages(exported) == ["1:3 Outside of a tag, this shows the expression."]


# Code of another dialect


@pytest.mark.parametrize(
    ("esp", "code"),
    [
        (Esp.BRAZE, "*|TIER|*"),
        (Esp.MAILCHIMP, "{{ tier }}"),
        (Esp.KLAVIYO, "{{customer.tier}}"),
        (Esp.BRAZE, "%%=v(@tier)=%%"),
        (Esp.HUBSPOT, "{{custom_attribute.${tier}}}"),
    ],
)
def test_code_of_another_dialect_is_refused(esp, code, refusal, manual):
    (message,) = refusal(esp, "{{recipient.city}}", manual("city", code))
    assert message.startswith(
        "Line 1, column 1: The insertion code of this field is not in the language of"
    )


def test_a_variable_in_braces_is_exported_with_a_warning(export, refusal, manual):
    field = manual("city", "{{ city }}")
    exported = export(Esp.BRAZE, "{{recipient.city}}", field)
    assert exported.content == "{{ city }}"
    assert messages(exported) == ["1:1 This field's code may not be code of Braze."]
    assert len(refusal(Esp.BRAZE, "{{recipient.city}}", field, strict=True)) == 1


@pytest.mark.parametrize(
    ("esp", "source"),
    [(Esp.BRAZE, "a *|FNAME|*"), (Esp.MAILCHIMP, "a {{ x }}")],
)
def test_text_in_another_dialect_is_exported_with_a_warning(esp, source, export):
    exported = export(esp, source)
    assert exported.content == source
    assert [each.column for each in exported.warnings] == [3]


def test_text_in_the_dialect_of_the_esp_is_no_warning(export):
    source = "{% for x in y %}{{ x }}{{ custom_attribute.${a} }}{% endfor %}"
    assert export(Esp.BRAZE, source, strict=True).content == source


# Preludes of Salesforce

SET_TIER = '%%[ SET @tier = AttributeValue("tier") ]%%'


def test_each_prelude_is_inserted_once_at_the_beginning(export):
    source = 'a{{recipient.tier}}{{#if recipient.tier = "x"}}{{recipient.visits}}{{/if}}'
    content = export(Esp.SALESFORCE, source).content
    assert content.startswith(SET_TIER + '%%[ SET @visits = AttributeValue("visits") ]%%a')
    assert content.count("SET @") == 2


@pytest.mark.parametrize(
    ("source", "prelude"),
    [
        ("{{recipient.city}}", '%%[ SET @City = AttributeValue("City") ]%%'),
        ('{{#if recipient.city = "x"}}x{{/if}}', '%%[ SET @City = AttributeValue("City") ]%%'),
        ('%%[ SET @city = "x" ]%%{{recipient.city}}', "%%[ SET @city = "),
    ],
)
def test_a_variable_in_hand_written_code_has_a_prelude_unless_it_is_set(
    source, prelude, export, manual
):
    field = manual("city", "%%=v(@City)=%%", "@City")
    exported = export(Esp.SALESFORCE, source, field)
    assert exported.content.startswith(prelude)
    assert exported.content.lower().count("set @city") == 1
    assert not any("must set" in message for message in messages(exported))


def test_a_variable_in_hand_written_code_is_that_of_a_synced_field(export, manual, synced):
    fields = manual("city", "%%=v(@home_city)=%%"), synced(Esp.SALESFORCE, "home", "Home City")
    exported = export(Esp.SALESFORCE, "{{recipient.city}}", *fields)
    assert exported.content == (
        '%%[ SET @Home_City = AttributeValue("Home City") ]%%%%=v(@home_city)=%%'
    )


def test_a_variable_that_another_field_of_the_content_sets_is_refused(refusal, synced):
    fields = (
        synced(Esp.SALESFORCE, "one", "First Name"),
        synced(Esp.SALESFORCE, "two", "first-name"),
    )
    assert refusal(Esp.SALESFORCE, "{{recipient.one}} {{recipient.two}}", *fields) == [
        "Line 1, column 19: Another field of this content sets the variable @first_name."
    ]


# Defaults


@EVERY_ESP
def test_a_default_has_the_form_of_the_esp(esp, export):
    name = "TIER" if esp in UPPER_CASE else "tier"
    codes = derive_codes(esp, name, default="you")
    content = export(esp, 'Hi {{recipient.tier | default: "you"}}!').content
    assert content == f"{codes.prelude or ''}Hi {codes.insertion_code}!"


@pytest.mark.parametrize("esp", [Esp.KLAVIYO, Esp.ITERABLE, Esp.BREVO])
def test_a_default_that_would_hide_0_is_refused(esp, refusal, export):
    (message,) = refusal(esp, '{{recipient.visits | default: "none"}}')
    assert "also replaces 0 with the default" in message
    export(esp, '{{recipient.visits | default: "0"}}')


def test_hand_written_code_in_the_usual_form_can_have_a_default(export, refusal, manual):
    usual = manual("city", "{{ customer.city }}", "customer.city")
    source = '{{recipient.city | default: "Bern"}}'
    assert export(Esp.CUSTOMER_IO, source, usual).content == ('{{customer.city | default: "Bern"}}')
    unusual = manual("city", "{{customer.city | upcase}}", "customer.city")
    (message,) = refusal(Esp.CUSTOMER_IO, source, unusual)
    assert message.endswith("Write the default into the insertion code.")


def test_a_default_that_may_not_replace_an_empty_text_is_a_warning(export, refusal):
    exported = export(Esp.SENDGRID, 'a\n {{recipient.tier | default: "you"}}')
    assert messages(exported) == [
        "2:2 SendGrid does not document whether it shows the default instead of an empty text."
    ]
    assert len(refusal(Esp.SENDGRID, '{{recipient.tier | default: "you"}}', strict=True)) == 1
    for esp, source in [
        (Esp.SENDGRID, '{{recipient.visits | default: "none"}}{{recipient.tier}}'),
        (Esp.BRAZE, '{{recipient.tier | default: "you"}}'),
    ]:
        assert export(esp, source).warnings == ()


def test_a_default_without_a_safe_form_is_refused(refusal):
    (message,) = refusal(Esp.BRAZE, '{{recipient.tier | default: "}"}}')
    assert message.startswith("Line 1, column 1: This default is not possible. Braze has no safe")


# Quotes


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{}", '"'),
        ('<a title="{}">', "'"),
        ("<a title='{}'>", '"'),
        ("<a title={}>", "'"),
        ('<a title="x">{}</a>', '"'),
        ("<style>a{{content: {} }}</style>", "'"),
        ("<style>a{{}}</style>{}", '"'),
        ('<!-- <a title="{} -->', '"'),
    ],
)
def test_codes_in_attributes_and_css_have_the_other_quotes(source, code, export):
    for reference in ('{{recipient.tier | default: "x"}}', '{{#if recipient.tier = "x"}}y{{/if}}'):
        content = export(Esp.CUSTOMER_IO, source.format(reference)).content
        assert f"{code}x{code}" in content


def test_codes_without_another_form_are_exported_with_a_warning(export):
    exported = export(Esp.SENDGRID, '<a title="{{recipient.tier | default: "x"}}">')
    assert exported.content == '<a title="{{insert tier "default=x"}}">'
    assert messages(exported)[1].startswith("1:11 This is inside double quotes or CSS")


def test_doubled_quotes_are_not_changed(export):
    exported = export(Esp.SALESFORCE, """<a title="{{recipient.tier | default: 'a"b'}}">""")
    assert '"a""b"' in exported.content
    assert len(exported.warnings) == 1


# Blocks


def test_a_block_is_exported_with_its_branches(export):
    source = (
        '{{#if recipient.tier = "gold"}}{{recipient.tier}}{{else if recipient.visits is set}}b'
        "{{#if recipient.visits is set}}n{{/if}}{{else}}c{{/if}}"
    )
    assert export(Esp.HUBSPOT, source).content == (
        '{% if contact.tier == "gold" %}{{ contact.tier }}{% else %}'
        '{% if contact.visits is not none and contact.visits|string != "" %}b'
        '{% if contact.visits is not none and contact.visits|string != "" %}n{% endif %}'
        "{% else %}c{% endif %}{% endif %}"
    )


def test_a_condition_that_the_esp_can_not_express_is_refused(refusal, synced):
    field = synced(Esp.BRAZE, "born", data_type=DataType.DATE)
    source = 'a {{#if recipient.born > date "2026-11-20"}}x{{/if}}'
    (message,) = refusal(Esp.BRAZE, source, field)
    assert message.startswith("Line 1, column 3: born: No source establishes")


def test_caveats_are_warnings(export, refusal):
    source = '{{#if recipient.tier = "x"}}y{{/if}}'
    assert "without regard to case" in messages(export(Esp.SALESFORCE, source))[0]
    assert "without regard to case" in refusal(Esp.SALESFORCE, source, strict=True)[0]


def test_only_1000_places_with_warnings_are_reported(export):
    (warning,) = export(Esp.BRAZE, "{{recipient.tier | expression}}" * (MAX_WARNINGS + 1)).warnings
    assert len(warning.places) == 999
    mistakes = export(Esp.BRAZE, "{{ recipient.tier }}" * (MAX_WARNINGS + 1)).warnings
    assert len(mistakes) == 1_000


def test_caveats_with_different_messages_are_reported_separately(export):
    first, second = export(Esp.BRAZE, "*|A|* %%=v(@a)=%% *|A|*").warnings
    assert [first.code, second.code] == [WarningCode.FOREIGN_CODE] * 2
    assert ([each.column for each in first.places], second.places) == ([19], ())


def test_copies_of_long_texts_are_limited(refusal):
    block = '{{#if recipient.tier in ("a","b","c","d","e","f")}}%s{{/if}}'
    source = block
    for _ in range(5):
        source = source.replace("%s", block)
    (message,) = refusal(Esp.MAILCHIMP, source.replace("%s", "x" * 10_000))
    assert message.endswith(f"more than {MAX_EXPORTED_LENGTH:,} characters.")


# Other text


@pytest.mark.parametrize("lookalike", ["{{ recipient.tier }}", "%7B%7Brecipient.tier%7D%7D"])
def test_look_alikes_are_warnings_and_strict_refuses_them(lookalike, export, refusal):
    exported = export(Esp.BRAZE, f"a {lookalike}")
    assert exported.content == f"a {lookalike}"
    assert [each.column for each in exported.warnings] == [3]
    (message,) = refusal(Esp.BRAZE, f"a {lookalike}", strict=True)
    assert message.startswith("Line 1, column 3: This looks like a reference")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
PIECE = st.sampled_from(
    ["{", "}", "{{", "}}", "%", "%%[", "]%%", "*|", "|*", "\r\n", "'", '"', "<"]
)


@EVERY_ESP
@given(text=st.lists(TEXT | PIECE).map("".join))
def test_content_without_references_does_not_change(esp, text):
    assume(re.search(r"\{\{~?\s*[#/^]?\s*(if|else|elif|recipient)", text, re.IGNORECASE) is None)
    assert export_content(parse_content(text), [], esp).content == text


def test_codes_are_not_parsed_again(export, manual):
    code = r"{{recipient.tier}}\1\g<0>"
    assert export(Esp.ITERABLE, "{{recipient.city}}", manual("city", code)).content == code
