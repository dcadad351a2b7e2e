"""Samples of the mutants of large areas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TypeVar

SEED = 32
"""Changes which mutants are in the samples."""

M = TypeVar("M")


def sampled(mutants: Iterable[M], area_of: Callable[[M], str], sizes: Mapping[str, int]) -> list[M]:
    """Return the mutants by area: at most `sizes[area]` of an area in `sizes`, else all.

    A sample is the same in each run for the same code, and in the order of `mutants`.
    """
    by_area: dict[str, list[M]] = {}
    for mutant in mutants:
        by_area.setdefault(area_of(mutant), []).append(mutant)
    return [
        mutant
        for area, own in by_area.items()
        for mutant in _sample(own, min(len(own), sizes.get(area, len(own))))
    ]


def _sample(mutants: list[M], size: int) -> list[M]:
    numbers = Random(SEED).sample(range(len(mutants)), size)
    return [mutants[number] for number in sorted(numbers)]
