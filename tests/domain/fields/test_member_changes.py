"""The comparison of a field before and after a change."""

from __future__ import annotations

import pytest
from attrs import evolve

from recipient_fields.domain import (
    MILLISECOND,
    AllowedValues,
    DataType,
    InsertionCode,
    IntegrationId,
    MemberChange,
    changed_members,
    sync_channel,
)


def test_equal_fields_differ_in_no_member(make_field):
    field = make_field()
    later = evolve(field, updated_at=field.updated_at + MILLISECOND, version=2)

    assert changed_members(field, later) == ()
    assert changed_members(None, None) == ()


def test_each_changed_member_has_its_value_before_and_after(make_field):
    before = make_field(allowed_values=["gold", "silver"], custom_insertion_code="a")
    after = make_field(
        name="Given name", allowed_values=["silver", "bronze"], insertable=False, key="first_name"
    )

    changes = changed_members(before, after)

    assert changes == (
        MemberChange("name", "First name", "Given name"),
        MemberChange("allowed_values", ("gold", "silver"), ("silver", "bronze")),
        MemberChange("insertable", True, False),
        MemberChange("custom_insertion_code", "a", None),
    )
    assert [(change.removed, change.added) for change in changes] == [
        (("First name",), ("Given name",)),
        (("gold",), ("bronze",)),
        ((True,), (False,)),
        (("a",), ()),
    ]
    assert [change.is_list for change in changes] == [False, True, False, False]


@pytest.mark.parametrize(
    ("before", "after", "removed", "added"),
    [
        (["a", "b", "c"], ["c", "d", "a"], ("b",), ("d",)),
        (["a", "b"], ["b", "a"], (), ()),
        (None, ["a"], (), ("a",)),
        (["a"], None, ("a",), ()),
    ],
)
def test_a_changed_list_has_its_removed_and_added_values(make_field, before, after, removed, added):
    old, new = make_field(allowed_values=before), make_field(allowed_values=after)

    (change,) = changed_members(old, new)

    assert change.is_list
    assert (change.removed, change.added) == (removed, added)


def test_a_sync_can_change_the_data_type(make_field):
    before = make_field(allowed_values=["1"])
    after = evolve(
        before, data_type=DataType.NUMBER, allowed_values=AllowedValues(DataType.NUMBER, [1])
    )

    assert changed_members(before, after) == (
        MemberChange("data_type", "text", "number"),
        MemberChange("allowed_values", ("1",), (1,)),
    )


def test_a_created_or_deleted_field_has_all_members_that_are_not_null(make_field):
    field = evolve(
        make_field(sync_channel(IntegrationId(7))), custom_insertion_code=InsertionCode("*|F|*")
    )
    values = {
        "name": "First name",
        "key": "first_name",
        "data_type": "text",
        "insertable": True,
        "source": "integration",
        "integration_id": 7,
        "esp_field_name": "FNAME",
        "custom_insertion_code": "*|F|*",
    }

    assert changed_members(None, field) == tuple(
        MemberChange(member, None, value) for member, value in values.items()
    )
    assert changed_members(field, None) == tuple(
        MemberChange(member, value, None) for member, value in values.items()
    )
