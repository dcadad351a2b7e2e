"""The storage in PostgreSQL 14 or newer: for production."""

from .schema import migrate
from .storage import PostgresStorage

__all__ = ["PostgresStorage", "migrate"]
