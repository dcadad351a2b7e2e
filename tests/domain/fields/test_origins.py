"""Origins: only integration fields have an integration id and an ESP field name."""

from __future__ import annotations

import pytest

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_ESP_FIELD_NAME_LENGTH,
    MAX_SAFE_INTEGER,
    IntegrationId,
    InvalidField,
    Origin,
    Source,
    sync_channel,
)

SEVEN = IntegrationId(7)


def test_the_sources_are_those_of_the_contract():
    assert [source.value for source in Source] == ["api", "manual", "integration"]


@pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
def test_an_api_or_manual_field_has_no_integration(channel):
    assert channel.origin() == Origin(channel.source, None, None)


def test_a_synced_field_has_an_integration_and_an_esp_field_name():
    assert sync_channel(SEVEN).origin("FNAME") == Origin(Source.INTEGRATION, SEVEN, "FNAME")


@pytest.mark.parametrize("source", [Source.API, Source.MANUAL])
@pytest.mark.parametrize(
    ("members", "superfluous"),
    [
        ({"integration_id": SEVEN}, "integration_id"),
        ({"esp_field_name": "FNAME"}, "esp_field_name"),
        ({"integration_id": SEVEN, "esp_field_name": "FNAME"}, "integration_id"),
    ],
)
def test_an_api_or_manual_field_with_an_integration_is_rejected(
    source, members, superfluous, raises_violations
):
    with raises_violations(f"{superfluous}: not_applicable"):
        Origin(source, **members)


@pytest.mark.parametrize(
    ("members", "missing"),
    [
        ({"integration_id": SEVEN}, "esp_field_name"),
        ({"esp_field_name": "FNAME"}, "integration_id"),
        ({}, "integration_id"),
    ],
)
def test_a_synced_field_without_an_integration_or_an_esp_field_name_is_rejected(
    members, missing, raises_violations
):
    with raises_violations(f"{missing}: required"):
        Origin(Source.INTEGRATION, **members)


def test_the_message_names_the_source_that_does_not_fit():
    with pytest.raises(InvalidField, match="source manual can't have an integration id"):
        Origin(Source.MANUAL, SEVEN)
    with pytest.raises(InvalidField, match="source integration requires an integration id"):
        Origin(Source.INTEGRATION)


@pytest.mark.parametrize("integration_id", [1, MAX_SAFE_INTEGER])
def test_the_id_of_an_integration_is_a_safe_integer_for_json(integration_id):
    origin = sync_channel(IntegrationId(integration_id)).origin("FNAME")
    assert origin.integration_id == integration_id


@pytest.mark.parametrize("integration_id", [0, -1, MAX_SAFE_INTEGER + 1, 2**63])
def test_an_integration_id_that_is_out_of_range_is_rejected(integration_id, raises_violations):
    with raises_violations("integration_id: out_of_range"):
        sync_channel(IntegrationId(integration_id)).origin("FNAME")


@pytest.mark.parametrize("name", [" FNAME\n", "E\u0301", "\u202e", "m" * MAX_ESP_FIELD_NAME_LENGTH])
def test_an_esp_field_name_does_not_change(name):
    assert sync_channel(SEVEN).origin(name).esp_field_name == name


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "blank"),
        ("m" * (MAX_ESP_FIELD_NAME_LENGTH + 1), "too_long"),
        ("F\0", "invalid_characters"),
        ("F\ud800", "invalid_characters"),
    ],
    ids=["empty", "256 characters", "null", "lone surrogate"],
)
def test_an_invalid_esp_field_name_is_rejected(name, rule, raises_violations):
    with raises_violations(f"esp_field_name: {rule}"):
        sync_channel(SEVEN).origin(name)


def test_an_esp_field_name_has_up_to_255_characters():
    assert MAX_ESP_FIELD_NAME_LENGTH == 255
