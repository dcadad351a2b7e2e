"""The instructions to create a field at each ESP."""

from __future__ import annotations

from recipient_fields.domain.esp import Esp
from recipient_fields.domain.esp.names.creation import explain_creation


def test_each_esp_has_an_instruction_with_the_name() -> None:
    for esp in Esp:
        assert "TIER" in explain_creation(esp, "TIER")
        assert "NAME" not in explain_creation(esp, "TIER")


def test_an_instruction_says_if_no_page_of_the_vendor_confirms_it() -> None:
    assert explain_creation(Esp.HUBSPOT, "tier").endswith("/crm/v3/properties/contacts.")
    assert explain_creation(Esp.BREVO, "tier").endswith("A third party describes this request.")
    assert explain_creation(Esp.KLAVIYO, "tier").endswith("try it in your account first.")
