"""The composition root: what runs, for which settings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import entry_points

from attrs import frozen

from recipient_fields.application import (
    DEFAULT_FIELD_LIMIT,
    AdministrationService,
    RecipientFieldService,
    Storage,
    StoredKeyValidator,
)
from recipient_fields.domain import RecipientFieldsError, whole_milliseconds

STORAGE_GROUP = "recipient_fields.storage"
"""The entry points that open storages of other schemes: `scheme = "module:function"`, called with
the URL."""


class UnknownStorage(RecipientFieldsError):
    """No adapter opens this storage URL."""


@frozen
class Core:
    """The use cases over one storage."""

    storage: Storage
    fields: RecipientFieldService
    administration: AdministrationService
    validator: StoredKeyValidator


def now() -> datetime:
    """The system's clock."""
    return whole_milliseconds(datetime.now(UTC))


def open_core(storage_url: str, *, field_limit: int = DEFAULT_FIELD_LIMIT) -> Core:
    """The use cases over the storage of that URL; UnknownStorage, StorageUnavailable."""
    storage = open_storage(storage_url)
    return Core(
        storage,
        RecipientFieldService(fields=storage.fields, clock=now, limit=field_limit),
        AdministrationService(
            organizations=storage.organizations, api_keys=storage.api_keys, clock=now
        ),
        StoredKeyValidator(storage.api_keys, now),
    )


def open_storage(url: str) -> Storage:
    """The storage of that URL: `memory:`, `sqlite:PATH`, or one that an entry point opens."""
    scheme, colon, rest = url.partition(":")
    if not (scheme and colon):
        raise UnknownStorage("A storage is a URL such as memory: or sqlite:PATH.")
    if scheme == "memory":
        return _open_memory(rest)
    if scheme == "sqlite":
        return _open_sqlite(rest)
    return _open_plugin(scheme)(url)


def _open_memory(rest: str) -> Storage:
    from recipient_fields.adapters.memory import MemoryStorage

    if rest:
        raise UnknownStorage("The memory storage is written memory: and nothing else.")
    return MemoryStorage()


def _open_sqlite(path: str) -> Storage:
    from recipient_fields.adapters.sqlite import SqliteStorage

    if not path or path == ":memory:":
        raise UnknownStorage("Write sqlite:PATH; for a storage without a file, memory:.")
    if path.startswith("//"):
        raise UnknownStorage("Write sqlite:PATH without slashes before it: sqlite:/srv/fields.db.")
    return SqliteStorage(path)


def _open_plugin(scheme: str) -> Callable[[str], Storage]:
    for entry_point in entry_points(group=STORAGE_GROUP, name=scheme):
        try:
            opener: Callable[[str], Storage] = entry_point.load()
        except (AttributeError, ImportError) as error:
            raise UnknownStorage(f"The adapter of {scheme}: can't be loaded: {error}.") from error
        return opener
    raise UnknownStorage(
        f"There is no storage {scheme}:. Use memory: or sqlite:PATH, or install its adapter."
    )
