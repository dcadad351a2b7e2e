"""Code that exports write becomes content again that means the same, for all ESPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import settings

from recipient_fields.domain import DataType
from recipient_fields.domain.conditions import evaluate, format_condition
from recipient_fields.domain.content import InvalidContent, parse_content, preview_content
from recipient_fields.domain.content.filters import DATE_STYLES
from recipient_fields.domain.esp import BUILT_IN, Esp, ExportOptions, export_content
from recipient_fields.domain.integrations import ConversionOptions, Outcome, convert

from ...engines.generation import (
    DATA_TYPES,
    esp_name,
    generate_condition,
    generate_recipients,
    synced_codes,
    synced_fields,
)
from ...engines.test_content import with_prefixes

CONDITIONS = settings().max_examples
FILTERS = {
    DataType.TEXT: (
        *("upper", "lower", "title", "url", "truncate: 5"),
        *("lower | title", "upper | truncate: 5", "truncate: 5 | upper", "truncate: 5 | url"),
    ),
    DataType.NUMBER: (
        *(f"number: {decimals}" for decimals in range(5)),
        *("plus: 3", "minus: 2", "times: 4", "plus: 3 | number: 2"),
    ),
    DataType.DATE: tuple(f'date: "{each}"' for each in (*DATE_STYLES, "D.M.YYYY")),
    None: ("first", "first | upper", 'join: ", "'),
}
"""The filters of each type, and of lists."""
FIELDS = {"tier": DataType.TEXT, "home_city": DataType.TEXT, "visits": DataType.NUMBER}
EVENT = {"city": DataType.TEXT, "total": DataType.NUMBER, "day": DataType.DATE, "tags": None}
REFERENCES = [
    f"{{{{{root}.{key}{filters}{default}}}}}"
    for root, keys in (("recipient", {**FIELDS, "joined": DataType.DATE}), ("event", EVENT))
    for key, data_type in keys.items()
    for filters in (*([""] if data_type else []), *(f" | {each}" for each in FILTERS[data_type]))
    for default in ("", ' | default: "x"')
]
VALUES: Sequence[Mapping[str, object]] = (
    {"tier": "Gold", "home_city": "a b c d e f", "visits": 3.126, "joined": "2026-11-05"},
    {"tier": "\u00fcber it's", "home_city": "", "visits": -2},
    {},
)
EVENTS: Sequence[Mapping[str, object]] = (
    {"city": "a b c d e f", "total": 3.126, "day": "2026-11-05", "tags": ["a b", "c"]},
    {"city": "", "total": 0, "tags": []},
    {},
)
BY_HAND = 0.2
"""The share of the exports whose code has a form that is not read yet."""


def read_again(esp: Esp, source: str) -> str | None:
    """Return the content that the code of the source becomes, or None if it is not exported."""
    options = ExportOptions(surface="text")
    try:
        code = export_content(parse_content(source), synced_codes(esp), esp, options).content
    except InvalidContent:
        return None
    if code == source:
        return None  # The ESP can read code that looks like this as its own.
    names = {esp_name(esp, key): key for key in DATA_TYPES}
    if "event." in source:
        names |= {key: f"event.{key}" for key in EVENT}
    converted = convert(
        code,
        read=esp,
        write="portable",
        options=ConversionOptions(
            names=names, surface="text", bare="event" if "event." in source else None
        ),
        codes=synced_codes(esp),
    )
    return "" if converted.counts[Outcome.BY_HAND] else converted.content


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_an_exported_condition_holds_for_the_same_recipients(esp):
    random, fields = Random(esp), synced_fields(esp)
    exported = kept = 0
    for _ in range(CONDITIONS):
        condition = generate_condition(random, depth=2)
        test = with_prefixes(format_condition(condition))
        content = read_again(esp, f"{{{{#if {test}}}}}yes{{{{else}}}}no{{{{/if}}}}")
        exported += content is not None
        kept += content == ""
        for recipient in generate_recipients(random, condition, 8) if content else ():
            expected = "yes" if evaluate(condition, fields, recipient) else "no"
            assert content is not None
            shown = preview_content(parse_content(content), fields, recipient).content
            assert shown == expected, f"{test}\n{content}\n{recipient}"
    assert kept <= BY_HAND * exported


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_an_exported_reference_with_any_filters_shows_the_same_value(esp):
    fields = synced_fields(esp)
    for source in REFERENCES:
        content = read_again(esp, source)
        assert content != "", source
        for recipient, event in zip(VALUES, EVENTS, strict=True) if content else ():
            assert content is not None
            shown, expected = (
                preview_content(parse_content(each), fields, recipient, event=event).content
                for each in (content, source)
            )
            assert shown == expected, f"{source}\n{content}\n{recipient}\n{event}"
