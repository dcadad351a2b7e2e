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
from recipient_fields.domain.esp import Esp, ExportedContent, ExportOptions, export_content
from recipient_fields.domain.integrations import FieldCodes

from ...support.stories import stories
from .export_stories import told

AT = datetime(2026, 11, 20, tzinfo=UTC)
SOURCE = (
    "{{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none{{/each}}"
)


def field(code: str | None = None) -> RecipientField:
    draft = FieldDraft(name="Tier", key="tier", data_type=DataType.TEXT, custom_insertion_code=code)
    return draft.define(by=ADMINISTRATOR, at=AT).with_id(FieldId(1), OrganizationId(1))


def export(
    esp: str, source: str, *fields: RecipientField, surface: str = "html"
) -> ExportedContent:
    options = ExportOptions(surface=surface)
    return export_content(parse_content(source), FieldCodes.of(fields), Esp(esp), options)


def refusals(esp: str, source: str, *fields: RecipientField) -> str:
    with pytest.raises(InvalidContent) as refused:
        export(esp, source, *fields)
    return " ".join(each.reason for each in refused.value.violations)


STORIES = """
# a loop has the code of the ESP
klaviyo: {{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none
    {{/each}}
  => {% for line in event.lines %}{{ line.name|default_if_none:'' }}{{ email|default_if_none:'' }}
    {{ event.id|default_if_none:'' }}{% empty %}none{% endfor %}
braze: {{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none
    {{/each}}
  => {% for line in event_properties.${lines} %}{{line.name | escape}}{{${email_address} | escape}}
    {{event_properties.${id} | escape}}{% else %}none{% endfor %}
customerio: {{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none
    {{/each}}
  => {% for line in event.lines %}{{line.name | escape}}{{customer.email | escape}}
    {{event.id | escape}}{% else %}none{% endfor %}
hubspot: {{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none
    {{/each}}
  => {% if custom.lines %}{% for line in custom.lines %}{{ line.name }}{{ contact.email }}
    {{ custom.id }}{% endfor %}{% else %}none{% endif %}
sendgrid: {{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none
    {{/each}}
  => {{#each lines}}{{this.name}}{{@root.email}}{{@root.id}}{{else}}none{{/each}}
iterable: {{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none
    {{/each}}
  => {{#each lines as |line|}}{{line.name}}{{@root.email}}{{@root.id}}{{else}}none{{/each}}
brevo: {{#each event.lines as line}}{{line.name}}{{recipient.email}}{{event.id}}{{else}}none
    {{/each}}
  => {% for line in params.lines %}{{ line.name|default_if_none:'' }}
    {{ contact.EMAIL|default_if_none:'' }}{{ params.id|default_if_none:'' }}{% empty %}none
    {% endfor %}
# a variable that the ESP reserves has another name
customerio: {{#each event.lines as customer}}{{customer.a}}{{/each}}
  => {% for customer_item in event.lines %}{{customer_item.a | escape}}{% endfor %}
klaviyo: {{#each event.lines as person}}{{person.a}}{{/each}}
  => {% for person_item in event.lines %}{{ person_item.a|default_if_none:'' }}{% endfor %}
hubspot: {{#each event.lines as contact}}{{contact.a}}{{/each}}
  => {% for contact_item in custom.lines %}{{ contact_item.a }}{% endfor %}
braze: {{#each event.lines as condition_1}}{{condition_1.a}}{{/each}}
  => {% for condition_1_item in event_properties.${lines} %}{{condition_1_item.a | escape}}
    {% endfor %}
iterable: {{#each event.lines as profile}}{{profile.a}}{{/each}}
  => {{#each lines as |profile_item|}}{{profile_item.a}}{{/each}}
braze: {{#each event.lines as line}}{{line.a}}{{/each}}
  => {% for line in event_properties.${lines} %}{{line.a | escape}}{% endfor %}
# the number of a round begins with 1 and is never missing
klaviyo: {{#each event.lines as line}}{{loop.number}}{{/each}}
  => {% for line in event.lines %}{{ forloop.counter }}{% endfor %}
braze: {{#each event.lines as line}}{{loop.number}}{{/each}}
  => {% for line in event_properties.${lines} %}{{forloop.index}}{% endfor %}
hubspot: {{#each event.lines as line}}{{loop.number}}{{/each}}
  => {% for line in custom.lines %}{{ loop.index }}{% endfor %}
# a number without a source is refused
  refused: …State of a loop: loop.number. No source establishes how…
sendgrid: {{#each event.lines as line}}{{loop.number}}{{/each}}
iterable: {{#each event.lines as line}}{{loop.number}}{{/each}}
brevo: {{#each event.lines as line}}{{loop.number}}{{/each}}
# an outer item is out of reach at SendGrid
sendgrid: {{#each event.a as b}}{{#each b.c as d}}{{d}}{{b.e}}{{/each}}{{/each}}
  refused: …No source establishes how SendGrid reads `b` in the loop inside.
iterable: {{#each event.a as b}}{{#each b.c as d}}{{d}}{{b.e}}{{/each}}{{/each}}
  => {{#each a as |b|}}{{#each b.c as |d|}}{{d}}{{b.e}}{{/each}}{{/each}}
# a link is refused in loops that hide its name
iterable: {{#each event.a as b}}{{link.unsubscribe}}{{/each}} => refused: …Move it out.
klaviyo: {{#each event.a as b}}{{link.unsubscribe}}{{/each}}
  => {% for b in event.a %}{% unsubscribe_link %}{% endfor %}
# an item in text is not escaped
sendgrid, surface=text: {{#each event.a as b}}{{b.c}}{{/each}} => {{#each a}}{{{this.c}}}{{/each}}
# the tags of a loop between components of MJML are raw
braze: <mjml><mj-body>{{#each event.a as b}}<mj-section></mj-section>{{/each}}</mj-body></mjml>
  => <mjml><mj-body><mj-raw>
    {% for b in event_properties.${a} %}</mj-raw><mj-section></mj-section><mj-raw>
    {% endfor %}</mj-raw></mj-body></mjml>
"""


@stories(STORIES)
def test_an_export(story):
    told(export, story)


@pytest.mark.parametrize("esp", ["sfmc", "mailchimp", "activecampaign"])
def test_an_esp_without_loops_refuses_them(esp):
    reason = "loops" if esp == "sfmc" else "event data"
    for source in (SOURCE, "{{#each event.lines as line}}{{link.unsubscribe}}{{/each}}"):
        assert "{{#each" not in refusals(esp, source)
        assert reason in refusals(esp, source)


def test_code_that_a_person_wrote_is_refused_in_loops_that_hide_its_names():
    source = "{{#each event.a as b}}{{recipient.tier}}{{/each}}"
    own = field("{{upper tier}}")
    assert "so it would read the item of the loop" in refusals("iterable", source, own)
    assert "{{upper tier}}" in export("iterable", "{{recipient.tier}}", own).content
