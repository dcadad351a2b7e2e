"""The storage in one SQLite file: the embedded default."""

from .backup import BackupFailed, back_up
from .storage import SqliteStorage

__all__ = ["BackupFailed", "SqliteStorage", "back_up"]
