"""Points in time: aware, UTC, whole milliseconds, everywhere inside the core."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

MILLISECOND = timedelta(milliseconds=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?"
    r"([Zz]|[+-][0-9]{2}:[0-5][0-9])"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def whole_milliseconds(at: datetime) -> datetime:
    """The instant in UTC without its microseconds: cut, never rounded into the future.

    ValueError where it has no time zone.
    """
    if at.tzinfo is UTC and at.microsecond % 1000 == 0:
        return at  # as nearly every instant inside the core
    if at.utcoffset() is None:
        raise ValueError("an instant needs a time zone")
    at = at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def epoch_milliseconds(at: datetime) -> int:
    """The whole milliseconds from 1970 to the instant."""
    return (at - _EPOCH) // MILLISECOND


def from_epoch_milliseconds(milliseconds: int) -> datetime:
    """The instant that many milliseconds after 1970."""
    return _EPOCH + milliseconds * MILLISECOND


def format_instant(at: datetime) -> str:
    """`2026-11-20T09:15:00.123Z`: UTC, exactly three decimals (HTTP contract, section 2)."""
    return whole_milliseconds(at).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_instant(text: str) -> datetime:
    """The instant an RFC 3339 text names; ValueError where it names none.

    It needs `Z` or an offset and has at most three decimals. OverflowError where UTC leaves the
    years 1 to 9999.
    """
    if _RFC_3339.fullmatch(text) is None:
        raise ValueError("not an RFC 3339 date-time")
    return datetime.fromisoformat(text.upper()).astimezone(UTC)


def parse_date(text: str) -> date:
    """The day `YYYY-MM-DD` names; ValueError where it names none."""
    if _DATE.fullmatch(text) is None:
        raise ValueError("not a date")
    return date.fromisoformat(text)
