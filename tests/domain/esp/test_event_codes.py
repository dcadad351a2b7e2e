"""Event data in the code of each ESP, for each way in which messages are sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recipient_fields.domain.content import InvalidContent, WarningCode, WarningKind, parse_content
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportedContent,
    ExportOptions,
    export_content,
)
from recipient_fields.domain.esp.profiles.profile import EventData, Strength
from recipient_fields.domain.integrations import FieldCodes

ROOT = Path(__file__).parents[3]
WITH_EVENTS = [each for each in BUILT_IN if isinstance(each.events, EventData)]


def export(
    source: str, esp: str, sent_by: str | None = None, surface: str = "text"
) -> ExportedContent:
    options = ExportOptions(surface=surface, sent_by=sent_by)
    return export_content(parse_content(source), FieldCodes.of([], []), Esp(esp), options)


def refusal(source: str, esp: str, sent_by: str | None = None) -> str:
    with pytest.raises(InvalidContent) as refused:
        export(source, esp, sent_by)
    return refused.value.violations[0].message


@pytest.mark.parametrize(
    ("esp", "sent_by", "code"),
    [
        ("klaviyo", None, "{{ event.order_id|default_if_none:''|safe }}"),
        ("braze", None, "{{event_properties.${order_id}}}"),
        ("braze", "api_trigger_properties", "{{api_trigger_properties.${order_id}}}"),
        ("braze", "canvas_entry_properties", "{{canvas_entry_properties.${order_id}}}"),
        ("braze", "context", "{{context.${order_id}}}"),
        ("customerio", None, "{{event.order_id}}"),
        ("customerio", "trigger", "{{trigger.order_id}}"),
        ("onesignal", None, "{{ message.custom_data.order_id }}"),
        ("hubspot", None, "{{ custom.order_id }}"),
        ("sendgrid", None, "{{{order_id}}}"),
        ("iterable", None, "{{{order_id}}}"),
        ("brevo", None, "{{ params.order_id|default_if_none:'' }}"),
        (
            "sfmc",
            None,
            '%%[ SET @order_id = AttributeValue("order_id") ]%%%%=v(@order_id)=%%',
        ),
    ],
)
def test_an_esp_reads_event_data_in_each_way(esp, sent_by, code):
    exported = export("{{event.order_id}}", esp, sent_by)
    assert exported.content == code
    assert exported.event == ("order_id",)
    assert exported.keys == ()


@pytest.mark.parametrize(
    ("esp", "source", "code"),
    [
        (
            "braze",
            '{{event.a.b[0]["c d"].first}}',
            '{{event_properties.${a}.b[0]["c d"]["first"]}}',
        ),
        ("braze", '{{event["Order Number"]}}', "{{event_properties.${Order Number}}}"),
        ("customerio", '{{event["c d"].last[1]}}', '{{event["c d"]["last"][1]}}'),
        ("klaviyo", "{{event.items.0.name}}", "{{ event.items.0.name|default_if_none:''|safe }}"),
        (
            "klaviyo",
            '{{event.extra["Item Name"].items}}',
            "{{ event.extra|lookup:'Item Name'|lookup:'items'|default_if_none:''|safe }}",
        ),
        ("hubspot", '{{event.a["b c"].items[2]}}', '{{ custom.a["b c"]["items"][2] }}'),
        ("iterable", '{{event["a b"].c[0]}}', "{{{[a b].c.[0]}}}"),
        ("brevo", "{{event.a.b.0}}", "{{ params.a.b.0|default_if_none:'' }}"),
    ],
)
def test_a_path_is_written_in_the_language_of_the_esp(esp, source, code):
    assert export(source, esp).content == code


@pytest.mark.parametrize(
    ("esp", "source", "reason"),
    [
        ("braze", "{{event.a.size}}", "LiquidJS reads a missing `size` as the number of members."),
        ("braze", '{{event["a.b"]}}', "Braze has no safe way to write the name `a.b`."),
        (
            "braze",
            '{{event["$value"]}}',
            "Braze has no safe way to write the name `$value`. Send the value with another name.",
        ),
        *(
            ("sfmc", source, "attribute begins with a letter. Send the value with another name.")
            for source in (
                '{{event["$value"]}}',
                '{{event["2nd"] | number: 2}}',
                '{{event["-x"] | default: "a"}}',
                '{{#if event["$value"]}}a{{/if}}',
                '{{#if event["$value"] = "b"}}a{{/if}}',
            )
        ),
        ("brevo", "{{event.items}}", "Brevo has no safe way to write the name `items`."),
        ("brevo", '{{event["a b"]}}', "Brevo has no safe way to write the name `a b`."),
        (
            "klaviyo",
            '{{event["a b"][0]}}',
            "No source establishes a position after the filter `lookup`.",
        ),
        ("sendgrid", "{{event.length}}", "SendGrid reads the name `length` as code."),
        ("iterable", "{{event.now}}", "Iterable reads the name `now` as code."),
        (
            "sfmc",
            "{{event.a.b}}",
            "Salesforce Marketing Cloud reads only attributes: send this value as one of them.",
        ),
        ("mailchimp", "{{event.a}}", "Mailchimp sends no event data with its campaigns."),
        ("activecampaign", "{{event.a}}", "ActiveCampaign has no code for event data in emails."),
    ],
)
def test_a_path_without_a_safe_form_is_refused(esp, source, reason):
    assert reason in refusal(source, esp)


def test_another_way_of_the_esp_is_proposed():
    message = refusal("{{event.a}}", "customerio", "event_properties")
    assert (
        "Customer.io has no event data called `event_properties`. Use `event`, `trigger`."
        in message
    )


def test_the_usual_way_is_said_unless_it_is_chosen():
    (usual, *_) = export("{{event.a}} {{event.b}}", "braze").warnings
    assert usual.code is WarningCode.EVENT_DATA
    assert usual.code.kind is WarningKind.CAVEAT
    assert len(usual.places) == 1
    assert "use the option `sent_by`: `api_trigger_properties`" in usual.message
    chosen = export("{{event.a}}", "braze", "context").warnings
    assert WarningCode.EVENT_DATA not in {each.code for each in chosen}


@pytest.mark.parametrize("profile", WITH_EVENTS, ids=lambda each: each.esp)
def test_each_way_has_a_source(profile):
    assert all(way.source and way.strength is not Strength.NONE for way in profile.events.ways)


def test_text_is_escaped_in_html():
    assert export("<p>{{event.a}}</p>", "braze", surface="html").content == (
        "<p>{{event_properties.${a} | escape}}</p>"
    )


@pytest.mark.parametrize(
    ("esp", "source", "code"),
    [
        (
            "braze",
            "{{#if event.a_b > 3 and event.a.b > 3}}x{{/if}}",
            (
                "{% assign EVENT_a_b_number = event_properties.${a_b} | plus: 0 %}"
                "{% assign EVENT_a__b_number = event_properties.${a}.b | plus: 0 %}"
                "{% if EVENT_a_b_number > 3 and EVENT_a__b_number > 3 %}x{% endif %}"
            ),
        ),
        ("klaviyo", '{{#if event.a = "x"}}x{{/if}}', '{% if event.a == "x" %}x{% endif %}'),
        (
            "klaviyo",
            "{{#if event.a is set}}x{{/if}}",
            '{% if event.a|default_if_none:"" != "" %}x{% endif %}',
        ),
        (
            "hubspot",
            '{{event.a | default: "x"}}',
            '{% if custom.a ~ "" != "" %}{{ custom.a }}{% else %}x{% endif %}',
        ),
        (
            "customerio",
            '{{event.a | upper | default: "x"}}',
            '{% if event.a != nil and event.a != "" %}{{event.a | upcase}}{% else %}x{% endif %}',
        ),
    ],
)
def test_conditions_filters_and_defaults_have_code(esp, source, code):
    assert export(source, esp).content == code


def test_a_field_and_data_can_be_in_one_condition():
    source = "{{#if event.total > 3 and recipient.email is set}}x{{/if}}"
    assert export(source, "klaviyo").content == ("{% if event.total > 3 and email %}x{% endif %}")


@pytest.mark.parametrize(
    ("esp", "first", "later", "number"),
    [
        ("braze", "if forloop.first", "unless forloop.last", "if forloop.index < 3"),
        ("klaviyo", "if forloop.first", "if not forloop.last", "if forloop.counter < 3"),
        ("hubspot", "if loop.first", "if loop.last == false", "if loop.index < 3.0"),
    ],
)
def test_the_state_of_a_loop_is_compared_as_the_engine_holds_it(esp, first, later, number):
    conditions = ("loop is first", "loop is not last", "loop.number < 3")
    for condition, code in zip(conditions, (first, later, number), strict=True):
        source = f"{{{{#each event.rows as row}}}}{{{{#if {condition}}}}}a{{{{/if}}}}{{{{/each}}}}"
        block = f"{{% {code} %}}a{{% end{code.split()[0]} %}}"
        assert block in export(source, esp).content


LOOP = "{{#each event.items as item}}"
CHANGED = [
    "{{event.a}}",
    "{{ event.a.b }}",
    '{{event.a | default: "none"}}',
    "{{#if event.a}}|{{/if}}",
    "{{#if event.a > 1}}|{{/if}}",
    f"{LOOP}|{{{{/each}}}}",
    f"{LOOP}|{{{{item.name}}}}|{{{{/each}}}}",
    f"{LOOP}|{{{{#if item.name}}}}|{{{{/if}}}}{{{{/each}}}}",
    f"{LOOP}|{{{{#if loop is first}}}}|{{{{/if}}}}{{{{/each}}}}",
    "{{event.tags | first}}",
    '{{event.tags | join: ", "}}',
]
"""Content that an export of version 0.1 kept as it was. `|` divides its tags."""
KEPT = [
    ("sendgrid", "{{#each event.items}}", "a{{/each}}"),
    ("iterable", "{{#if (eq event.a 1)}}", "a{{/if}}"),
    ("sendgrid", "{{event.items.[0]}}", ""),
    ("customerio", "{{event.a | plus: 1}}", ""),
    ("customerio", "{{event.a}}", "{% assign event = customer %}"),
]
CHANGELOG = " ".join((ROOT / "CHANGELOG.md").read_text("utf-8").split())


def changes(exported: ExportedContent) -> set[int]:
    """Return the columns of the caveats about other exports than before."""
    found = [each for each in exported.warnings if each.code is WarningCode.CHANGED_EXPORT]
    return {place.column for each in found for place in (each.position, *each.places)}


@pytest.mark.parametrize("source", CHANGED)
def test_each_place_with_another_export_than_before_has_a_caveat(source):
    parts = [each for each in re.split(r"(?<!\|)\|(?!\|)(?![^{]*\}\})", source) if each]
    content = "".join(parts)
    tags = [each for each in parts if not each.startswith("{{/")]

    assert changes(export(content, "klaviyo")) == {content.index(each) + 1 for each in tags}
    for each in tags:
        assert f"`{each}`" in CHANGELOG


def test_an_expression_of_event_data_has_the_caveat():
    source = "{% if {{event.a | expression}} == 1 %}a{% endif %}"
    assert changes(export(source, "klaviyo")) == {source.index("{{event") + 1}


@pytest.mark.parametrize(("esp", "form", "rest"), KEPT)
def test_other_forms_stay_code_of_an_esp(esp, form, rest):
    options = ExportOptions(surface="text", strict=False)
    for source in (form + rest, rest + form) if "assign" in rest else (form + rest,):
        content = parse_content(source)
        exported = export_content(content, FieldCodes.of([], []), Esp(esp), options)

        assert exported.content == source
        assert changes(exported) == set()
    assert f"`{form}`" in CHANGELOG


def test_loops_at_salesforce_are_refused_with_the_reason():
    message = refusal("{{#each event.items as item}}{{item.a}}{{/each}}", "sfmc")
    assert "its loops read the rows of a data extension" in message
