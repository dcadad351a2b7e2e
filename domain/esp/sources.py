"""How well a source establishes the code of an ESP."""

from __future__ import annotations

from enum import Enum


class Strength(Enum):
    """Who says what a code means."""

    VENDOR = "the vendor"
    ENGINE = "an engine that the vendor names"
    SECONDARY = "a third party"
    NONE = "no source"
