"""The time to export, preview and check content is proportional to its length."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from recipient_fields.domain.esp import Esp

from ..support.growth import find_growth
from .service import MeasuredService
from .shapes import CONTENT_COSTS, CONTEXTS, PIECES, Shape

Entries = Mapping[str, Callable[[str], object]]
ENTRIES = (*(esp.value for esp in Esp), "preview", "check")
_PART = 4
"""`make test` measures one of so many shapes, each at one entry."""
_ENTRIES_PER_SHAPE = 3
"""The slow test measures each shape at so many entries."""


@pytest.fixture(scope="module")
def entries() -> Entries:
    return MeasuredService.create().entries()


def steep_shapes(entries: Entries, chosen: list[tuple[str, Shape]]) -> list[str]:
    found = []
    for name, shape in chosen:
        growth = find_growth(entries[name], shape.text, shape.smallest)
        if growth is not None:
            found.append(f"{name}, {shape}: {growth}")
    return found


@pytest.mark.parametrize("number", range(len(CONTEXTS)), ids=lambda each: CONTEXTS[each][0])
def test_the_time_for_content_is_proportional_to_its_length(entries: Entries, number: int):
    shapes = _shapes(number)[number % _PART :: _PART]
    chosen = [(ENTRIES[(number + index) % len(ENTRIES)], each) for index, each in enumerate(shapes)]
    assert steep_shapes(entries, chosen) == []


@pytest.mark.parametrize("cost", CONTENT_COSTS)
def test_no_cost_of_content_comes_back(entries: Entries, cost: str):
    assert steep_shapes(entries, [(name, CONTENT_COSTS[cost]) for name in ENTRIES]) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CONTEXTS)), ids=lambda each: CONTEXTS[each][0])
def test_the_time_for_any_content_is_proportional_to_its_length(entries: Entries, number: int):
    step = len(ENTRIES) // _ENTRIES_PER_SHAPE
    chosen = [
        (ENTRIES[(number + index + offset * step) % len(ENTRIES)], each)
        for index, each in enumerate(_shapes(number))
        for offset in range(_ENTRIES_PER_SHAPE)
    ]
    assert steep_shapes(entries, chosen) == []


def _shapes(number: int) -> list[Shape]:
    opening, closing = CONTEXTS[number]
    return [Shape(opening, piece, closing) for piece in PIECES]
