"""The storage in a SQLite file, the default."""

from .storage import SqliteStorage, open_storage
from .transfer import BackupFailed, back_up

__all__ = ["BackupFailed", "SqliteStorage", "back_up", "open_storage"]
