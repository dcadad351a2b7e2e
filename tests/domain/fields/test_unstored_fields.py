"""Fields without a storage."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import (
    DataType,
    FieldDraft,
    InvalidField,
    Rule,
    Source,
    define_fields,
)

TIER = FieldDraft(name="Tier", data_type=DataType.TEXT, allowed_values=["gold"])
VISITS = FieldDraft(name="Visits", data_type=DataType.NUMBER)


def test_fields_are_those_of_the_drafts():
    tier, visits = define_fields(draft for draft in (TIER, VISITS))
    assert (tier.id, tier.key, tier.allowed_values) == (1, "tier", TIER.allowed_values)
    assert (visits.id, visits.key, visits.data_type) == (2, "visits", DataType.NUMBER)
    assert {each.origin.source for each in (tier, visits)} == {Source.API}
    assert define_fields([]) == ()


def test_each_repeated_key_is_reported():
    with pytest.raises(InvalidField) as invalid:
        define_fields([TIER, VISITS, TIER, TIER])
    assert [(each.rule, each.path) for each in invalid.value.violations] == [
        (Rule.DUPLICATE_ITEM, ("2", "key")),
        (Rule.DUPLICATE_ITEM, ("3", "key")),
    ]


def test_other_objects_in_place_of_drafts_are_rejected():
    wrong: list[tuple[Any, str]] = [
        (TIER, "drafts must be an Iterable, not FieldDraft"),
        ([TIER, "visits"], r"drafts\[1\] must be a FieldDraft, not str"),
    ]
    for drafts, message in wrong:
        with pytest.raises(TypeError, match=message):
            define_fields(drafts)
