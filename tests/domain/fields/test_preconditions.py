"""Preconditions: every combination of expected and current versions."""

from __future__ import annotations

import pytest

from recipient_fields.domain import ANY_VERSION, UNCONDITIONAL, Precondition, VersionConflict

THIS, OTHER = frozenset({"1-1-a"}), frozenset({"1-2-b"})
NONE: frozenset[str] = frozenset()


def holds(precondition, current):
    try:
        precondition.require(current)
    except VersionConflict as conflict:
        return conflict.current != current
    return True


def test_without_a_precondition_every_change_is_allowed():
    assert Precondition() == UNCONDITIONAL


@pytest.mark.parametrize(
    ("members", "of_the_field", "of_no_field"),
    [
        ({"match": ANY_VERSION}, True, False),
        ({"match": THIS}, True, False),
        ({"match": THIS | OTHER}, True, False),
        ({"match": OTHER}, False, False),
        ({"match": NONE}, False, False),
        ({"none_match": ANY_VERSION}, False, True),
        ({"none_match": THIS}, False, True),
        ({"none_match": THIS | OTHER}, False, True),
        ({"none_match": OTHER}, True, True),
        ({"none_match": NONE}, True, True),
        ({"match": ANY_VERSION, "none_match": ANY_VERSION}, False, False),
        ({}, True, True),
        ({"match": frozenset({"1-1-ab"})}, False, False),
    ],
)
def test_a_field_has_one_version_that_matches_and_none_of_the_others(
    members, of_the_field, of_no_field
):
    expected = Precondition(**members)
    assert (holds(expected, "1-1-a"), holds(expected, None)) == (of_the_field, of_no_field)


def test_a_conflict_with_any_version_reports_that_the_field_exists():
    with pytest.raises(VersionConflict, match=r"^The field already exists\."):
        Precondition(none_match=ANY_VERSION).require("1-1-a")
    with pytest.raises(VersionConflict, match="not in the expected version"):
        Precondition(none_match=THIS).require("1-1-a")


def test_a_conflict_contains_the_current_version():
    with pytest.raises(VersionConflict) as conflict:
        Precondition(match=OTHER).require("1-1-a")
    assert conflict.value.current == "1-1-a"
