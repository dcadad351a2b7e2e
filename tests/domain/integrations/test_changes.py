"""The changes of ESP names that a sync plans, by example."""

from __future__ import annotations

from recipient_fields.domain import IntegrationId

from .catalogs import Organization

ONE, TWO = IntegrationId(1), IntegrationId(2)


def planned(organization, integration_id, *reported):
    """Return the changes: key, integration, and the name and the state before and after."""

    def shown(named):
        return named and (named.esp_name.name, named.esp_name.state.value)

    plan = organization.plan(integration_id, *reported)
    return [
        (each.field.key, each.field.integration.id, shown(each.before), shown(each.after))
        for each in plan.name_changes
    ]


def test_the_first_sync_changes_names_and_states():
    organization = Organization("iterable", keys=["tier", "shop"])
    assert planned(organization, ONE, "Tier") == [
        ("tier", ONE, ("tier", "unknown"), ("Tier", "found")),
        ("shop", ONE, ("shop", "unknown"), ("shop", "missing")),
    ]


def test_a_sync_with_the_same_report_changes_none():
    organization = Organization("iterable", keys=["tier"])
    organization.sync(ONE, "Tier")
    assert planned(organization, ONE, "Tier") == []


def test_a_sync_that_loses_a_field_says_so():
    organization = Organization("mailchimp")
    field = organization.define("loyalty_tier")
    organization.set_name(ONE, field, "TIER")
    organization.sync(ONE, "TIER", "FNAME")
    assert planned(organization, ONE, "FNAME") == [
        ("loyalty_tier", ONE, ("TIER", "found"), ("TIER", "missing"))
    ]


def test_a_removed_field_releases_the_names_that_were_set_for_it():
    organization = Organization("iterable", "braze", keys=["tier"])
    organization.sync(ONE, "Level")
    organization.set_name(TWO, organization.get("level"), "tier")
    assert planned(organization, ONE, "Other") == [("tier", TWO, None, ("tier", "unknown"))]


def test_a_new_field_does_not_get_the_name_that_was_set_for_a_deleted_one():
    organization = Organization("klaviyo", keys=["tier"])
    deleted = organization.define("level")
    organization.set_name(ONE, deleted, "Tier")
    organization.delete(deleted)
    assert planned(organization, ONE, "Tier") == [
        ("tier", ONE, ("tier", "unknown"), ("Tier", "found"))
    ]
