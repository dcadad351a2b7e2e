"""Conversions between values of the domain and columns of PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from recipient_fields.domain import AllowedValues, from_epoch_milliseconds, whole_milliseconds

_MAX_BIGINT = 2**63 - 1
_NO_ID = -1
_encode = json.JSONEncoder(ensure_ascii=False).encode


def optional_milliseconds(at: datetime | None) -> datetime | None:
    """Return the time in whole milliseconds, because PostgreSQL would round up; None for None."""
    return None if at is None else whole_milliseconds(at)


def from_utc(at: datetime) -> datetime:
    """Return the time in a column that was read `AT TIME ZONE 'UTC'`."""
    return at.replace(tzinfo=UTC)


def optional_from_utc(at: datetime | None) -> datetime | None:
    """Return the time in a column that was read `AT TIME ZONE 'UTC'`, or None for NULL."""
    return None if at is None else from_utc(at)


def optional_from_epoch(milliseconds: int | None) -> datetime | None:
    """Return the time that many milliseconds after 1970, or None for NULL."""
    return None if milliseconds is None else from_epoch_milliseconds(milliseconds)


def optional_json(allowed: AllowedValues | None) -> str | None:
    """Return the allowed values as JSON text, which distinguishes 1 from 1.0, or None for NULL."""
    return None if allowed is None else _encode(allowed.values)


def from_optional_json(text: str | None) -> list[object] | None:
    """Return the allowed values in a column, or None for NULL.

    The column is read as text, because the application can configure how psycopg reads JSON.
    """
    values: list[object] | None = None if text is None else json.loads(text)
    return values


def storable_id(identifier: int) -> int:
    """Return the identifier, or one that no row has if PostgreSQL can't store it."""
    return identifier if 0 < identifier <= _MAX_BIGINT else _NO_ID
