"""The port of a storage: its repositories, some of which are optional, in groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from enum import Enum
from typing import (
    Final,
    Generic,
    Literal,
    Protocol,
    TypeVar,
    get_type_hints,
    runtime_checkable,
)

from attrs import frozen

from recipient_fields.domain import (
    Administrator,
    ApiKey,
    HistoryRecord,
    Organization,
    RecipientField,
    RecipientFieldsError,
)
from recipient_fields.domain.integrations import EspConnection, Integration

from .accounts import (
    AdministratorRepository,
    ApiKeyRepository,
    OrganizationRepository,
    SessionRepository,
)
from .fields import FieldRepository, HistoryRepository
from .integrations import EspConnectionRepository, IntegrationRepository

__all__ = [
    "CallingThreadStorage",
    "CompleteStorage",
    "ConsoleStorage",
    "HistoryStorage",
    "IntegrationStorage",
    "MissingGroup",
    "OrganizationRecord",
    "Pooled",
    "Records",
    "Snapshot",
    "Storage",
    "StorageGroup",
    "Transferable",
]

T = TypeVar("T")


@frozen
class OrganizationRecord:
    """An organization, the revision of its catalog, and the end of its history.

    `last_sequence` and `last_change_at` are the sequence and the time of the last record, even if
    it has been pruned; 0 and None if there was none.
    """

    organization: Organization
    revision: int
    last_sequence: int = 0
    last_change_at: datetime | None = None


@frozen
class Records(Generic[T]):
    """All records of one kind, in any order. They can be iterated over once."""

    count: int
    """The number of records."""
    last_id: int
    """The greatest id that the storage has assigned, including deleted records; 0 if none.

    Also 0 for the history and for connections, whose records get no ids.
    """
    _records: Iterable[T]

    def __iter__(self) -> Iterator[T]:
        return iter(self._records)


@frozen(kw_only=True)
class Snapshot:
    """The content of a storage at one moment. Without an optional group, it has no such records.

    It has no sessions, links and invitations of administrators. Iterate over the records while the
    snapshot is open: a storage may read them only then.
    """

    organizations: Records[OrganizationRecord]
    fields: Records[RecipientField]
    history: Records[HistoryRecord] = Records(0, 0, ())
    api_keys: Records[ApiKey] = Records(0, 0, ())
    integrations: Records[Integration] = Records(0, 0, ())
    administrators: Records[Administrator] = Records(0, 0, ())
    esp_connections: Records[EspConnection] = Records(0, 0, ())


class Storage(Protocol):
    """The repositories of one storage, with shared connections.

    Every storage has organizations and their fields. A storage that has all repositories of an
    optional group also fulfils the protocol of that group.
    """

    @property
    def organizations(self) -> OrganizationRepository:
        """The organizations."""

    @property
    def fields(self) -> FieldRepository:
        """The fields."""

    def check(self) -> None:
        """Raise StorageUnavailable unless the storage responds and has the required schema."""

    def close(self) -> None:
        """Close every connection. A second call does nothing."""


@runtime_checkable
class HistoryStorage(Storage, Protocol):
    """A storage that also has a history of the fields."""

    @property
    def history(self) -> HistoryRepository:
        """The history of the fields."""


@runtime_checkable
class IntegrationStorage(Storage, Protocol):
    """A storage that also has API keys and integrations."""

    @property
    def api_keys(self) -> ApiKeyRepository:
        """The API keys."""

    @property
    def integrations(self) -> IntegrationRepository:
        """The integrations."""

    @property
    def esp_connections(self) -> EspConnectionRepository:
        """The connections of the integrations."""


@runtime_checkable
class ConsoleStorage(Storage, Protocol):
    """A storage that also has console accounts: administrators and their sessions."""

    @property
    def administrators(self) -> AdministratorRepository:
        """The administrators."""

    @property
    def sessions(self) -> SessionRepository:
        """The sessions of administrators."""


class CompleteStorage(HistoryStorage, IntegrationStorage, ConsoleStorage, Protocol):
    """A storage that has all groups."""


class StorageGroup(Enum):
    """An optional group of repositories. A storage has all of them, or none.

    The value is what people call it. An attribute that is None counts as missing.
    """

    HISTORY = "history of fields"
    INTEGRATIONS = "API keys and integrations"
    CONSOLE_ACCOUNTS = "console accounts"

    @property
    def repositories(self) -> tuple[str, ...]:
        """The attributes of a storage that has this group."""
        members = vars(_PROTOCOLS[self]).items()
        return tuple(name for name, member in members if isinstance(member, property))

    def is_in(self, storage: Storage) -> bool:
        """Return whether the storage has this group."""
        return all(getattr(storage, each, None) is not None for each in self.repositories)


_PROTOCOLS: Final[Mapping[StorageGroup, type]] = {
    StorageGroup.HISTORY: HistoryStorage,
    StorageGroup.INTEGRATIONS: IntegrationStorage,
    StorageGroup.CONSOLE_ACCOUNTS: ConsoleStorage,
}


def repository_ports(storage: Storage) -> Mapping[str, type]:
    """Return the port of each repository that the storage has, by its attribute."""
    protocols = [Storage, *(each for group, each in _PROTOCOLS.items() if group.is_in(storage))]
    return {
        name: get_type_hints(member.fget)["return"]
        for protocol in protocols
        for name, member in vars(protocol).items()
        if isinstance(member, property)
    }


class MissingGroup(RecipientFieldsError):
    """The storage does not have the optional group that the call requires."""

    def __init__(self, group: StorageGroup) -> None:
        self.group = group
        super().__init__(
            f"This storage has no {group.value}. Use another one, such as sqlite:PATH."
        )


def find_history(storage: Storage) -> HistoryRepository | None:
    """Return the history of the storage, or None if it has none."""
    return storage.history if isinstance(storage, HistoryStorage) else None


def require_history(history: HistoryRepository | None) -> HistoryRepository:
    """Return the history of a storage. Raises: MissingGroup if the storage has none."""
    if history is None:
        raise MissingGroup(StorageGroup.HISTORY)
    return history


@runtime_checkable
class Pooled(Protocol):
    """A storage with a connection pool."""

    @property
    def pool_size(self) -> int:
        """The number of calls that can have a connection at the same time."""

    def pool_use(self) -> Mapping[str, int]:
        """Return the numbers of `open` and `in_use` connections, and of `waiting` calls."""


@runtime_checkable
class CallingThreadStorage(Protocol):
    """A storage over a connection of the calling thread. It must not be used in other threads."""

    @property
    def belongs_to_calling_thread(self) -> Literal[True]:
        """Always true."""


@runtime_checkable
class Transferable(Protocol):
    """A storage whose whole content can be copied to another storage."""

    def identity(self) -> Hashable:
        """Return a value that is equal for two storages if and only if they share their data.

        Raises: StorageUnavailable if the storage can't be reached.
        """

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a context manager for the content of the storage at one moment.

        The snapshot contains no change that is committed after the context was entered, and does
        not block writers. Records are read from the storage as they are iterated over. There is no
        deadline for the whole copy.

        Raises: StorageUnavailable, also during the iteration, if the storage fails, stops
        responding, or has a record that breaks a rule of the domain.
        """

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot in one transaction. The storage must be empty.

        Ids, revisions and times stay the same. From then on, each new id is greater than the
        `last_id` of its kind, and than any id that this storage has assigned before. If the
        iteration over the snapshot raises, nothing is stored and the exception is raised. The
        snapshot has no records of a group that this storage does not have. Of several concurrent
        callers, at most one succeeds. There is no deadline for the whole copy.

        Raises: StorageNotEmpty if the storage has an organization, StorageUnavailable if the
        storage fails or stops responding.
        """
