"""Conversions between values of the domain and columns."""

from __future__ import annotations

from datetime import datetime

from recipient_fields.domain import from_epoch_milliseconds

_MAX_INTEGER = 2**63 - 1
_NO_ID = -1


def storable_id(identifier: int) -> int:
    """Return the id, or -1, which no row has, if a database can't store such an integer."""
    return identifier if 0 < identifier <= _MAX_INTEGER else _NO_ID


def optional_instant(milliseconds: int | None) -> datetime | None:
    """Return the time, or None for NULL."""
    return None if milliseconds is None else from_epoch_milliseconds(milliseconds)


RECORD_COLUMNS = (
    "organization_id",
    "sequence",
    "occurred_at",
    "operation",
    "field_id",
    "key",
    "source",
    "author",
    "before",
    "after",
    "bytes",
)
"""The columns of a record of the history, in the order in which statements insert them."""
