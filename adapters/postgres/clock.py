"""The clock of the database server."""

from __future__ import annotations

from datetime import datetime

from .connection import DeadlineConnection, parse_url
from .schema import connected


def read_clock(url: str) -> datetime:
    """Return the time of the server of the database.

    Raises: StorageUnavailable if the URL is malformed or the server does not respond.
    """
    with connected(DeadlineConnection, parse_url(url)) as connection:
        [(now,)] = connection.execute("SELECT clock_timestamp()").fetchall()
    at: datetime = now
    return at
