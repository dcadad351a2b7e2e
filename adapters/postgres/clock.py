"""The clock of the database server."""

from __future__ import annotations

from datetime import UTC, datetime

from .connection import DeadlineConnection, parse_url
from .schema import connected


def read_clock(url: str) -> datetime:
    """Return the time of the server of the database.

    Raises: StorageUnavailable if the URL is malformed or the server does not respond.
    """
    # As a number, because psycopg can't read times in the style of some servers.
    with connected(DeadlineConnection, parse_url(url)) as connection:
        [(seconds,)] = connection.execute(
            "SELECT extract(epoch FROM clock_timestamp())::float8"
        ).fetchall()
    return datetime.fromtimestamp(seconds, UTC)
