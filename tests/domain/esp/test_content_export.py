"""Export replaces references and blocks with code of one ESP, and changes nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
    define_fields,
    sync_channel,
)
from recipient_fields.domain.content import InvalidContent, WarningCode, WarningKind, parse_content
from recipient_fields.domain.content.errors import MAX_WARNINGS
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportedContent,
    ExportOptions,
    derive_codes,
    export_content,
)
from recipient_fields.domain.esp.conditions import compile_readings
from recipient_fields.domain.esp.derived_codes import derive_guarded_code
from recipient_fields.domain.esp.filtered_codes import filter_code
from recipient_fields.domain.integrations import (
    FieldCodes,
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    IntegrationRequired,
    SetName,
)

from ...support.growth import assert_grows_linearly, count_calls
from ...support.stories import stories
from .export_stories import told

EVERY_ESP = pytest.mark.parametrize("esp", BUILT_IN.esps)
BRACES = (*("klaviyo", "braze", "customerio", "hubspot"), *("sendgrid", "iterable", "brevo"))
UPPER_CASE = {"mailchimp", "brevo", "activecampaign"}
SEVEN = IntegrationId(7)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def synced(make_field):
    """Make a field that was synced from the ESP by integration 7, or by another one."""

    def make(esp: str, key: str, name: str = "", *, by: int = 7, **members: object):
        name = name or (key.upper() if esp in UPPER_CASE else key)
        codes = derive_codes(Esp(esp), name)
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
    """Export content with the fields `tier` (text) and `visits` (number), and with others.

    Mistakes are permitted, unless the options reject them.
    """

    def run(esp: str, source: str, *others: object, **options: Any) -> ExportedContent:
        fields = [synced(esp, "tier"), synced(esp, "visits", data_type=DataType.NUMBER), *others]
        content = parse_content(source)
        options = {"strict": False, **options}
        return export_content(content, codes_of(esp, fields), Esp(esp), ExportOptions(**options))

    return run


@pytest.fixture
def refusal(export):
    """Export content, and return the messages of its refusal."""

    def run(*args: object, **options: object) -> list[str]:
        with pytest.raises(InvalidContent) as invalid:
            export(*args, **options)
        return [violation.message for violation in invalid.value.violations]

    return run


def an_integration(esp: str, number: int = SEVEN, **members: Any) -> Integration:
    draft = IntegrationDraft(esp=Esp(esp), name="Main", created_at=NOON)
    return evolve(draft.with_id(IntegrationId(number), OrganizationId(1)), **members)


def codes_of(esp: str, fields: Iterable[RecipientField]) -> FieldCodes:
    """Return the codes of fields, some of them of integration 7 with the ESP."""
    return FieldCodes.of(fields, [an_integration(esp, last_synced_at=NOON)])


def export_for(
    esp: str, source: str, *fields: RecipientField, target: Any = SEVEN, **options: Any
) -> ExportedContent:
    """Export content with these fields only, for integration 7 or another target."""
    content = parse_content(source)
    return export_content(content, codes_of(esp, fields), target, ExportOptions(**options))


def messages(exported: ExportedContent) -> list[str]:
    return [f"{each.line}:{each.column} {each.message}" for each in exported.warnings]


# Keys


def test_a_key_of_another_integration_means_its_counterpart(synced):
    first, second = synced("braze", "tier", by=1), synced("braze", "tier_7", "tier", by=7)
    source = '{{recipient.tier}}{{#if recipient.tier = "a"}}x{{/if}}'
    exported = export_for("braze", source, first, second)
    assert exported.content.startswith("{{custom_attribute.${tier}}}{% if ")
    assert exported.keys == ("tier_7",)
    assert exported.resolved == {"tier": "tier_7"}


def test_a_key_that_no_field_has_is_refused_although_a_synced_field_is_for_it(synced):
    source = '{{recipient.tier}}{{#if recipient.tier = "a"}}x{{/if}}'
    with pytest.raises(InvalidContent) as refused:
        export_for("braze", source, synced("braze", "tier_7", "tier", by=7))
    reasons = [each.reason for each in refused.value.violations]
    assert len(reasons) == 2
    help_ = "Create it, or write the key of a synced field: tier_7 (integration 7, Main)."
    assert set(reasons) == {f"There is no field with the key tier. {help_}"}


def test_a_key_means_the_field_with_another_spelling_of_the_name(synced):
    fields = synced("mailchimp", "tier", by=1), synced("klaviyo", "tier_7", "Tier", by=7)
    exported = export_for("klaviyo", "{{recipient.tier}}", *fields, target="klaviyo")
    assert exported.content == "{{ person|lookup:'Tier'|default_if_none:'' }}"


@pytest.mark.parametrize(
    ("esp", "name", "guarded"),
    [
        ("klaviyo", "tier", "{{ person|lookup:'tier'|default_if_none:'' }}"),
        ("brevo", "TIER", "{{ contact.TIER|default_if_none:'' }}"),
    ],
)
def test_only_code_that_a_name_derives_gets_a_guard(esp, name, guarded, synced, manual):
    derived, source = synced(esp, "tier", name), "{{recipient.tier}}"
    code = str(derived.custom_insertion_code)
    for field in (derived, manual("tier", None)):
        exported = export_for(esp, source, field, target=esp, strict=False)
        assert exported.content == guarded
        assert WarningCode.VERBATIM_CODE not in {each.code for each in exported.warnings}
    for written in (code, code.replace(" }}", "|upper }}")):
        exported = export_for(esp, source, manual("tier", written), target=esp, raw=True)
        assert exported.content == written
        assert [each.code for each in exported.warnings] == [WarningCode.VERBATIM_CODE]


def test_stored_code_of_a_counterpart_is_inserted_verbatim(synced, manual):
    code = "{{ contact.TIER|upper }}"
    counterpart = evolve(synced("brevo", "tier_7", "TIER"), custom_insertion_code=code)
    fields = manual("tier", None), counterpart
    exported = export_for("brevo", "{{recipient.tier}}{{recipient.tier}}", *fields, raw=True)
    assert exported.content == code * 2
    (warning,) = exported.warnings
    assert warning.code is WarningCode.VERBATIM_CODE
    assert len(warning.places) == 1


def test_a_number_that_an_engine_shows_in_another_form_is_a_caveat(synced):
    field = synced("brevo", "visits", "VISITS", data_type=DataType.NUMBER)
    (warning,) = export_for("brevo", "{{recipient.visits}}{{recipient.visits}}", field).warnings
    assert warning.code is WarningCode.SHOWN_FORM
    assert "pongo2 shows a number that is stored as a decimal" in warning.message


def test_a_block_of_white_space_stays_in_ruby_s_liquid(export):
    source = "a{{#if recipient.tier is set}} {{else}}\n{{/if}}b"
    assert export("braze", source).content.partition("%}")[2] == (
        " {{ nil }}{% else %}\n{{ nil }}{% endif %}b"
    )


def test_the_field_with_the_key_has_precedence(synced, manual):
    fields = [manual("tier", "static"), synced("braze", "tier_7", "tier")]
    source = "{{recipient.tier}}{{recipient.tier_7}}"
    exported = export_for("braze", source, *fields, target="braze")
    assert exported.content == "static{{custom_attribute.${tier}}}"
    assert (exported.keys, exported.resolved) == (("tier", "tier_7"), {})


@EVERY_ESP
def test_a_definition_is_exported_without_codes_of_its_own(esp, manual):
    content = parse_content('{{recipient.rank}}{{#if recipient.rank = "x"}}y{{/if}}')
    exported = export_content(content, FieldCodes.of([manual("rank", None)]), esp)
    name = "RANK" if esp in UPPER_CASE else "rank"
    prelude = derive_codes(esp, name).prelude or ""
    assert exported.content.startswith(prelude + derive_guarded_code(BUILT_IN[esp], name))


def test_several_integrations_with_the_esp_require_a_choice(manual):
    codes = FieldCodes.of([], [an_integration("braze", 1), an_integration("braze", 2)])
    with pytest.raises(IntegrationRequired):
        export_content(parse_content(""), codes, "braze")
    with pytest.raises(IntegrationNotFound):
        export_content(parse_content(""), codes, IntegrationId(3))


def test_every_reason_is_reported_with_its_position(refusal, manual):
    fields = [
        manual("bare", None),
        manual("coded", "{{ x | upcase }}"),
        manual("secret", "x", insertable=False),
    ]
    assert refusal("braze", "{{recipient.tie}}\n {{recipient.bare}}", *fields) == [
        "Line 1, column 1: There is no field with the key tie."
    ]
    assert refusal(
        "mailchimp",
        "{{recipient.secret}}\n {{recipient.long_name_of_a_field}}",
        *fields,
        manual("long_name_of_a_field", None),
    ) == [
        "Line 1, column 1: The field secret has code of its own. This field is not insertable.",
        (
            "Line 2, column 2: The field long_name_of_a_field has no name at Mailchimp. The last"
            " sync found no field for the key long_name_of_a_field. Mailchimp has no safe form for"
            " the name LONG_NAME_OF_A_FIELD. A Mailchimp tag is 1 to 10 capital letters, digits and"
            " underscores, and begins with a letter. Set a name for this field at integration 7,"
            " such as LONG_NAME."
        ),
    ]
    assert refusal("braze", "{{recipient.coded | expression}}", *fields) == [
        (
            "Line 1, column 1: The field coded has code of its own. This field has no value"
            " expression, and its insertion code is not a plain reference of Braze. Add the value"
            " expression, or remove the insertion code."
        )
    ]


def test_a_refusal_names_the_esp_name_and_the_counterpart(manual, synced):
    definition = evolve(manual("city", None), id=FieldId(1), insertable=False)
    counterpart = synced("klaviyo", "city_7", "City")
    with pytest.raises(InvalidContent) as invalid:
        export_for("klaviyo", "{{recipient.city}}", definition, counterpart)
    assert invalid.value.violations[0].reason == (
        "The field city is City at Klaviyo (the last sync found it: city_7). This field is not"
        " insertable."
    )


# ESP names


def export_named(esp, *fields, integrations=(), source="", **options):
    """Export one reference to each field, on a line of its own, or the source."""
    source = source or "\n".join(f"{{{{recipient.{each.key}}}}}" for each in fields)
    codes = FieldCodes.of(fields, integrations)
    return export_content(parse_content(source), codes, esp, ExportOptions(**options))


def summaries(exported):
    """Return the code, the lines and the message of each warning."""
    return [
        f"{each.code.name} {[place.line for place in (each, *each.places)]}: {each.message}"
        for each in exported.warnings
    ]


def test_assumed_names_are_one_caveat(manual):
    fields = [manual("city", None), manual("tier", None), manual("static", "x")]
    (caveat,) = (each for each in summaries(export_named("klaviyo", *fields)) if "NAME" in each)
    assert caveat == (
        "ASSUMED_NAME [1, 2]: The organization has no integration with Klaviyo, so these names are"
        " assumed: city (City), tier. Compare them with the account."
    )


def test_unknown_names_are_one_caveat_with_all_places(manual):
    fields = [manual("city", None), manual("tier", None)]
    source = '{{recipient.tier}}\n{{#if recipient.city = "x"}}\n{{recipient.tier}}{{/if}}'
    integrations = [an_integration("braze")]
    exported = export_named(SEVEN, *fields, source=source, integrations=integrations)
    (caveat,) = summaries(exported)
    assert caveat == (
        "UNKNOWN_NAME [1, 2, 3]: No sync has found these names at Braze yet: tier, city. Compare"
        " them with the account."
    )
    with pytest.raises(InvalidContent):
        export_named(SEVEN, *fields, integrations=integrations, strict=True)
    export_named(SEVEN, *fields, integrations=integrations)


def test_only_some_of_many_unknown_names_are_shown(manual):
    fields = [manual(f"field_{number}", None) for number in range(12)]
    (warning,) = export_named("braze", *fields).warnings
    assert warning.message.endswith("field_9 and 2 more. Compare them with the account.")


def test_a_missing_name_is_a_mistake(manual):
    integrations = [an_integration("hubspot", last_synced_at=NOON)]
    field = manual("tier", None)
    exported = export_named(SEVEN, field, integrations=integrations, strict=False)
    assert exported.content == "{{ contact.tier }}"
    (mistake,) = (each for each in summaries(exported) if "HTML_IN_VALUES" not in each)
    assert mistake == (
        "MISSING_NAME [1]: The field tier is tier at HubSpot (the last sync did not find it)."
        " Create this field there, or set the name of another one. Then sync the integration."
    )
    with pytest.raises(InvalidContent):
        export_named(SEVEN, field, integrations=integrations)


def test_another_data_type_of_the_counterpart_is_a_caveat(manual, synced):
    field = evolve(manual("visits", None), id=FieldId(1))
    counterpart = synced("sendgrid", "visits_7", "visits", data_type=DataType.NUMBER)
    (caveat,) = summaries(export_for("sendgrid", "{{recipient.visits}}", field, counterpart))
    assert caveat == (
        "OTHER_DATA_TYPE [1]: The field visits is visits at SendGrid (the last sync found it:"
        " visits_7). It is a number field there, and a text field here. Test the email."
    )


def test_a_set_name_is_used(manual):
    integration = an_integration("mailchimp", names={FieldId(1): SetName("CITY_NAME")})
    field = manual("city", "{{city}}")
    assert export_named(SEVEN, field, integrations=[integration]).content == "*|CITY_NAME|*"


ABOVE_3 = "{{#if recipient.visits > 3}}x{{/if}}"
NUMBER, A_TEXT = {"data_type": DataType.NUMBER}, {"data_type": DataType.TEXT}


@pytest.mark.parametrize(
    ("written", "actual", "source"),
    [
        ("api", A_TEXT, ABOVE_3),
        (A_TEXT, NUMBER, ABOVE_3),
        (NUMBER, A_TEXT, ABOVE_3),
        (NUMBER, A_TEXT, '{{#if recipient.visits contains "3"}}x{{/if}}'),
    ],
)
def test_a_condition_fits_the_written_field_or_between_synced_fields_its_counterpart(
    written, actual, source, make_field, synced
):
    if written == "api":
        field = make_field(key="visits", **NUMBER)
    else:
        field = synced("klaviyo", "visits", by=8, **written)
    counterpart = synced("braze", "visits_7", "visits", **actual)
    assert "custom_attribute.${visits}" in export_for("braze", source, field, counterpart).content


def test_a_condition_that_fits_neither_field_is_refused(make_field, synced):
    fields = make_field(key="visits", **NUMBER), synced("braze", "visits_7", "visits")
    with pytest.raises(InvalidContent, match="A number field does not support"):
        export_for("braze", '{{#if recipient.visits contains "3"}}x{{/if}}', *fields)


# Braces and other characters next to code


STORIES = r"""
# braces can touch code without braces
sfmc: a{{{recipient.tier}}} => %%[ SET @tier = AttributeValue("tier") ]%%a{%%=v(@tier)=%%}
mailchimp: a{{{recipient.tier}}} => a{*|TIER|*}
activecampaign: a{{{recipient.tier}}} => a{%TIER%}
# a backslash before code of Handlebars is escaped
sendgrid: \{{#if recipient.tier is set}}\\{{/if}} => \\{{#if tier}}\\\{{/if}}
# a block is exported with its branches
hubspot: {{#if recipient.tier = "gold"}}{{recipient.tier}}{{else if recipient.visits is set}}b
    {{#if recipient.visits is set}}n{{/if}}{{else}}c{{/if}}
  => {% if contact.tier == "gold" %}{{ contact.tier }}{% elif contact.visits ~ "" != "" %}b
    {% if contact.visits ~ "" != "" %}n{% endif %}{% else %}c{% endif %}
# branches with the same guard have it once
iterable: {{#if recipient.visits >= 10}}a{{else if recipient.visits >= 5}}b
    {{else if recipient.visits >= 1}}c{{else}}d{{/if}}
  => {{#if visits}}{{#ifGte visits 10}}a{{else}}{{#ifGte visits 5}}b{{else}}{{#ifGte visits 1}}c
    {{else}}d{{/ifGte}}{{/ifGte}}{{/ifGte}}{{else}}d{{/if}}
mailchimp: {{#if recipient.visits >= 10}}a{{else if recipient.visits >= 5}}b
    {{else if recipient.visits >= 1}}c{{else}}d{{/if}}
  => *|IF:VISITS|**|IF:VISITS>=10|*a*|ELSEIF:VISITS>=5|*b*|ELSEIF:VISITS>=1|*c*|ELSE:|*d*|END:IF|*
    *|ELSE:|*d*|END:IF|*
# a default without a safe form is refused
braze: {{recipient.tier | default: "}"}}
  refused: …This default is not possible. Braze has no safe…
# an ESP can be unable to write an encoded default
activecampaign: <a href="https://x.example/?q={{recipient.tier | default: "a b"}}">
  refused: …ActiveCampaign has no safe way to write % here. At this place, the default is written
     `a%20b`.
"""


@stories(STORIES)
def test_an_export(story, export):
    told(export, story)


EXPRESSIONS = """
# the value expression can be inserted into a tag
braze: {% if {{recipient.tier | expression}} == "a" %}x{% endif %}
  => {% if custom_attribute.${tier} == "a" %}x{% endif %}
customerio: {{{{recipient.tier | expression}}}} => {{customer.tier}}
sfmc: %%=Uppercase({{recipient.tier | expression}})=%%
  => %%[ SET @tier = AttributeValue("tier") ]%%%%=Uppercase(@tier)=%%
mailchimp: *|IF:{{recipient.tier | expression}}=a|*x*|END:IF|* => *|IF:TIER=a|*x*|END:IF|*
"""


@stories(EXPRESSIONS)
def test_an_export_without_warnings(story, export):
    exported = export(Esp(story.esp), story.source)
    assert (exported.content, exported.warnings) == (story.result, ())


@pytest.mark.parametrize("esp", BRACES)
def test_a_brace_after_code_is_separated(esp, export):
    content = export(esp, ".a{color:{{recipient.tier}}}").content
    code = derive_guarded_code(BUILT_IN[esp], "TIER" if esp in UPPER_CASE else "tier")
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


@pytest.mark.parametrize("esp", ["sfmc", "activecampaign"])
def test_a_percent_sign_before_code_in_percent_signs_is_refused(esp, refusal, export):
    assert len(refusal(esp, "100%{{recipient.tier}}")) == 1
    assert "%=v(@tier)=%%%" in export("sfmc", "{{recipient.tier}}%").content


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("50% off", 3),
        ('width="100%"', 11),
        ("%A%%IF $B != ''%%C_1%%ELSE%x%/IF% 5%", 36),
        ("% off 20%", 1),
    ],
)
def test_a_percent_sign_in_a_block_of_activecampaign_is_a_warning(text, column, export):
    source = f'{{{{#if recipient.tier = "a"}}}}\n{text}\n{{{{/if}}}}'
    exported = export("activecampaign", source)
    assert text in exported.content
    (_, warning) = messages(exported)
    assert warning == (
        f"2:{column} No source establishes how ActiveCampaign reads this character in a condition."
        " Test the email."
    )
    assert len(export("activecampaign", source.replace(text, "%A%%IF $B%%/IF%")).warnings) == 1
    outside = f"{text} {{{{recipient.tier}}}}"
    assert export("activecampaign", outside, raw=True).warnings == ()
    others = {each.code for each in export("mailchimp", source).warnings}
    assert WarningCode.UNESTABLISHED_CHARACTER not in others


def test_lines_with_only_a_tag_keep_their_line_breaks_in_handlebars(export):
    source = "a\n{{#if recipient.tier is set}}\nb\n{{else}}\nc\n{{/if}}\nd"
    assert export("iterable", source).content == (
        "a\n{{#if tier}}{{! }}\nb\n{{! }}{{else}}{{! }}\nc\n{{! }}{{/if}}\nd"
    )


CHAINS = [
    ("sfmc", "%%[ ELSEIF ", "%%[ ENDIF ]%%"),
    ("mailchimp", "*|ELSEIF:", "*|END:IF|*"),
    *((esp, "{% elif ", "{% endif %}") for esp in ("klaviyo", "hubspot", "brevo")),
    *((esp, "{% elsif ", "{% endif %}") for esp in ("braze", "customerio")),
    ("activecampaign", "%ELSEIF ", "%/IF%"),
]
"""The short form of a condition in an else part, and the end of a block."""


@pytest.mark.parametrize(("esp", "alternative", "end"), CHAINS)
def test_a_chain_of_conditions_is_one_block_with_one_end(esp, alternative, end, export):
    tags = [f'{{{{else if recipient.tier = "t{number}"}}}}{number}' for number in range(1, 300)]
    source = f'{{{{#if recipient.tier = "t0"}}}}0{"".join(tags)}{{{{else}}}}x{{{{/if}}}}'
    code = export(esp, source).content
    assert (code.count(alternative), code.count(end)) == (299, 1)


@pytest.mark.parametrize(("esp", "alternative", "end"), CHAINS)
def test_code_of_a_person_in_an_else_part_stays_a_block(esp, alternative, end, export):
    block = export(esp, '{{#if recipient.tier = "b"}}2{{/if}}').content
    exported = export(esp, f'{{{{#if recipient.tier = "a"}}}}1{{{{else}}}}{block}{{{{/if}}}}')
    assert block.rpartition("SET")[2] in exported.content
    assert (exported.content.count(alternative), exported.content.count(end)) == (0, 2)


# Tags of the ESP


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("braze", '{% if {{recipient.tier}} == "gold" %}x{% endif %}'),
        ("customerio", "{{ {{recipient.tier}} | upcase }}"),
        ("sfmc", '%%[ IF {{recipient.tier}} == "gold" THEN ]%%x%%[ ENDIF ]%%'),
        ("sfmc", "%%=v({{recipient.tier}})=%%"),
        ("mailchimp", "*|IF:{{recipient.tier}}=gold|*x*|END:IF|*"),
        ("sendgrid", '{{#equals {{recipient.tier}} "gold"}}x{{/equals}}'),
        ("activecampaign", "%IF {{recipient.tier}} == 'gold'%x%/IF%"),
        ("braze", "{% if {{#if recipient.tier is set}}x{{/if}} %}"),
    ],
)
def test_a_reference_inside_a_tag_of_the_esp_is_refused(esp, source, refusal):
    found = refusal(esp, source)
    assert "is inside a tag of " in found[0]
    assert "Write conditions as `{{#if recipient." in found[0]
    assert "| expression}}`" in found[0]


UNREAD = [
    *((esp, "{% raw %}{{ a }}", "{% endraw %}") for esp in ("braze", "hubspot")),
    *(("customerio", f"{{%{tag}%}}", "{%- endraw -%}") for tag in ("raw", "- raw -", " raw\n")),
    *((esp, "{% comment %}x", "{% endcomment %}") for esp in ("braze", "customerio", "brevo")),
    ("klaviyo", '{% comment "x" %}', "{%endcomment%}"),
    *((esp, "{% verbatim %}%}", "{% endverbatim %}") for esp in ("klaviyo", "brevo")),
    ("klaviyo", "{% verbatim a %}", "{% endverbatim a %}"),
    *((esp, "{# {{ a }}", "#}") for esp in ("klaviyo", "hubspot", "brevo")),
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
    # A comment in `{#` without its end is text in Django, and a mistake in the others.
    rests = (end,) if end == "#}" else (end, "")
    for source in (f"{before}{code}{rest}" for rest in rests):
        found = refusal(esp, source)
        assert found[0].startswith(f"Line {line}, column {column}: ")
        for message in found:
            assert "does not read code after `" in message
            assert "in line 2, column 2. Move this out of that part." in message
    assert export(esp, f"{begin} {end} {code}").content


def test_a_value_expression_outside_of_a_tag_is_a_warning(export):
    exported = export("braze", "a {{recipient.tier | expression}}")
    assert exported.content == "a custom_attribute.${tier}"
    assert messages(exported) == ["1:3 Outside of a tag, this shows the expression."]


# Code of another dialect


@pytest.mark.parametrize(
    ("esp", "code"),
    [
        ("braze", "*|TIER|*"),
        ("mailchimp", "{{ tier }}"),
        ("klaviyo", "{{customer.tier}}"),
        ("braze", "%%=v(@tier)=%%"),
        ("hubspot", "{{custom_attribute.${tier}}}"),
    ],
)
def test_code_of_another_dialect_is_not_used(esp, code, export, manual):
    exported = export(esp, "{{recipient.rank}}", manual("rank", code))
    name = "RANK" if esp in UPPER_CASE else "rank"
    assert exported.content == derive_guarded_code(BUILT_IN[esp], name)


@pytest.mark.parametrize(
    ("esp", "code", "opening"),
    [
        ("braze", "Dear {{ x", "{{"),
        ("braze", "{{${x}}", "{{"),
        ("braze", "{{${a}}} {{custom_attribute.${x} | upcase}", "{{"),
        ("iterable", "[[x", "[["),
        ("activecampaign", "%IF $A == 1", "%IF "),
        ("klaviyo", "{% if person.x %}a{% endif", "{%"),
        ("sfmc", "%%[ SET @a = 1", "%%["),
        ("mailchimp", "*|X", "*|"),
    ],
)
def test_an_incomplete_code_is_refused(esp, code, opening, manual, refusal):
    (message,) = refusal(esp, "{{recipient.city}}", manual("city", code))
    assert message == (
        "Line 1, column 1: The field city has code of its own."
        " The insertion code of this field is not complete:"
        f" `{opening}` has no end. Add it."
    )


@pytest.mark.parametrize(
    ("esp", "code"),
    [
        ("braze", WarningCode.REFERENCE_LOOKALIKE),
        ("mailchimp", WarningCode.REFERENCE_LOOKALIKE),
        ("sendgrid", WarningCode.POSSIBLY_FOREIGN_CODE),
    ],
)
def test_a_key_in_braces_without_recipient_is_a_lookalike(esp, code, export):
    (warning,) = export(esp, "Your {{ tier }}").warnings
    assert (warning.column, warning.code) == (6, code)
    assert warning.message.endswith("Did you mean `{{recipient.tier}}`?")


def test_a_local_variable_with_the_name_of_a_key_is_no_warning(export):
    assert export("braze", "{% assign tier = 1 %}{{ tier }}").warnings == ()


def test_a_refused_comparison_is_marked_itself(refusal):
    source = '{{#if recipient.tier = "a" and\n recipient.tier contains "b"}}x{{/if}}'
    (message,) = refusal("sendgrid", source)
    assert message.startswith("Line 2, column 12: ")


def test_a_variable_in_braces_is_exported_with_a_warning(export, refusal, manual):
    field = manual("city", "{{ city }}")
    exported = export("braze", "{{recipient.city}}", field)
    assert exported.content == "{{ city }}"
    assert messages(exported) == ["1:1 This field's code may not be code of Braze."]
    assert len(refusal("braze", "{{recipient.city}}", field, strict=True)) == 1


@pytest.mark.parametrize(("esp", "source"), [("braze", "a *|FNAME|*"), ("mailchimp", "a {{ x }}")])
def test_text_in_another_dialect_is_exported_with_a_warning(esp, source, export):
    exported = export(esp, source)
    assert exported.content == source
    assert [each.column for each in exported.warnings] == [3]


def test_text_in_the_dialect_of_the_esp_is_no_warning(export):
    source = "{% assign y = event_properties.${y} %}{% for x in y %}{{ x }}{% endfor %}"
    assert export("braze", source, strict=True).content == source


# Preludes of Salesforce

SET_TIER = '%%[ SET @tier = AttributeValue("tier") ]%%'


def test_each_prelude_is_inserted_once_at_the_beginning(export):
    source = 'a{{recipient.tier}}{{#if recipient.tier = "x"}}{{recipient.visits}}{{/if}}'
    content = export("sfmc", source).content
    assert content.startswith(SET_TIER + '%%[ SET @visits = AttributeValue("visits") ]%%a')
    assert content.count("SET @") == 2


VARIABLES = """
# the variable of a field with the code of a person is set
sfmc: {{recipient.city}} => %%[ SET @City = AttributeValue("City") ]%%%%=v(@City)=%%
sfmc: {{#if recipient.city = "x"}}x{{/if}}
  => %%[ SET @City = AttributeValue("City") ]%%
    %%[ IF CONCAT("=", @City) == CONCAT("=", "x") THEN ]%%x%%[ ENDIF ]%%
# unless the content sets it
sfmc: %%[ SET @city = "x" ]%%{{recipient.city}} => %%[ SET @city = "x" ]%%%%=v(@City)=%%
sfmc: %%[ SET @city = {{recipient.tier | expression}} ]%%{{recipient.city}}
  => %%[ SET @tier = AttributeValue("tier") ]%%%%[ SET @city = @tier ]%%%%=v(@City)=%%
# a text that looks like an assignment sets no variable
sfmc: Write set @city = "x" here: {{recipient.city}}
  => %%[ SET @City = AttributeValue("City") ]%%Write set @city = "x" here: %%=v(@City)=%%
sfmc: %%[ /* SET @city = 1 */ ]%%{{recipient.city}}
  => %%[ SET @City = AttributeValue("City") ]%%%%[ /* SET @city = 1 */ ]%%%%=v(@City)=%%
sfmc: %%[ SET @x = "SET @city = 1" ]%%{{recipient.city}}
  => %%[ SET @City = AttributeValue("City") ]%%%%[ SET @x = "SET @city = 1" ]%%%%=v(@City)=%%
"""


@stories(VARIABLES)
def test_a_variable_in_hand_written_code(story, export, manual):
    exported = export(story.esp, story.source, manual("city", "%%=v(@City)=%%", "@City"))
    assert exported.content == story.result
    assert not any("must set" in message for message in messages(exported))


def test_a_variable_in_hand_written_code_is_that_of_a_synced_field(export, manual, synced):
    fields = manual("city", "%%=v(@home_city)=%%"), synced("sfmc", "home", "Home City")
    exported = export("sfmc", "{{recipient.city}}", *fields)
    assert exported.content == (
        '%%[ SET @Home_City = AttributeValue("Home City") ]%%%%=v(@home_city)=%%'
    )


def test_a_variable_that_another_field_of_the_content_sets_is_refused(refusal, synced):
    fields = (synced("sfmc", "one", "First Name"), synced("sfmc", "two", "first-name"))
    assert refusal("sfmc", "{{recipient.one}} {{recipient.two}}", *fields) == [
        (
            "Line 1, column 19: The fields one and two set the same variable, @first_name, from"
            " different attributes. Use only one of both."
        )
    ]


# Defaults


@EVERY_ESP
def test_a_default_has_the_form_of_the_esp(esp, export):
    name = "TIER" if esp in UPPER_CASE else "tier"
    codes = derive_codes(esp, name, default="you")
    content = export(esp, 'Hi {{recipient.tier | default: "you"}}!').content
    assert content == f"{codes.prelude or ''}Hi {codes.insertion_code}!"


@pytest.mark.parametrize("esp", ["klaviyo", "iterable", "brevo"])
def test_a_default_that_would_hide_0_is_refused(esp, refusal, export):
    (message,) = refusal(esp, '{{recipient.visits | default: "none"}}')
    assert "also replaces 0 with the default" in message
    export(esp, '{{recipient.visits | default: "0"}}')


def test_hand_written_code_in_the_usual_form_can_have_a_default(export, refusal, manual):
    usual = manual("city", "{{ customer.city }}", "customer.city")
    source = '{{recipient.city | default: "Bern"}}'
    assert export("customerio", source, usual).content == (
        '{% if customer.city != nil and customer.city != "" %}{{customer.city}}{% else %}Bern'
        "{% endif %}"
    )
    unusual = manual("city", "{{customer.city | upcase}}", "customer.city")
    (message,) = refusal("customerio", source, unusual)
    assert message.endswith("Write the default into the insertion code.")


def test_a_default_that_may_not_replace_an_empty_text_is_a_warning(export, refusal):
    exported = export("sendgrid", 'a\n {{recipient.tier | default: "you"}}', raw=True)
    assert messages(exported) == [
        "2:2 SendGrid does not document whether it shows the default instead of an empty text."
    ]
    refused = refusal("sendgrid", '{{recipient.tier | default: "you"}}', raw=True, strict=True)
    assert len(refused) == 1
    for esp, source in [
        ("sendgrid", '{{recipient.visits | default: "none"}}{{recipient.tier}}'),
        ("braze", '{{recipient.tier | default: "you"}}'),
    ]:
        assert export(esp, source, raw=True).warnings == ()


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
        ('<!--[if mso]><v:fill color="{}"/><![endif]-->', "'"),
        ("<!--[if mso]>{}<![endif]-->", '"'),
        ('<a title="{{{{ x > 3 }}}}" class="{}">', "'"),
    ],
)
def test_codes_in_attributes_and_css_have_the_other_quotes(source, code, export):
    for reference in ('{{recipient.tier | default: "x"}}', '{{#if recipient.tier = "x"}}y{{/if}}'):
        content = export("iterable", source.format(reference)).content
        assert f"{code}x{code}" in content


def test_codes_without_another_form_are_exported_with_a_warning(export):
    exported = export("sendgrid", '<a title="{{recipient.tier | default: "x"}}">')
    assert exported.content == '<a title="{{insert tier "default=x"}}">'
    assert messages(exported)[-1].startswith("1:11 This is inside double quotes or CSS")


def test_doubled_quotes_are_not_changed(export):
    source = """<style>{{recipient.tier | default: 'a "b" c'}}</style>"""
    exported = export("sfmc", source, raw=True)
    assert '"a ""b"" c"' in exported.content
    assert len(exported.warnings) == 1


# The places of defaults


ATTRIBUTES = ("<img alt='{}'>", '<img alt="{}">', "<img alt={}>", "<!--[if mso]><v:x a='{}'/>")


@EVERY_ESP
@pytest.mark.parametrize("source", ATTRIBUTES)
def test_a_default_does_not_end_its_attribute(esp, source, export):
    reference = """{{recipient.tier | default: 'O\\'Neil "B"'}}"""
    content = export(esp, source.format(reference)).content
    assert re.search("O&#39;Neil(?: |&#32;)&quot;B&quot;", content)


def test_a_default_after_filters_does_not_end_its_attribute(export):
    reference = """{{recipient.tier | upper | default: "O'Neil"}}"""
    for esp in ("braze", "klaviyo", "sfmc", "brevo"):
        assert "O&#39;Neil" in export(esp, f"<img alt='{reference}'>").content


@pytest.mark.parametrize("esp", [each for each in BUILT_IN.esps if each != "sendgrid"])
def test_quotes_in_the_text_of_code_stay(esp, export):
    """The writer of code chooses its quotes. A default in CSS has those that a person wrote."""
    source = """<style>p { font: {{recipient.tier | default: '"Open Sans", x'}} }</style>"""
    content = export(esp, source).content
    doubled = '""Open Sans"", x' if esp == "sfmc" else '"Open Sans", x'
    assert doubled in content


@pytest.mark.parametrize(
    ("source", "default"),
    [
        ('<a href="https://x.example/?q={}&b">', "Tom%20%26%20Jerry"),
        ('<a href="https://x.example/{}">', "Tom%20&%20Jerry"),
        ("https://x.example/?q={}", "Tom%20%26%20Jerry"),
        ('<p style="background: url({})">', "Tom%20&%20Jerry"),
        ("<p>{}</p>", "Tom & Jerry"),
    ],
)
@pytest.mark.parametrize("surface", ["html", "text"])
def test_a_default_in_an_url_is_encoded(source, default, surface, export):
    reference = '{{recipient.tier | default: "Tom & Jerry"}}'
    exported = export("braze", source.format(reference), surface=surface)
    assert f"default: {default!r}}}}}" in exported.content.replace('"', "'")


@EVERY_ESP
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("<style>p { font: '{}' }", "`'` would end the string in the CSS"),
        ("<p style='font: {}'>", "`'` would begin a string in the attribute"),
        ("<script>a = '{}'</script>", "`'` would end the string in the script"),
    ],
)
def test_a_default_that_would_end_css_is_refused(esp, source, message, refusal):
    (found,) = refusal(esp, source.replace("{}", '{{recipient.tier | default: "O\'Neil"}}'))
    assert found.endswith(f"{message}. Write a default without it.")


# Blocks


def test_a_condition_that_the_esp_can_not_express_is_refused(refusal, synced):
    field = synced("hubspot", "born", data_type=DataType.DATE)
    source = 'a {{#if recipient.born > date "2026-11-20"}}x{{/if}}'
    (message,) = refusal("hubspot", source, field)
    assert message.startswith("Line 1, column 19: born: Comparisons of dates")


def test_caveats_are_warnings(export, refusal):
    source = '{{#if recipient.tier = "x"}}y{{/if}}'
    assert "without regard to case" in messages(export("sfmc", source))[0]
    assert "without regard to case" in refusal("sfmc", source, strict=True)[0]


def test_only_1000_places_with_warnings_are_reported(export):
    (warning,) = export("braze", "{{recipient.tier | expression}}" * (MAX_WARNINGS + 1)).warnings
    assert len(warning.places) == 999
    mistakes = export("braze", "{{recipients.tier}}" * (MAX_WARNINGS + 1)).warnings
    assert len(mistakes) == 1_000


def test_caveats_do_not_hide_a_mistake(export, refusal):
    source = "{{recipient.tier | expression}} %ABC% " * MAX_WARNINGS + "{% if event.x %}"
    mistakes = [
        each for each in export("braze", source).warnings if each.code.kind is WarningKind.MISTAKE
    ]
    assert [each.code for each in mistakes] == [WarningCode.FOREIGN_CODE]
    (message,) = refusal("braze", source, strict="mistakes")
    assert "does not read `event`" in message
    several = "{{recipients.tier}}{{recipient.tier | expression}}" * MAX_WARNINGS
    assert len(refusal("braze", several, strict=True)) == 1_000


def test_caveats_with_different_messages_are_reported_separately(export):
    first, second = export("braze", "{{ a }} {{ b }} {{ a }}").warnings
    assert [first.code, second.code] == [WarningCode.UNKNOWN_WORD] * 2
    assert ([each.column for each in first.places], second.places) == ([17], ())


REPEATED = "this block would repeat its texts more than 32 times"


def test_copies_of_texts_in_nested_blocks_are_limited(export, refusal):
    block = '{{#if recipient.tier in ("a","b","c","d","e","f")}}%s{{/if}}'
    text = "x" * 10_000
    export("mailchimp", block.replace("%s", text))
    (message,) = refusal("mailchimp", f"a\n{block.replace('%s', block).replace('%s', text)}")
    assert message.startswith("Line 2, column 1: ")
    assert REPEATED in message
    (message,) = refusal("mailchimp", block.replace("%s", text * 80))
    assert message.endswith("more than 4,194,304 characters.")


@pytest.mark.parametrize("esp", ["mailchimp", "sendgrid", "iterable"])
@pytest.mark.parametrize("test", ["recipient.f{} >= 3", "recipient.f{} = 1 and recipient.vip"])
def test_copies_of_branches_about_different_fields_are_limited(esp, test):
    def export_branches(count: int) -> str:
        tests = [test.format(number) for number in range(count)]
        branches = "\n{{else if ".join(f"{each}}}}}Text {each}" for each in tests)
        content = parse_content(f"{{{{#if {branches}{{{{else}}}}Other{{{{/if}}}}")
        names = {f"f{number}": DataType.NUMBER for number in range(count)}
        codes = FieldCodes.of(
            define_fields(
                FieldDraft(name=name, key=name, data_type=each)
                for name, each in {**names, "vip": DataType.BOOLEAN}.items()
            )
        )
        return export_content(content, codes, Esp(esp), ExportOptions(strict=False)).content

    assert len(export_branches(5)) < 10_000
    with pytest.raises(InvalidContent, match=REPEATED) as error:
        export_branches(50)
    assert re.match("Line [2-9][0-9]*, column 1: ", str(error.value))


# Other text


@pytest.mark.parametrize("lookalike", ["{{recipients.tier}}", "%7B%7Brecipient.tier%7D%7D"])
def test_look_alikes_are_warnings_and_strict_refuses_them(lookalike, export, refusal):
    exported = export("braze", f"a {lookalike}")
    assert exported.content == f"a {lookalike}"
    assert [each.column for each in exported.warnings] == [3]
    (message,) = refusal("braze", f"a {lookalike}", strict=True)
    assert message.startswith("Line 1, column 3: This looks like a reference")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
PIECE = st.sampled_from(
    ["{", "}", "{{", "}}", "%", "%%[", "]%%", "*|", "|*", "\r\n", "'", '"', "<"]
)


@EVERY_ESP
@given(text=st.lists(TEXT | PIECE).map("".join))
def test_content_without_references_does_not_change(esp, text):
    ours = r"\{\{~?(!|\s*[#/^]?\s*(if|else|elif|recipient|link|sender|today))"
    assume(re.search(ours, text, re.IGNORECASE) is None)
    options = ExportOptions(strict=False)
    assert export_content(parse_content(text), FieldCodes.of([]), esp, options).content == text


def test_codes_are_not_parsed_again(export, manual):
    code = r"{{recipient.tier}}\1\g<0>"
    assert export("iterable", "{{recipient.city}}", manual("city", code)).content == code


def test_invalid_options_are_rejected():
    with pytest.raises(ValueError, match="'body' is no Surface"):
        ExportOptions(surface="body")
    wrong: dict[str, list[Any]] = {
        "raw": ["false", None, 1],
        "strict": [None, "mistake", 1],
        "literals": [1, "text", [5]],
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(TypeError, match=f"{name} must"):
                ExportOptions(**{name: value})


# Cost


@pytest.mark.parametrize("esp", ["klaviyo", "mailchimp"])
@pytest.mark.parametrize(
    "piece",
    [
        '<a href="https://a.b/?c={{recipient.tier | url}}{{recipient.tier | url}}">',
        "?c={{recipient.tier | url}}{{recipient.tier}} ",
        '<a x="{{recipient.tier}}" href="',
        '<a href="{{link.unsubscribe}}">',
        "<style>{{recipient.tier}}",
        "<td {{#if recipient.tier is set}}",
    ],
)
def test_content_is_exported_in_linear_time(export, esp, piece):
    def run(source: str) -> None:
        with suppress(InvalidContent):
            export(esp, source)

    assert_grows_linearly(run, lambda size: piece * (size // len(piece)), 20_000)


def test_equal_references_and_conditions_are_derived_once(export):
    piece = (
        "{{recipient.tier}}{{recipient.tier | upper}}{{#if recipient.tier is set}}a{{/if}}"
        ' {{recipient.tier | default: "b"}} {{recipient.visits}} '
    )

    def calls(function: Callable[..., object], number: int) -> int:
        return count_calls(function, lambda: export("braze", piece * number))

    for function in (FieldCodes.get, filter_code, derive_guarded_code, compile_readings):
        assert calls(function, 50) == calls(function, 1) > 0
