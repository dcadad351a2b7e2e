"""The storage in a SQLite file, the default."""

from .storage import SqliteStorage
from .transfer import BackupFailed, back_up
from .url import open_storage

__all__ = ["BackupFailed", "SqliteStorage", "back_up", "open_storage"]
