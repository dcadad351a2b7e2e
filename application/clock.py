"""The system clock."""

from __future__ import annotations

from datetime import UTC, datetime

from recipient_fields.domain import whole_milliseconds

__all__ = ["system_clock"]


def system_clock() -> datetime:
    """Return the current time in UTC, in whole milliseconds."""
    return whole_milliseconds(datetime.now(UTC))
