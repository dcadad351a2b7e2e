"""Conversions between values of the domain and columns of PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from recipient_fields.domain import AllowedValues

_encode = json.JSONEncoder(ensure_ascii=False).encode


def from_utc(at: datetime) -> datetime:
    """Return the time in a column that was read `AT TIME ZONE 'UTC'`."""
    return at.replace(tzinfo=UTC)


def optional_json(allowed: AllowedValues | None) -> str | None:
    """Return the allowed values as JSON text, which distinguishes 1 from 1.0, or None for NULL."""
    return None if allowed is None else _encode(allowed.values)


def from_optional_json(text: str | None) -> list[object] | None:
    """Return the allowed values in a column, or None for NULL.

    The column is read as text, because the application can configure how psycopg reads JSON.
    """
    values: list[object] | None = None if text is None else json.loads(text)
    return values
