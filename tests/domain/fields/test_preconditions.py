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


@pytest.mark.parametrize("current", ["1-1-a", None])
def test_without_a_precondition_every_change_is_allowed(current):
    assert holds(UNCONDITIONAL, current)


@pytest.mark.parametrize(
    ("match", "of_the_field", "of_no_field"),
    [
        (ANY_VERSION, True, False),
        (THIS, True, False),
        (THIS | OTHER, True, False),
        (OTHER, False, False),
        (NONE, False, False),
    ],
)
def test_match_requires_a_field_in_one_of_these_versions(match, of_the_field, of_no_field):
    expected = Precondition(match=match)
    assert (holds(expected, "1-1-a"), holds(expected, None)) == (of_the_field, of_no_field)


@pytest.mark.parametrize(
    ("none_match", "of_the_field", "of_no_field"),
    [
        (ANY_VERSION, False, True),
        (THIS, False, True),
        (THIS | OTHER, False, True),
        (OTHER, True, True),
        (NONE, True, True),
    ],
)
def test_none_match_requires_that_the_field_has_none_of_these_versions(
    none_match, of_the_field, of_no_field
):
    expected = Precondition(none_match=none_match)
    assert (holds(expected, "1-1-a"), holds(expected, None)) == (of_the_field, of_no_field)


@pytest.mark.parametrize("current", ["1-1-a", None])
def test_both_conditions_must_hold(current):
    assert not holds(Precondition(match=ANY_VERSION, none_match=ANY_VERSION), current)


def test_a_version_is_compared_as_a_whole():
    assert not holds(Precondition(match=frozenset({"1-1-ab"})), "1-1-a")


def test_a_conflict_with_any_version_reports_that_the_field_exists():
    with pytest.raises(VersionConflict, match=r"^The field already exists\."):
        Precondition(none_match=ANY_VERSION).require("1-1-a")
    with pytest.raises(VersionConflict, match="not in the expected version"):
        Precondition(none_match=THIS).require("1-1-a")


def test_a_conflict_contains_the_current_version():
    with pytest.raises(VersionConflict) as conflict:
        Precondition(match=OTHER).require("1-1-a")
    assert conflict.value.current == "1-1-a"
