"""Content shows and compares data of the event that causes the send, which no field defines."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from recipient_fields.domain.content import (
    InvalidContent,
    parse_content,
    preview_content,
    read_content,
)
from recipient_fields.domain.content.tree import Reference
from recipient_fields.domain.data_paths import DataPath

ORDER = {
    "order_id": "A<1>",
    "total": 120,
    "paid": True,
    "placed": "2026-11-20",
    "customer": {"City": "Bern", "Full Name": "ada lovelace", "note": None},
    "items": [{"name": "Lamp", "price": 12.5}, {"name": "Rug", "price": 99}],
    "empty": "",
    "nothing": [],
    "tags": ["new", "a & b"],
    "numbers": [1],
}


def preview(source: str, event: Mapping[str, object] = ORDER, surface: str = "text") -> str:
    content = parse_content(source)
    return preview_content(content, [], {}, event=event, surface=surface).content


def refusal(source: str, event: Mapping[str, object] = ORDER) -> str:
    """Return the reason for which there is no preview."""
    with pytest.raises(InvalidContent) as refused:
        preview(source, event)
    (violation,) = refused.value.violations
    return violation.reason


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{event.order_id}}", "A<1>"),
        ("{{ event.customer.City }}", "Bern"),
        ('{{event.customer["Full Name"] | title}}', "Ada Lovelace"),
        ("{{event['customer']['City']}}", "Bern"),
        ("{{event.items[1].name}} {{event.items.0.name}}", "Rug Lamp"),
        ("{{event.items[0].price | number: 2}}", "12.50"),
        ("{{event.items[0].price | times: 1.2 | minus: 5 | number: 1}}", "10.0"),
        ("{{event.tags | first | upper}}", "NEW"),
        ('{{event.tags | join: ", " | default: "none"}}', "new, a & b"),
        ('{{event.nothing | join: ", " | default: "none"}}{{event.nothing | first}}', ""),
        ('{{event.missing | join: ", " | default: "none"}}{{event.missing | first}}', "none"),
        ("{{event.total}} {{event.paid}}", "120 true"),
        ('{{event.placed | date: "long"}}', "20 November 2026"),
        ("{{event.missing}}{{event.missing.member}}{{event.items[9].name}}{{event.empty}}", ""),
        ('{{event.customer.note | default: "none"}}', "none"),
        ("{{event.total | expression}}", "{{event.total | expression}}"),
        ("{{#if event.total > 100}}big{{else}}small{{/if}}", "big"),
        ('{{#if event.customer.City = "Bern" and event.paid}}yes{{/if}}', "yes"),
        ("{{#if event.missing is set}}a{{else if event.nothing is set}}b{{/if}}", "b"),
        ("{{#if event.empty is set or event.customer.note is set}}a{{/if}}", ""),
    ],
)
def test_a_preview_shows_the_data(source, shown):
    assert preview(source) == shown


def test_data_is_escaped_in_html():
    assert preview("<p>{{event.order_id}}</p>", surface="html") == "<p>A&lt;1&gt;</p>"


def test_a_path_has_one_form():
    content = parse_content('{{event.a.0.b}}{{ event[\'a\'][0]["b"] }}{{event.a[0]["b c"]}}')
    references = [each.key for each in content.references()]
    assert references == [DataPath("event.a[0].b")] * 2 + [DataPath('event.a[0]["b c"]')]
    assert content.event_names() == ("a[0].b", 'a[0]["b c"]')
    assert content.keys() == ()
    assert DataPath("event") != "event"


def test_a_path_has_at_most_eight_parts():
    assert not read_content("{{event.a.b.c.d.e.f.g.h}}").violations
    (violation,) = read_content("{{event.a.b.c.d.e.f.g.h.i}}").violations
    assert violation.reason == "A path has at most 8 parts after `event`."


@pytest.mark.parametrize(
    "rest",
    [
        "{% with total=event|lookup:'$value' %}{{ total }}{% endwith %}",
        "{% assign total = event | map: 'a' %}",
        "{% set total = event %}",
        "{% for each in event %}{{ each }}{% endfor %}",
        "{% connected_content https://a.example/event?a=1 :save total %}",
    ],
)
def test_code_that_only_reads_event_leaves_references_portable(rest):
    source = "{{event.URL}}{{#each event.items as item}}{{loop.number}}{{/each}}"
    for content in map(parse_content, (source + rest, rest + source)):
        assert content.event_names() == parse_content(source).event_names()
        assert [str(each.key) for each in content.references()] == ["event.URL", "loop.number"]


@pytest.mark.parametrize(
    "source",
    [
        "{{event}}",
        "{{event.at | date: '%B %e'}}",
        "{{ event.Items|lookup:'a' }}",
        "{{event.total|floatformat:2}}",
        "{{event.total | plus: 1}}",
        "{{event.total | plus: event.tax | number: 2}}",
        "{{event.tags | join: '<br>'}}",
        "{{event.tags | join}}",
        "{{event.name | default: name}}",
        "{{#if (eq event.a 1)}}a{{/if}}",
        "{{#if event.items.[0]}}a{{/if}}",
    ],
)
def test_what_is_no_portable_grammar_is_code_of_an_esp(source):
    content = parse_content(source)
    assert not any(isinstance(each, Reference) for each in content.references())
    assert content.event_names() == ()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{event.items}}", "`event.items` is a list. Show its members."),
        ("{{event.customer}}", "`event.customer` is an object. Show its members."),
        (
            "{{event.order_id.name}}",
            "`event.order_id.name` requires an object before its part `name`, not a text.",
        ),
        (
            "{{event.customer[0]}}",
            "`event.customer[0]` requires a list before its part `0`, not an object.",
        ),
        (
            "{{event.total | upper}}",
            '`event.total` is a number. Here, it must be a text, such as "gold".',
        ),
        ("{{event.total | join: ', '}}", "`event.total` is a number. Here, it must be a list."),
        (
            "{{event.numbers | first}}",
            "`event.numbers` has a number. Here, it must be a list of texts.",
        ),
        (
            "{{#if event.order_id > 1}}a{{/if}}",
            "`event.order_id` is a text. Here, it must be a number, such as 3.",
        ),
    ],
)
def test_a_preview_refuses_data_that_does_not_fit(source, message):
    assert refusal(source) == message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{#if event.total > > 3}}a{{/if}}", "Expected a value after `>`, such as 3."),
        (
            "{{#if recipient.a is set and order.total > 3}}a{{/if}}",
            "Write `recipient.KEY` or `event.NAME`.",
        ),
        ("{{#if recipient.a.b is set}}a{{/if}}", "Write `recipient.KEY` or `event.NAME`."),
    ],
)
def test_a_mistake_in_a_condition_is_reported(source, message):
    (violation,) = read_content(source).violations
    assert violation.reason == message


def test_one_value_has_one_type_in_a_condition():
    source = '{{#if event.total > 3 or event.total = "x"}}a{{/if}}'
    assert refusal(source, {"total": 4}) == "Compare a number field with a number, such as 3."
