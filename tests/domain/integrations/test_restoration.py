"""The restoration of fields that a sync run has removed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from attrs import evolve

from recipient_fields.domain import API, KeyTaken, OperationForbidden, sync_channel
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspFieldTaken, plan_restorations

from .test_sync import EIGHT, NOON, Account, make_other_field, reported, synced

LATER = NOON + timedelta(hours=1)


def remove_all(account):
    """Remove all fields of the account, and return them."""
    removed = account.fields
    account.catalog = tuple(account.others)
    return removed


def restore(account, *removed):
    return plan_restorations(account.integration, account.catalog, removed, at=LATER)


def test_removed_fields_are_stored_again_in_their_next_version():
    account = synced("hubspot", "a", "b")
    removed = remove_all(account)
    plan = restore(account, *removed)
    assert plan.integration == account.integration
    assert plan.changes.restored == tuple(
        evolve(each, version=2, updated_at=LATER) for each in removed
    )
    assert (plan.created, plan.updated, plan.removed) == ((), (), ())


def test_the_next_run_updates_or_removes_a_restored_field():
    account = synced("hubspot", "a", "b")
    restored = restore(account, *remove_all(account)).changes.restored
    account.catalog = restored
    plan = account.plan(reported("a", label="A"), at=LATER)
    assert [each.id for each in plan.updated] == [restored[0].id]
    assert plan.removed == restored[1:]


@pytest.mark.parametrize("by", [API, sync_channel(EIGHT)], ids=["api", "another integration"])
def test_only_fields_of_the_integration_are_restored(by):
    with pytest.raises(OperationForbidden):
        restore(Account(), make_other_field("a", by))


def test_a_field_that_is_not_removed_is_named():
    account = synced("hubspot", "a")
    (field,) = account.fields
    with pytest.raises(KeyTaken, match=f"Field {field.id} is not deleted"):
        restore(account, field)


def test_the_key_must_be_free():
    account = synced("hubspot", "a")
    (field,) = remove_all(account)
    account.catalog = (make_other_field("a"),)
    with pytest.raises(KeyTaken) as taken:
        restore(account, field)
    assert taken.value.existing_id == 1
    account.catalog = ()
    twin = evolve(field, id=field.id + 1)
    with pytest.raises(KeyTaken) as taken:
        restore(account, field, twin)
    assert taken.value.existing_id == field.id


@pytest.mark.parametrize(
    ("esp", "name", "other", "clash"),
    [
        (Esp("hubspot"), "a", "a", True),
        (Esp("hubspot"), "a", "b", False),
        (Esp("sfmc"), "First Name", "FIRST-NAME", True),
        (Esp("sfmc"), "First Name", "Last Name", False),
        (Esp("braze"), "first_name", reported("first_name", standard=True), False),
    ],
)
def test_only_one_field_is_for_a_field_of_the_esp(esp, name, other, clash):
    """The ESP had the field again, after its removal, while another field had its key."""
    account = synced(esp, name)
    (removed,) = remove_all(account)
    account.catalog = (make_other_field(removed.key),)
    account.sync(other)
    account.catalog = tuple(account.fields)
    (stored,) = account.fields
    assert stored.key != removed.key
    if clash:
        with pytest.raises(EspFieldTaken) as taken:
            restore(account, removed)
        assert taken.value.existing_id == stored.id
    else:
        assert len(restore(account, removed).changes.restored) == 1
