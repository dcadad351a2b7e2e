"""The code of loops over event data at each ESP."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recipient_fields.domain import (
    ADMINISTRATOR,
    DataType,
    FieldDraft,
    FieldId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.content import InvalidContent, parse_content
from recipient_fields.domain.esp import Esp, ExportOptions, export_content
from recipient_fields.domain.integrations import FieldCodes

AT = datetime(2026, 11, 20, tzinfo=UTC)
SOURCE = (
    "{{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none{{/each}}"
)


def field(code: str | None = None) -> RecipientField:
    draft = FieldDraft(name="Tier", key="tier", data_type=DataType.TEXT, custom_insertion_code=code)
    return draft.define(by=ADMINISTRATOR, at=AT).with_id(FieldId(1), OrganizationId(1))


def export(source: str, esp: str, *fields: RecipientField, surface: str = "html") -> str:
    options = ExportOptions(surface=surface)
    return export_content(parse_content(source), FieldCodes.of(fields), Esp(esp), options).content


def refusals(source: str, esp: str, *fields: RecipientField) -> str:
    with pytest.raises(InvalidContent) as refused:
        export(source, esp, *fields)
    return " ".join(each.reason for each in refused.value.violations)


@pytest.mark.parametrize(
    ("esp", "code"),
    [
        (
            "klaviyo",
            (
                "{% for line in event.lines %}{{ line.name|default_if_none:'' }}{{ emai"
                "l|default_if_none:'' }}{{ event.id|default_if_none:'' }}{% empty %}non"
                "e{% endfor %}"
            ),
        ),
        (
            "braze",
            (
                "{% for line in event_properties.${lines} %}{{line.name | escape}}{{${e"
                "mail_address} | escape}}{{event_properties.${id} | escape}}{% else %}n"
                "one{% endfor %}"
            ),
        ),
        (
            "customerio",
            (
                "{% for line in event.lines %}{{line.name | escape}}{{customer.email | "
                "escape}}{{event.id | escape}}{% else %}none{% endfor %}"
            ),
        ),
        (
            "hubspot",
            (
                "{% if custom.lines %}{% for line in custom.lines %}{{ line.name }}{{ c"
                "ontact.email }}{{ custom.id }}{% endfor %}{% else %}none{% endif %}"
            ),
        ),
        (
            "sendgrid",
            ("{{#each lines}}{{this.name}}{{@root.email}}{{@root.id}}{{else}}none{{/each}}"),
        ),
        (
            "iterable",
            (
                "{{#each lines as |line|}}{{line.name}}{{@root.email}}{{@root.id}}{{els"
                "e}}none{{/each}}"
            ),
        ),
        (
            "brevo",
            (
                "{% for line in params.lines %}{{ line.name|default_if_none:'' }}{{ con"
                "tact.EMAIL|default_if_none:'' }}{{ params.id|default_if_none:'' }}{% e"
                "mpty %}none{% endfor %}"
            ),
        ),
    ],
    ids=lambda each: each[:10],
)
def test_a_loop_has_the_code_of_the_esp(esp, code):
    assert export(SOURCE, esp) == code


@pytest.mark.parametrize("esp", ["sfmc", "mailchimp", "activecampaign"])
def test_an_esp_without_loops_refuses_them(esp):
    reason = "loops" if esp == "sfmc" else "event data"
    for source in (SOURCE, "{{#each event.lines as line}}{{link.unsubscribe}}{{/each}}"):
        assert "{{#each" not in refusals(source, esp)
        assert reason in refusals(source, esp)


@pytest.mark.parametrize(
    ("esp", "variable", "written"),
    [
        ("customerio", "customer", "customer_item"),
        ("klaviyo", "person", "person_item"),
        ("hubspot", "contact", "contact_item"),
        ("braze", "condition_1", "condition_1_item"),
        ("iterable", "profile", "profile_item"),
        ("braze", "line", "line"),
    ],
)
def test_a_variable_that_the_esp_reserves_has_another_name(esp, variable, written):
    code = export(f"{{{{#each event.lines as {variable}}}}}{{{{{variable}.a}}}}{{{{/each}}}}", esp)
    assert f"{written}.a" in code
    assert f" {written} in " in code or f"|{written}|" in code


@pytest.mark.parametrize(
    ("esp", "code"),
    [
        ("klaviyo", "{{ forloop.counter }}"),
        ("braze", "{{forloop.index}}"),
        ("hubspot", "{{ loop.index }}"),
    ],
)
def test_the_number_of_a_round_begins_with_1_and_is_never_missing(esp, code):
    assert code in export("{{#each event.lines as line}}{{loop.number}}{{/each}}", esp)


@pytest.mark.parametrize("esp", ["sendgrid", "iterable", "brevo"])
def test_a_number_without_a_source_is_refused(esp):
    source = "{{#each event.lines as line}}{{loop.number}}{{/each}}"
    reason = refusals(source, esp)
    assert reason.startswith("State of a loop: loop.number. No source establishes how")


def test_an_outer_item_is_out_of_reach_at_sendgrid():
    source = "{{#each event.a as b}}{{#each b.c as d}}{{d}}{{b.e}}{{/each}}{{/each}}"
    assert "No source establishes how SendGrid reads `b` in the loop inside." in refusals(
        source, "sendgrid"
    )
    assert "{{d}}{{b.e}}" in export(source, "iterable")


def test_code_that_a_person_wrote_is_refused_in_loops_that_hide_its_names():
    source = "{{#each event.a as b}}{{recipient.tier}}{{/each}}"
    own = field("{{upper tier}}")
    assert "so it would read the item of the loop" in refusals(source, "iterable", own)
    assert "{{upper tier}}" in export("{{recipient.tier}}", "iterable", own)


def test_a_link_is_refused_in_loops_that_hide_its_name():
    source = "{{#each event.a as b}}{{link.unsubscribe}}{{/each}}"
    assert "Move it out." in refusals(source, "iterable")
    assert "{% unsubscribe_link %}" in export(source, "klaviyo")


def test_an_item_in_text_is_not_escaped():
    source = "{{#each event.a as b}}{{b.c}}{{/each}}"
    assert export(source, "sendgrid", surface="text") == "{{#each a}}{{{this.c}}}{{/each}}"


def test_the_tags_of_a_loop_between_components_of_mjml_are_raw():
    source = (
        "<mjml><mj-body>{{#each event.a as b}}<mj-section></mj-section>{{/each}}</mj-body></mjml>"
    )
    assert export(source, "braze") == (
        "<mjml><mj-body><mj-raw>{% for b in event_properties.${a} %}</mj-raw>"
        "<mj-section></mj-section><mj-raw>{% endfor %}</mj-raw></mj-body></mjml>"
    )
