"""Event data in the code of each ESP, for each way in which messages are sent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from recipient_fields.domain.content import WarningCode, WarningKind, parse_content
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportedContent,
    ExportOptions,
    export_content,
)
from recipient_fields.domain.esp.profiles.profile import EventData, Strength
from recipient_fields.domain.integrations import FieldCodes

from ...support.stories import stories
from .export_stories import told

ROOT = Path(__file__).parents[3]
WITH_EVENTS = [each for each in BUILT_IN if isinstance(each.events, EventData)]


def export(esp: str, source: str, surface: str = "text", **options: Any) -> ExportedContent:
    chosen = ExportOptions(surface=surface, **options)
    return export_content(parse_content(source), FieldCodes.of([], []), Esp(esp), chosen)


WAYS = """
# an ESP reads event data in each way
klaviyo: {{event.order_id}} => {{ event.order_id|default_if_none:''|safe }}
braze: {{event.order_id}} => {{event_properties.${order_id}}}
braze, sent_by=api_trigger_properties: {{event.order_id}} => {{api_trigger_properties.${order_id}}}
braze, sent_by=canvas_entry_properties: {{event.order_id}}
  => {{canvas_entry_properties.${order_id}}}
braze, sent_by=context: {{event.order_id}} => {{context.${order_id}}}
customerio: {{event.order_id}} => {{event.order_id}}
customerio, sent_by=trigger: {{event.order_id}} => {{trigger.order_id}}
onesignal: {{event.order_id}} => {{ message.custom_data.order_id }}
hubspot: {{event.order_id}} => {{ custom.order_id }}
sendgrid: {{event.order_id}} => {{{order_id}}}
iterable: {{event.order_id}} => {{{order_id}}}
brevo: {{event.order_id}} => {{ params.order_id|default_if_none:'' }}
sfmc: {{event.order_id}} => %%[ SET @order_id = AttributeValue("order_id") ]%%%%=v(@order_id)=%%
"""


@stories(WAYS)
def test_an_esp_reads_event_data_in_each_way(story):
    exported = export(story.esp, story.source, **story.options)
    assert (exported.content, exported.event, exported.keys) == (story.result, ("order_id",), ())


STORIES = """
# a path is written in the language of the ESP
braze: {{event.a.b[0]["c d"].first}} => {{event_properties.${a}.b[0]["c d"]["first"]}}
braze: {{event["Order Number"]}} => {{event_properties.${Order Number}}}
customerio: {{event["c d"].last[1]}} => {{event["c d"]["last"][1]}}
klaviyo: {{event.items.0.name}} => {{ event.items.0.name|default_if_none:''|safe }}
klaviyo: {{event.extra["Item Name"].items}}
  => {{ event.extra|lookup:'Item Name'|lookup:'items'|default_if_none:''|safe }}
hubspot: {{event.a["b c"].items[2]}} => {{ custom.a["b c"]["items"][2] }}
iterable: {{event["a b"].c[0]}} => {{{[a b].c.[0]}}}
brevo: {{event.a.b.0}} => {{ params.a.b.0|default_if_none:'' }}
# a path without a safe form is refused
braze: {{event.a.size}} => refused: …LiquidJS reads a missing `size` as the number of members.
braze: {{event["a.b"]}} => refused: …Braze has no safe way to write the name `a.b`.…
braze: {{event["$value"]}}
  refused: …Braze has no safe way to write the name `$value`. Send the value with another name.
sfmc: {{event["$value"]}}
  refused: …attribute begins with a letter. Send the value with another name.
sfmc: {{event["2nd"] | number: 2}}
  refused: …attribute begins with a letter. Send the value with another name.
sfmc: {{event["-x"] | default: "a"}}
  refused: …attribute begins with a letter. Send the value with another name.
sfmc: {{#if event["$value"]}}a{{/if}}
  refused: …attribute begins with a letter. Send the value with another name.
sfmc: {{#if event["$value"] = "b"}}a{{/if}}
  refused: …attribute begins with a letter. Send the value with another name.
brevo: {{event.items}} => refused: …Brevo has no safe way to write the name `items`.
brevo: {{event["a b"]}} => refused: …Brevo has no safe way to write the name `a b`.
klaviyo: {{event["a b"][0]}}
  refused: …No source establishes a position after the filter `lookup`.
sendgrid: {{event.length}} => refused: …SendGrid reads the name `length` as code.
iterable: {{event.now}} => refused: …Iterable reads the name `now` as code.
sfmc: {{event.a.b}}
  refused: …Salesforce Marketing Cloud reads only attributes: send this value as one of them.
mailchimp: {{event.a}} => refused: …Mailchimp sends no event data with its campaigns.…
activecampaign: {{event.a}} => refused: …ActiveCampaign has no code for event data in emails.…
# another way of the ESP is proposed
customerio, sent_by=event_properties: {{event.a}}
  refused: …Customer.io has no event data called `event_properties`. Use `event`, `trigger`.
# text is escaped in HTML
braze, surface=html: <p>{{event.a}}</p> => <p>{{event_properties.${a} | escape}}</p>
# conditions filters and defaults have code
braze: {{#if event.a_b > 3 and event.a.b > 3}}x{{/if}}
  => {% assign EVENT_a_b_number = event_properties.${a_b} | plus: 0 %}
    {% assign EVENT_a__b_number = event_properties.${a}.b | plus: 0 %}
    {% if EVENT_a_b_number > 3 and EVENT_a__b_number > 3 %}x{% endif %}
klaviyo: {{#if event.a = "x"}}x{{/if}} => {% if event.a == "x" %}x{% endif %}
klaviyo: {{#if event.a is set}}x{{/if}} => {% if event.a|default_if_none:"" != "" %}x{% endif %}
hubspot: {{event.a | default: "x"}}
  => {% if custom.a ~ "" != "" %}{{ custom.a }}{% else %}x{% endif %}
customerio: {{event.a | upper | default: "x"}}
  => {% if event.a != nil and event.a != "" %}{{event.a | upcase}}{% else %}x{% endif %}
# a field and data can be in one condition
klaviyo: {{#if event.total > 3 and recipient.email is set}}x{{/if}}
  => {% if event.total > 3 and email %}x{% endif %}
# loops at Salesforce are refused with the reason
sfmc: {{#each event.items as item}}{{item.a}}{{/each}}
  refused: …its loops read the rows of a data extension…
  refused: …
"""


@stories(STORIES)
def test_an_export(story):
    told(export, story)


def test_the_usual_way_is_said_unless_it_is_chosen():
    (usual, *_) = export("braze", "{{event.a}} {{event.b}}").warnings
    assert usual.code is WarningCode.EVENT_DATA
    assert usual.code.kind is WarningKind.CAVEAT
    assert len(usual.places) == 1
    assert "use the option `sent_by`: `api_trigger_properties`" in usual.message
    chosen = export("braze", "{{event.a}}", sent_by="context").warnings
    assert WarningCode.EVENT_DATA not in {each.code for each in chosen}


@pytest.mark.parametrize("profile", WITH_EVENTS, ids=lambda each: each.esp)
def test_each_way_has_a_source(profile):
    assert all(way.source and way.strength is not Strength.NONE for way in profile.events.ways)


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
        assert block in export(esp, source).content


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

    assert changes(export("klaviyo", content)) == {content.index(each) + 1 for each in tags}
    for each in tags:
        assert f"`{each}`" in CHANGELOG


def test_an_expression_of_event_data_has_the_caveat():
    source = "{% if {{event.a | expression}} == 1 %}a{% endif %}"
    assert changes(export("klaviyo", source)) == {source.index("{{event") + 1}


@pytest.mark.parametrize(("esp", "form", "rest"), KEPT)
def test_other_forms_stay_code_of_an_esp(esp, form, rest):
    options = ExportOptions(surface="text", strict=False)
    for source in (form + rest, rest + form) if "assign" in rest else (form + rest,):
        content = parse_content(source)
        exported = export_content(content, FieldCodes.of([], []), Esp(esp), options)

        assert exported.content == source
        assert changes(exported) == set()
    assert f"`{form}`" in CHANGELOG
