"""The use case that copies everything from one storage to another, empty one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias, TypeVar

from attrs import evolve, frozen

from recipient_fields.domain import RecipientFieldsError

from .ports import Storage, Transferable
from .snapshots import Records, Snapshot

T = TypeVar("T")

StorageRole: TypeAlias = Literal["source", "target"]
"""The storage that is read, or the one that is written."""

CopyProgress: TypeAlias = Callable[[str, int, int], None]
"""Called with a kind of records, the number of them sent so far, and the number of all of them."""


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


def copy_storage(
    source: Storage, target: Storage, *, on_progress: CopyProgress | None = None
) -> CopiedRecords:
    """Copy everything from one storage to another, empty one, in one transaction of the target.

    Ids, revisions and times stay the same, and new ids in the target are greater than any id that
    the source has ever assigned. The copy is the source's content at one moment, even if others
    change it meanwhile. `on_progress` is called after every record.

    Raises: CopyFailed if a storage can't be copied or fails, if the target is not empty, or if
    both are the same storage. Nothing is stored then, unless the target failed while it committed.
    """
    reader, writer = _transferable("source", source), _transferable("target", target)
    with _attributed("source"):
        source_identity = reader.identity()
    with _attributed("target"):
        if writer.identity() == source_identity:
            raise CopyFailed("target", "It is the source storage itself. Choose another one.")
    with _attributed("source"), reader.snapshot() as snapshot:
        with _attributed("target"):
            writer.store_snapshot(_observed(snapshot, on_progress or _no_progress))
        return CopiedRecords(
            organizations=snapshot.organizations.count,
            integrations=snapshot.integrations.count,
            api_keys=snapshot.api_keys.count,
            fields=snapshot.fields.count,
        )


def _transferable(role: StorageRole, storage: Storage) -> Transferable:
    if not isinstance(storage, Transferable):
        raise CopyFailed(role, "Its adapter does not support copying.")
    return storage


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
    """The snapshot that attributes its own errors to the source and reports progress."""

    def observed(kind: str, records: Records[T]) -> Records[T]:
        def iterate() -> Iterator[T]:
            with _attributed("source"):
                for number, record in enumerate(records, start=1):
                    yield record
                    on_progress(kind, number, records.count)

        return evolve(records, records=iterate())

    return Snapshot(
        organizations=observed("organizations", snapshot.organizations),
        integrations=observed("integrations", snapshot.integrations),
        api_keys=observed("API keys", snapshot.api_keys),
        fields=observed("fields", snapshot.fields),
    )


def _no_progress(_kind: str, _number: int, _count: int) -> None:
    pass
