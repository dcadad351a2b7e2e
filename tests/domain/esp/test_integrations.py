"""Integrations: what they are called, who their runs are, and when they ran last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from attrs import evolve

from recipient_fields.domain import IntegrationId, OrganizationId, sync_channel
from recipient_fields.domain.esp import (
    Esp,
    Integration,
    IntegrationDraft,
    InvalidIntegration,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, TICK = timedelta(hours=1), timedelta.resolution
SEVEN, OURS = IntegrationId(7), OrganizationId(1)


def a_draft(name="Main list", **members):
    return IntegrationDraft(**{"esp": Esp.MAILCHIMP, "created_at": NOON, **members}, name=name)


@pytest.fixture
def integration():
    return a_draft().with_id(SEVEN, OURS)


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
    assert a_draft(text).name == name
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
def test_a_name_that_is_not_one_line_of_255_is_refused(name, rule, integration, raises_violations):
    with raises_violations(f"name: {rule}"):
        a_draft(name)
    with raises_violations(f"name: {rule}"):
        integration.renamed(name)
    with pytest.raises(InvalidIntegration):
        a_draft(name)


def test_a_stored_integration_is_its_draft_under_an_id_that_never_ran():
    assert a_draft().with_id(SEVEN, OURS) == Integration(
        id=SEVEN,
        organization_id=OURS,
        esp=Esp.MAILCHIMP,
        name="Main list",
        created_at=NOON,
        last_synced_at=None,
    )


def test_times_are_cut_to_milliseconds(integration):
    at = NOON + timedelta(microseconds=1_999)
    assert a_draft(created_at=at).created_at == NOON + timedelta(milliseconds=1)
    assert integration.synced(at).last_synced_at == NOON + timedelta(milliseconds=1)


@pytest.mark.parametrize("member", ["created_at", "last_synced_at"])
def test_a_time_without_a_zone_is_a_defect(member, integration):
    with pytest.raises(ValueError, match="time zone"):
        evolve(integration, **{member: datetime(2026, 11, 20)})  # noqa: DTZ001


def test_a_run_comes_through_the_channel_of_its_integration(integration):
    assert integration.channel == sync_channel(SEVEN)
    assert integration.channel.owns(sync_channel(SEVEN).origin("CITY"))
    assert not integration.channel.owns(sync_channel(IntegrationId(8)).origin("CITY"))


def test_renaming_changes_nothing_else(integration):
    ran = integration.synced(NOON)
    assert ran.renamed("Other") == evolve(ran, name="Other")


def test_the_last_run_counts(integration):
    ran = integration.synced(NOON)
    assert ran == evolve(integration, last_synced_at=NOON)
    assert ran.synced(NOON + HOUR) == evolve(integration, last_synced_at=NOON + HOUR)
