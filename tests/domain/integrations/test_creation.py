"""The instructions to create a field at each ESP."""

from __future__ import annotations

import pytest

from recipient_fields.domain.esp import BUILT_IN, Esp


def test_each_esp_has_an_instruction_with_the_name():
    for esp in BUILT_IN.esps:
        assert "TIER" in BUILT_IN[esp].names.creation.explain("TIER")
        assert "NAME" not in BUILT_IN[esp].names.creation.explain("TIER")


@pytest.mark.parametrize(
    ("esp", "end"),
    [
        ("hubspot", "/crm/v3/properties/contacts."),
        ("brevo", "A third party describes this request."),
        ("klaviyo", "try it in your account first."),
    ],
)
def test_an_instruction_says_if_no_page_of_the_vendor_confirms_it(esp, end):
    assert BUILT_IN[Esp(esp)].names.creation.explain("tier").endswith(end)
