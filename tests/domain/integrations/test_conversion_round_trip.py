"""Code that exports write becomes content again that means the same, for all ESPs."""

from __future__ import annotations

from random import Random

import pytest

from recipient_fields.domain.conditions import evaluate, format_condition
from recipient_fields.domain.content import InvalidContent, parse_content, preview_content
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

CONDITIONS = 60
REFERENCES = [
    f"{{{{recipient.{key}{filters}{default}}}}}"
    for key, filters in (
        ("tier", ""),
        ("tier", " | upper"),
        ("home_city", " | lower"),
        ("home_city", " | url"),
        ("visits", ""),
    )
    for default in ("", ' | default: "x"')
]
BY_HAND = 0.2
"""The share of the exports whose code has a form that is not read yet."""


def read_again(esp: Esp, source: str) -> str | None:
    """Return the content that the code of the source becomes, or None if it is not exported."""
    options = ExportOptions(surface="text")
    try:
        code = export_content(parse_content(source), synced_codes(esp), esp, options).content
    except InvalidContent:
        return None
    converted = convert(
        code,
        read=esp,
        write="portable",
        options=ConversionOptions(
            names={esp_name(esp, key): key for key in DATA_TYPES}, surface="text"
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
def test_an_exported_reference_shows_the_same_value(esp):
    fields, kept = synced_fields(esp), []
    for source in REFERENCES:
        content = read_again(esp, source)
        kept += [source] if content == "" else []
        for recipient in ({"tier": "Gold", "home_city": "a b", "visits": 3}, {}) if content else ():
            expected = preview_content(parse_content(source), fields, recipient).content
            assert content is not None
            shown = preview_content(parse_content(content), fields, recipient).content
            assert shown == expected, f"{source}\n{content}\n{recipient}"
    assert len(kept) <= BY_HAND * len(REFERENCES), kept
