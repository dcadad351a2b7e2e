"""Integrations: names, channels, and the time of the last sync."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from attrs import evolve

from recipient_fields.domain import IntegrationId, OrganizationId, sync_channel
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Integration, IntegrationDraft, InvalidIntegration

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SEVEN, ORGANIZATION = IntegrationId(7), OrganizationId(1)


def make_draft(name="Main list", **members):
    return IntegrationDraft(**{"esp": Esp.MAILCHIMP, "created_at": NOON, **members}, name=name)


@pytest.fixture
def integration():
    return make_draft().with_id(SEVEN, ORGANIZATION)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Main\u3000list \n", "Main\u3000list"),
        ("e\u0301", "\u00e9"),
        ("\u4eba", "\u4eba"),
        ("n" * 255, "n" * 255),
    ],
    ids=ascii,
)
def test_a_name_is_trimmed_and_composed(text, name, integration):
    assert make_draft(text).name == name
    assert integration.renamed(text).name == name


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "blank"),
        (" \u3000", "blank"),
        ("a\nb", "invalid_characters"),
        ("a\0b", "invalid_characters"),
        ("\ud800", "invalid_characters"),
        ("a\u2028b", "invalid_characters"),
        ("n" * 256, "too_long"),
        ("\u0301" * 1_000_000, "too_long"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_a_name_that_is_not_one_line_of_1_to_255_characters_is_rejected(
    name, rule, integration, raises_violations
):
    with raises_violations(f"name: {rule}"):
        make_draft(name)
    with raises_violations(f"name: {rule}"):
        integration.renamed(name)
    with pytest.raises(InvalidIntegration):
        make_draft(name)


def test_a_new_integration_has_an_id_and_was_never_synced():
    assert make_draft().with_id(SEVEN, ORGANIZATION) == Integration(
        id=SEVEN,
        organization_id=ORGANIZATION,
        esp=Esp.MAILCHIMP,
        name="Main list",
        created_at=NOON,
        last_synced_at=None,
    )


def test_times_are_truncated_to_milliseconds(integration):
    at = NOON + timedelta(microseconds=1_999)
    assert make_draft(created_at=at).created_at == NOON + timedelta(milliseconds=1)
    assert integration.synced(at).last_synced_at == NOON + timedelta(milliseconds=1)


@pytest.mark.parametrize("member", ["created_at", "last_synced_at"])
def test_a_time_without_a_time_zone_is_rejected(member, integration):
    with pytest.raises(ValueError, match="time zone"):
        evolve(integration, **{member: datetime(2026, 11, 20)})  # noqa: DTZ001


def test_the_channel_of_an_integration_owns_its_fields(integration):
    assert integration.channel == sync_channel(SEVEN)
    assert integration.channel.owns(sync_channel(SEVEN).origin("CITY"))
    assert not integration.channel.owns(sync_channel(IntegrationId(8)).origin("CITY"))


def test_renaming_changes_nothing_else(integration):
    synced = integration.synced(NOON)
    assert synced.renamed("Other") == evolve(synced, name="Other")


def test_a_sync_sets_the_time_of_the_last_run(integration):
    synced = integration.synced(NOON)
    assert synced == evolve(integration, last_synced_at=NOON)
    assert synced.synced(NOON + HOUR) == evolve(integration, last_synced_at=NOON + HOUR)
