"""Points in time. Inside the core they are aware, in UTC and in whole milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from .arguments import require_type

__all__ = [
    "MILLISECOND",
    "NoSuchTime",
    "epoch_milliseconds",
    "format_instant",
    "from_epoch_milliseconds",
    "parse_date",
    "parse_instant",
    "whole_milliseconds",
]

MILLISECOND = timedelta(milliseconds=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?"
    r"([Zz]|[+-][0-9]{2}:[0-5][0-9])"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class NoSuchTime(ValueError):
    """A text has the form of a date or an instant, but there is none. The message says so."""


def whole_milliseconds(at: datetime) -> datetime:
    """Return the instant in UTC, truncated (never rounded up) to whole milliseconds.

    Raises: ValueError if it has no time zone.
    """
    if not isinstance(at, datetime):
        require_type(datetime, at=at)
    if at.tzinfo is not UTC:
        if at.utcoffset() is None:
            raise ValueError("an instant needs a time zone")
        at = at.astimezone(UTC)
    excess = at.microsecond % 1000
    return at.replace(microsecond=at.microsecond - excess) if excess else at


def epoch_milliseconds(at: datetime) -> int:
    """Return the whole milliseconds from the Unix epoch to the instant."""
    if not isinstance(at, datetime):
        require_type(datetime, at=at)
    return (at - _EPOCH) // MILLISECOND


def from_epoch_milliseconds(milliseconds: int) -> datetime:
    """Return the instant that is this many milliseconds after the Unix epoch."""
    return _EPOCH + milliseconds * MILLISECOND


def format_instant(at: datetime) -> str:
    """Format the instant as `2026-11-20T09:15:00.123Z`: UTC, with exactly three decimals."""
    if not isinstance(at, datetime) or at.tzinfo is not UTC:
        at = whole_milliseconds(at)
    # `isoformat` truncates, too.
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_instant(text: str) -> datetime:
    """Parse an RFC 3339 date-time with `Z` or an offset and at most three decimals.

    Raises: ValueError if the text is not such a date-time, NoSuchTime if it has the form of one;
    OverflowError if its year in UTC is not between 1 and 9999.
    """
    if not isinstance(text, str):
        require_type(str, text=text)
    if _RFC_3339.fullmatch(text) is None:
        raise ValueError("not an RFC 3339 date-time")
    try:
        instant = datetime.fromisoformat(text.upper())
    except ValueError:
        raise NoSuchTime("There is no such date or time.") from None
    return instant.astimezone(UTC)


def parse_date(text: str) -> date:
    """Parse a date, `YYYY-MM-DD`.

    Raises: ValueError if the text is not such a date, NoSuchTime if it has the form of one.
    """
    if not isinstance(text, str):
        require_type(str, text=text)
    if _DATE.fullmatch(text) is None:
        raise ValueError("not a date")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise NoSuchTime("There is no such date.") from None
