"""The confirmation of the plan of a sync run, and empty reports."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recipient_fields.domain import DataType
from recipient_fields.domain.integrations import (
    EmptyReport,
    RefusedField,
    RemovalsNotConfirmed,
    SyncPlanChanged,
    SyncRun,
)

from .test_sync import NOON, make_integration, make_other_field, reported, synced

LATER = NOON + timedelta(minutes=5)
NEW_PLANS = {
    "another removal": ("b",),
    "no removal": ("a", "b", "c", "d"),
    "another new field": ("a", "b", "e"),
    "another label": (reported("a", label="A"), "b", "d"),
    "another type": (reported("a", DataType.NUMBER), "b", "d"),
    "other allowed values": (reported("a", allowed_values=["x"]), "b", "d"),
    "another ESP name": ("a", "b", "D"),
}


@pytest.fixture
def account():
    return synced("braze", "a", "b", "c")


def test_a_plan_that_is_made_again_has_the_same_digest(account):
    plan = account.plan("a", "b", "d", at=LATER)
    assert plan.digest == account.plan("d", "b", "a", at=LATER + timedelta(hours=1)).digest
    account.catalog = (*account.catalog, make_other_field("unrelated"))
    account.plan("a", "b", "d", at=LATER).require_confirmed(plan.digest, max_removals=1)


@pytest.mark.parametrize("report", NEW_PLANS.values(), ids=NEW_PLANS)
def test_a_plan_with_another_effect_has_another_digest(account, report):
    plan, other = account.plan("a", "b", "d", at=LATER), account.plan(*report, at=LATER)
    assert plan.digest != other.digest
    with pytest.raises(SyncPlanChanged) as changed:
        other.require_confirmed(plan.digest, max_removals=None)
    assert changed.value.plan is other


def test_the_same_changes_to_another_version_of_a_field_have_another_digest(account):
    plan = account.plan("b", "c", at=LATER)
    account.sync(reported("a", label="A"), "b", "c", at=LATER)
    assert plan.digest != account.plan("b", "c", at=LATER).digest


def test_a_taken_key_changes_the_plan(account):
    plan = account.plan("a", "b", "c", "d", at=LATER)
    account.catalog = (*account.catalog, make_other_field("d"))
    with pytest.raises(SyncPlanChanged):
        account.plan("a", "b", "c", "d").require_confirmed(plan.digest, max_removals=0)


@pytest.mark.parametrize(("report", "removals"), [("abc", 0), ("ab", 1), ("a", 2)])
def test_more_removals_than_permitted_are_not_confirmed(account, report, removals):
    plan = account.plan(*report, at=LATER)
    for digest in (None, plan.digest):
        plan.require_confirmed(digest, max_removals=None)
        plan.require_confirmed(digest, max_removals=removals)
        if removals:
            with pytest.raises(RemovalsNotConfirmed) as refused:
                plan.require_confirmed(digest, max_removals=removals - 1)
            assert refused.value.plan is plan


def test_a_report_without_fields_must_be_permitted():
    integration = make_integration()
    with pytest.raises(EmptyReport):
        SyncRun.from_report(integration, [], at=NOON, allow_empty=False)
    SyncRun.from_report(integration, [], at=NOON, allow_empty=True)
    for each in (reported("a"), RefusedField("a", "No type.")):
        SyncRun.from_report(integration, [each], at=NOON, allow_empty=False)
