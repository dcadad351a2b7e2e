"""The engines render the insertion codes of fields, so they can also check exported content."""

from __future__ import annotations

import pytest

from recipient_fields.domain.esp import Esp, derive_codes

from .generation import esp_name
from .rendering import render


@pytest.mark.parametrize("default", [None, "there"])
@pytest.mark.parametrize("esp", Esp, ids=lambda esp: esp.value)
def test_an_insertion_code_renders_the_value_or_the_default(esp, default):
    name = esp_name(esp, "tier")
    codes = derive_codes(esp, name, default=default)
    template = f"{codes.prelude or ''}Hello {codes.insertion_code}!"
    assert render(esp, template, {name: "Zoë"}) == "Hello Zoë!"
    assert render(esp, template, {}) == f"Hello {default or ''}!"
