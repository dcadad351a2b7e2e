"""The use case that copies the whole content of a storage to an empty one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias, TypeVar

from attrs import define, evolve, fields_dict, frozen

from recipient_fields.domain import RecipientFieldsError
from recipient_fields.domain.integrations import CredentialUnreadable, EspConnection

from .clock import system_clock
from .ports.integrations import SecretCipher
from .ports.storage import Records, Snapshot, Storage, StorageGroup, Transferable

__all__ = ["CopiedRecords", "CopyFailed", "CopyProgress", "StorageRole", "copy_storage"]

T = TypeVar("T")

StorageRole: TypeAlias = Literal["source", "target"]
"""`source` is read, `target` is written."""

CopyProgress: TypeAlias = Callable[[str, int, int], None]
"""Called with a kind of records, the number of copied records and the total of this kind."""

_KINDS = {"api_keys": "API keys", "history": "history records", "esp_connections": "connections"}
"""What people call the records of an attribute of a snapshot, if not by its name."""


class CopyFailed(RecipientFieldsError):
    """A copy failed. `role` is the storage that caused it."""

    def __init__(self, role: StorageRole, reason: object) -> None:
        self.role: StorageRole = role
        super().__init__(f"{role.capitalize()} storage: {reason}")


@frozen(kw_only=True)
class CopiedRecords:
    """The number of records that a copy stored."""

    organizations: int
    integrations: int
    api_keys: int
    fields: int
    history: int
    administrators: int
    omitted_credentials: int
    """The credentials of integrations that could not be encrypted again."""


def copy_storage(
    source: Storage,
    target: Storage,
    *,
    on_progress: CopyProgress | None = None,
    cipher: SecretCipher | None = None,
) -> CopiedRecords:
    """Copy the whole content of a storage to an empty one, in one transaction of the target.

    Ids, revisions and times stay the same, and new ids in the target are greater than any id that
    the source has ever assigned. The copy is the source's content at one moment, even if
    other processes change it during the copy. `on_progress` is called after every record.
    `cipher` has the keys of both storages, that of the target first. It encrypts the credentials of
    integrations again. The copy omits those that it can't decrypt, and all without a cipher.

    Raises: CopyFailed if a storage can't be copied or fails, if both are the same storage, if the
    target is not empty, or if it does not have a group of which the source has records. Nothing is
    stored then, unless the target failed during the commit.
    """
    reader, writer = _transferable("source", source), _transferable("target", target)
    with _attributed("source"):
        source_identity = reader.identity()
    with _attributed("target"):
        if writer.identity() == source_identity:
            raise CopyFailed("target", "It is the source storage. Choose another one.")
    with _attributed("source"), reader.snapshot() as snapshot:
        _require_groups(target, snapshot)
        with _attributed("target"):
            connections = _Connections(cipher, snapshot.esp_connections)
            copied = evolve(
                snapshot,
                esp_connections=evolve(snapshot.esp_connections, records=connections),
            )
            writer.store_snapshot(_observed(copied, on_progress or _no_progress))
        return CopiedRecords(
            organizations=snapshot.organizations.count,
            integrations=snapshot.integrations.count,
            api_keys=snapshot.api_keys.count,
            fields=snapshot.fields.count,
            history=snapshot.history.count,
            administrators=snapshot.administrators.count,
            omitted_credentials=connections.omitted,
        )


@define
class _Connections:
    """Connections with credentials for the target. `omitted` is the number of those without."""

    _cipher: SecretCipher | None
    _records: Records[EspConnection]
    omitted: int = 0

    def __iter__(self) -> Iterator[EspConnection]:
        for each in self._records:
            yield each if each.credential is None else self._encrypted(each, each.credential)

    def _encrypted(self, connection: EspConnection, credential: str) -> EspConnection:
        try:
            if self._cipher is not None:
                text = self._cipher.decrypt(credential)
                return evolve(connection, credential=self._cipher.encrypt(text))
        except CredentialUnreadable:
            pass
        self.omitted += 1
        return connection.with_credential(None, at=system_clock())


def _transferable(role: StorageRole, storage: Storage) -> Transferable:
    if not isinstance(storage, Transferable):
        raise CopyFailed(role, "Its adapter does not support copying.")
    return storage


def _require_groups(target: Storage, snapshot: Snapshot) -> None:
    for group in StorageGroup:
        copied = [getattr(snapshot, each, None) for each in group.repositories]
        if not group.is_in(target) and any(each is not None and each.count for each in copied):
            raise CopyFailed(
                "target",
                f"It has no {group.value}, which the source contains. Choose another target, such"
                " as sqlite:PATH.",
            )


@contextmanager
def _attributed(role: StorageRole) -> Iterator[None]:
    """Raise CopyFailed with this role for an error in the block that has no role yet."""
    try:
        yield
    except CopyFailed:
        raise
    except RecipientFieldsError as error:
        raise CopyFailed(role, error) from error


def _observed(snapshot: Snapshot, on_progress: CopyProgress) -> Snapshot:
    """Return the snapshot with records that attribute errors to the source and report progress."""

    def observed(kind: str, records: Records[T]) -> Records[T]:
        def iterate() -> Iterator[T]:
            with _attributed("source"):
                for number, record in enumerate(records, start=1):
                    yield record
                    on_progress(kind, number, records.count)

        return evolve(records, records=iterate())

    return evolve(
        snapshot,
        **{
            kind: observed(_KINDS.get(kind, kind), getattr(snapshot, kind))
            for kind in fields_dict(Snapshot)
        },
    )


def _no_progress(_kind: str, _number: int, _count: int) -> None:
    pass
