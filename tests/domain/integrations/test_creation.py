"""The instructions to create a field at each ESP."""

from __future__ import annotations

from recipient_fields.domain.esp import PROFILES, Esp


def test_each_esp_has_an_instruction_with_the_name() -> None:
    for esp in Esp:
        assert "TIER" in PROFILES[esp].names.creation.explain("TIER")
        assert "NAME" not in PROFILES[esp].names.creation.explain("TIER")


def test_an_instruction_says_if_no_page_of_the_vendor_confirms_it() -> None:
    assert (
        PROFILES[Esp.HUBSPOT]
        .names.creation.explain("tier")
        .endswith("/crm/v3/properties/contacts.")
    )
    assert (
        PROFILES[Esp.BREVO]
        .names.creation.explain("tier")
        .endswith("A third party describes this request.")
    )
    assert (
        PROFILES[Esp.KLAVIYO]
        .names.creation.explain("tier")
        .endswith("try it in your account first.")
    )
