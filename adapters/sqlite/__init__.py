"""The storage in one SQLite file: the embedded default."""

from .storage import SqliteStorage

__all__ = ["SqliteStorage"]
