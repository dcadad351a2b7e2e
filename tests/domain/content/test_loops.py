"""Loops over the lists of event data."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from recipient_fields.domain.content import (
    InvalidContent,
    WarningCode,
    parse_content,
    preview_content,
    read_content,
)
from recipient_fields.domain.content.tree import Loop
from recipient_fields.domain.data_paths import DataPath

OUTSIDE = (
    "Only a loop has a first and a last round. Write this between `{{#each …}}` and `{{/each}}`."
)
ORDER = {
    "id": 7,
    "lines": [
        {"name": "Lamp", "qty": 1, "tags": ["new", "sale"]},
        {"name": "Rug <b>", "qty": 2},
        {"qty": None, "tags": []},
    ],
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
        ("{{#each event.lines as line}}{{line.name}};{{/each}}", "Lamp;Rug <b>;;"),
        ("{{#each event.lines as line}}{{loop.number}}{{/each}}", "123"),
        ("{{#each event.lines as a}}{{#if loop is last}}>{{else}}<{{/if}}{{/each}}", "<<>"),
        ("{{#each event.lines as line}}{{#if loop is not last}},{{/if}}{{/each}}", ",,"),
        ("{{#each event.lines as line}}{{#if line.qty > 1}}{{line.qty}}{{/if}}{{/each}}", "2"),
        (
            "{{#each event.lines as a}}{{#each a.tags as b}}{{b}} {{else}}- {{/each}}{{/each}}",
            "new sale - - ",
        ),
        ('{{#each event.lines as line}}{{line.name | default: "?"}} {{/each}}', "Lamp Rug <b> ? "),
        ("{{#each event.missing as line}}a{{else}}b{{/each}}", "b"),
        ("{{#each event.missing as line}}a{{/each}}", ""),
        (
            "{{#each event.lines as a}}{{#each a.x as b}}{{else}}{{loop.number}}{{/each}}{{/each}}",
            "123",
        ),
        (
            "{{#each event.no as a}}{{else}}{{#each event.lines as a}}{{a.qty}};{{/each}}{{/each}}",
            "1;2;;",
        ),
        ('{{#each event.lines[0].tags as tag}}{{#if tag = "new"}}!{{/if}}{{/each}}', "!"),
        (
            "{{#each event.lines as line}}{{#if loop.number >= 2}}{{loop.number}}{{/if}}{{/each}}",
            "23",
        ),
    ],
)
def test_a_preview_shows_each_item(source, shown):
    assert preview(source) == shown


def test_items_are_escaped_in_html():
    source = "<p>{{#each event.lines as line}}{{line.name}}{{/each}}"
    assert preview(source, surface="html") == "<p>LampRug &lt;b&gt;"


def test_a_variable_is_no_field_with_the_same_key():
    content = parse_content("{{#each event.lines as line}}{{line}}{{/each}}")
    assert content.keys() == ()
    assert content.event_names() == ("lines",)
    (loop,) = content.loops()
    assert isinstance(loop, Loop)
    assert (loop.items, loop.variable) == (DataPath("event.lines"), "line")


def test_a_preview_runs_1_000_rounds():
    source = "{{#each event.a as i}}{{#each event.a as j}}x{{/each}}{{/each}}"
    assert len(preview(source, {"a": [*range(31)]})) == 31 * 31
    assert refusal(source, {"a": [*range(32)]}) == (
        "The loops up to here have more than 1,000 rounds. Preview shorter lists."
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{#each event.a as b}}", "This loop has no {{/each}}."),
        (
            "{{#each event.a as loop}}{{/each}}",
            "`loop` has another meaning here. Choose another name.",
        ),
        (
            "{{#each event.a as b}}{{#each event.c as b}}{{/each}}{{/each}}",
            "`b` has another meaning here. Choose another name.",
        ),
        (
            "{{#each event.a as b}}{{#each b as c}}{{#each c as d}}{{/each}}{{/each}}{{/each}}",
            "Nest loops at most 2 levels deep.",
        ),
        ("{{#each event.a as b}}{{else if event.c}}{{/each}}", "A loop has only `{{else}}`."),
        (
            "{{#each event.a as b}}{{loop.index}}{{/each}}",
            "Write `loop.number`, and in conditions `loop is first` or `loop is last`.",
        ),
        (
            "{{#each event.a as b}}{{#if loop.first}}{{/if}}{{/each}}",
            "Write `loop.number`, and in conditions `loop is first` or `loop is last`.",
        ),
        ("{{#if loop is first}}{{/if}}", OUTSIDE),
        ("{{#if event.a > 1}}{{else if loop is not last}}{{/if}}", OUTSIDE),
        ("{{#each event.a as b}}{{else}}{{#if loop is last}}{{/if}}{{/each}}", OUTSIDE),
        (
            "{{#each event.a as b}}{{#if b}}{{/each}}{{/if}}",
            "Close `{{#if` of line 1, column 23 first.",
        ),
    ],
)
def test_an_invalid_loop_is_refused(source, message):
    assert message in [each.reason for each in read_content(source).violations]


@pytest.mark.parametrize(
    "source",
    [
        "{{#each event.items}}{{this.name}}{{/each}}",
        "{{#each items as |item|}}{{item.name}}{{/each}}",
        "{{#each items as item}}{{/each}}",
        "{{item.name}} {{loop.number}}",
        "{{#if item.name > 1}}{{/if}}",
        "{% raw %}{{#each event.a as b}}{{/each}}{% endraw %}",
    ],
)
def test_other_loops_are_code_of_an_esp(source):
    content = parse_content(source)
    assert not list(content.loops())
    assert not list(content.references())


def test_the_item_is_not_known_where_the_list_is_empty():
    content = parse_content("{{#each event.a as b}}{{b.c}}{{else}}{{b.d}}{{loop.number}}{{/each}}")
    assert [each.key for each in content.references()] == [DataPath("b.c")]


def test_a_loop_over_a_field_is_a_mistake():
    (warning,) = parse_content("{{#each recipient.tags as tag}}{{/each}}").warnings
    assert warning.code is WarningCode.LOOP_LOOKALIKE
    assert warning.message.startswith("A loop reads a list of event data, not a field. Write `")


def test_data_that_is_no_list_is_refused():
    source = "{{#each event.id as line}}a{{/each}}"
    assert refusal(source) == "`event.id` is a number. Here, it must be a list."
