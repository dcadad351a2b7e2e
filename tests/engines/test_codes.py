"""The engines render the insertion codes of fields, so they can also check exported content."""

from __future__ import annotations

from html import unescape

import pytest

from recipient_fields.domain.esp import PROFILES, Esp, derive_codes
from recipient_fields.domain.esp.derived_codes import derive_guarded_code

from .generation import NO_EMPTY_TEXTS, esp_name
from .rendering import EVERY_ENGINE, render


@pytest.mark.parametrize("default", [None, "there"])
@EVERY_ENGINE
def test_an_insertion_code_renders_the_value_or_the_default(esp, engine, default):
    name = esp_name(esp, "tier")
    prelude = derive_codes(esp, name).prelude or ""
    template = f"{prelude}Hello {derive_guarded_code(PROFILES[esp], name, default=default)}!"
    assert render(esp, template, {name: "Zoë"}, engine) == "Hello Zoë!"
    missing: list[dict[str, object]] = [{}, {name: None}, {name: ""}]
    for values in missing[:2] if default and esp in NO_EMPTY_TEXTS else missing:
        assert render(esp, template, values, engine) == f"Hello {default or ''}!"


@EVERY_ENGINE
def test_no_engine_changes_the_html_of_a_default(esp, engine):
    name, default = esp_name(esp, "tier"), "A &amp; <b>B</b>"
    prelude = derive_codes(esp, name).prelude or ""
    template = prelude + derive_guarded_code(PROFILES[esp], name, default=default)
    shown = render(esp, template, {}, engine)
    if esp is Esp.HUBSPOT:  # No source establishes what it does, so the export has a caveat.
        assert unescape(shown) == default
    else:
        assert shown == default
