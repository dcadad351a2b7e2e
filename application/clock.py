"""The clock of the system that the process runs on."""

from __future__ import annotations

from datetime import UTC, datetime

from recipient_fields.domain import whole_milliseconds


def system_clock() -> datetime:
    """Now, as a Clock tells it."""
    return whole_milliseconds(datetime.now(UTC))
