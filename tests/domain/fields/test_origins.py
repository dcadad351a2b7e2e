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


@pytest.mark.parametrize(
    ("source", "integration_id", "esp_field_name", "violation"),
    [
        *(
            row
            for source in (Source.API, Source.MANUAL)
            for row in (
                (source, SEVEN, None, "integration_id: not_applicable"),
                (source, None, "FNAME", "esp_field_name: not_applicable"),
                (source, SEVEN, "FNAME", "integration_id: not_applicable"),
            )
        ),
        (Source.INTEGRATION, SEVEN, None, "esp_field_name: required"),
        (Source.INTEGRATION, None, "FNAME", "integration_id: required"),
        (Source.INTEGRATION, None, None, "integration_id: required"),
        *(
            (Source.INTEGRATION, number, "FNAME", "integration_id: out_of_range")
            for number in (0, -1, MAX_SAFE_INTEGER + 1, 2**63)
        ),
        (Source.INTEGRATION, SEVEN, "", "esp_field_name: blank"),
        (Source.INTEGRATION, SEVEN, "m" * 256, "esp_field_name: too_long"),
        (Source.INTEGRATION, SEVEN, "F\0", "esp_field_name: invalid_characters"),
        (Source.INTEGRATION, SEVEN, "F\ud800", "esp_field_name: invalid_characters"),
    ],
    ids=lambda each: ascii(each)[:20],
)
def test_an_origin_with_members_that_do_not_fit_is_rejected(
    source, integration_id, esp_field_name, violation, raises_violations
):
    with raises_violations(violation):
        Origin(source, integration_id, esp_field_name)


def test_the_message_names_the_source_that_does_not_fit():
    with pytest.raises(InvalidField, match="source manual can't have an integration id"):
        Origin(Source.MANUAL, SEVEN)
    with pytest.raises(InvalidField, match="source integration requires an integration id"):
        Origin(Source.INTEGRATION)


@pytest.mark.parametrize("integration_id", [1, MAX_SAFE_INTEGER])
def test_the_id_of_an_integration_is_a_safe_integer_for_json(integration_id):
    origin = sync_channel(IntegrationId(integration_id)).origin("FNAME")
    assert origin.integration_id == integration_id


@pytest.mark.parametrize("name", [" FNAME\n", "E\u0301", "\u202e", "m" * MAX_ESP_FIELD_NAME_LENGTH])
def test_an_esp_field_name_does_not_change(name):
    assert sync_channel(SEVEN).origin(name).esp_field_name == name


def test_an_esp_field_name_has_up_to_255_characters():
    assert MAX_ESP_FIELD_NAME_LENGTH == 255
