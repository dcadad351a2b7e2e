"""How values look in PostgreSQL's columns."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from recipient_fields.domain import AllowedValues, from_epoch_milliseconds, whole_milliseconds

_LARGEST_BIGINT = 2**63 - 1
_NO_ID = -1
_encode = json.JSONEncoder(ensure_ascii=False).encode


def optional_milliseconds(at: datetime | None) -> datetime | None:
    """The instant without its microseconds, which PostgreSQL would round up, or NULL."""
    return None if at is None else whole_milliseconds(at)


def from_utc(at: datetime) -> datetime:
    """The instant of a column read `AT TIME ZONE 'UTC'`, whatever the session's time zone is."""
    return at.replace(tzinfo=UTC)


def optional_from_utc(at: datetime | None) -> datetime | None:
    """The instant, or None for NULL."""
    return None if at is None else from_utc(at)


def optional_from_epoch(milliseconds: int | None) -> datetime | None:
    """The instant that many milliseconds after 1970, or None for NULL."""
    return None if milliseconds is None else from_epoch_milliseconds(milliseconds)


def optional_json(allowed: AllowedValues | None) -> str | None:
    """The allowed values as JSON, whose text keeps 1 apart from 1.0, or NULL."""
    return None if allowed is None else _encode(allowed.values)


def from_optional_json(text: str | None) -> list[object] | None:
    """The allowed values, or None for NULL.

    The column is read as text: how psycopg reads JSON is the application's to choose.
    """
    values: list[object] | None = None if text is None else json.loads(text)
    return values


def storable_id(identifier: int) -> int:
    """The identifier, or one that no row has where PostgreSQL can't hold it."""
    return identifier if 0 < identifier <= _LARGEST_BIGINT else _NO_ID
