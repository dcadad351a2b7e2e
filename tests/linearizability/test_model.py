"""The model of the fields, on written histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from .model import Call, Kind, Operation, Outcome, Result, contradictions

SEVENTH = "7-1"


def create(at: float, field_id: int, key: str = "city", **members: Any) -> Call:
    shown = {"id": field_id, "version": 1, **members}
    return Call(Operation(Kind.CREATE, key, members), Outcome(Result.CREATED, shown), at, at + 1)


def patch(
    at: float,
    version: int,
    *,
    lasting: float = 1,
    match: str | None = None,
    shows: dict[str, Any] | None = None,
    **members: Any,
) -> Call:
    operation = Operation(Kind.PATCH, "city", members, match)
    outcome = Outcome(Result.SHOWN, {"version": version, **members, **(shows or {})})
    return Call(operation, outcome, at, at + lasting)


def get(at: float, **members: Any) -> Call:
    result = Result.SHOWN if members else Result.ABSENT
    return Call(Operation(Kind.GET, "city"), Outcome(result, members), at, at + 1)


def delete(at: float, *, lasting: float = 1, match: str | None = None) -> Call:
    operation = Operation(Kind.DELETE, "city", match=match)
    return Call(operation, Outcome(Result.DELETED), at, at + lasting)


def put(
    at: float, result: Result, *, vacant: bool = False, shows: Any = None, **members: Any
) -> Call:
    operation = Operation(Kind.PUT, "city", members, vacant=vacant)
    return Call(operation, Outcome(result, shows or {}), at, at + 1)


def listed(at: float, revision: int, *, lasting: float = 1, **fields: Any) -> Call:
    outcome = Outcome(Result.LISTED, fields=fields, revision=revision)
    return Call(Operation(Kind.LIST), outcome, at, at + lasting)


SEVEN = create(0, 7, name="City")
TIER = create(2, 8, "tier", name="Tier")


UNSOUND = {
    "an update that is lost": [
        *(SEVEN, patch(2, 2, lasting=9, name="Town"), patch(3, 2, lasting=9, insertable=False)),
    ],
    "an update undone by another": [
        *(SEVEN, patch(2, 2, name="Town"), patch(4, 3, insertable=False, shows={"name": "City"})),
    ],
    "a stale read": [SEVEN, patch(2, 2, name="Town"), get(4, version=1)],
    "a stale list": [SEVEN, patch(2, 2, name="Town"), listed(4, 5, city={"name": "City"})],
    "a list without what was created": [SEVEN, listed(2, 5)],
    "one key created twice": [SEVEN, create(2, 8)],
    "one version matched twice": [
        *(SEVEN, patch(2, 2, lasting=9, match=SEVENTH, name="Town")),
        patch(3, 3, lasting=9, match=SEVENTH, name="Place"),
    ],
    "a field deleted twice": [SEVEN, delete(2, lasting=9), delete(3, lasting=9)],
    "a deleted field brought back": [
        *(SEVEN, delete(2, lasting=9), patch(3, 2, lasting=9, name="Town")),
        get(20, version=2),
    ],
    "an id assigned again": [SEVEN, delete(2), create(4, 7)],
    "a put that must not replace": [SEVEN, put(2, Result.SHOWN, vacant=True, name="Town")],
    "a change without a new revision": [
        *(SEVEN, listed(2, 5, city={"id": 7}), patch(4, 2, name="Town")),
        listed(6, 5, city={"name": "Town"}),
    ],
    "a revision that changes without a write": [
        *(SEVEN, listed(2, 5, city={"id": 7}), listed(4, 6, city={"id": 7})),
    ],
    "lists that are no snapshots": [
        *(SEVEN, TIER, patch(4, 2, name="Town", lasting=9)),
        Call(Operation(Kind.DELETE, "tier"), Outcome(Result.DELETED), 4, 13),
        listed(5, 5, lasting=7, city={"name": "Town"}, tier={"id": 8}),
        listed(5, 6, lasting=7, city={"name": "City"}),
    ],
}


@pytest.mark.parametrize("history", UNSOUND.values(), ids=UNSOUND)
def test_a_correct_service_never_produces_the_history(history: Sequence[Call]) -> None:
    assert contradictions(history, ["city", "tier"]) != ()
