"""The port for the current time, and the clock of the system."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from recipient_fields.domain import whole_milliseconds

__all__ = ["Clock", "system_clock"]

Clock: TypeAlias = Callable[[], datetime]
"""Return the current time: aware, in UTC, in whole milliseconds."""


def system_clock() -> datetime:
    """Return the current time in UTC, in whole milliseconds."""
    return whole_milliseconds(datetime.now(UTC))
