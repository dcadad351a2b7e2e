"""The storage in memory, for embedding, demonstrations and tests."""

from .storage import MemoryStorage, open_storage

__all__ = ["MemoryStorage", "open_storage"]
