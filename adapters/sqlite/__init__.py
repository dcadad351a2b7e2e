"""The storage in a SQLite file, the default."""

from .backup import BackupFailed, back_up
from .storage import SqliteStorage
from .url import open_storage

__all__ = ["BackupFailed", "SqliteStorage", "back_up", "open_storage"]
