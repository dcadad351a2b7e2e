"""Copying a storage: the storage that an error names, and the reported progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from attrs import evolve

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import (
    CopiedRecords,
    CopyFailed,
    Records,
    Snapshot,
    Storage,
    copy_storage,
)
from recipient_fields.domain import MILLISECOND, StorageUnavailable
from recipient_fields.testing.examples import NOW, a_definition, a_grant, grant
from recipient_fields.testing.field_changes import add_field

from ..support.catalog_storage import CatalogStorage


class NotTransferable:
    """A storage that has only the methods of the port `Storage`."""

    def __init__(self) -> None:
        storage = MemoryStorage()
        self.organizations = storage.organizations
        self.fields = storage.fields
        self.history = storage.history
        self.integrations = storage.integrations
        self.api_keys = storage.api_keys
        self.administrators = storage.administrators
        self.sessions = storage.sessions

    def check(self) -> None: ...

    def close(self) -> None: ...


class Failing(MemoryStorage):
    """A storage that fails at one step: identity, first read, later read or write."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def identity(self):
        self._fail_at("identity")
        return super().identity()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        self._fail_at("snapshot")
        with super().snapshot() as snapshot:
            yield evolve(snapshot, fields=evolve(snapshot.fields, records=self._fields_read()))

    def store_snapshot(self, snapshot, /) -> None:
        self._fail_at("store_snapshot")
        super().store_snapshot(snapshot)

    def _fields_read(self):
        self._fail_at("fields")
        return
        yield

    def _fail_at(self, step: str) -> None:
        if step == self.at:
            raise StorageUnavailable(f"broken at {step}")


@pytest.fixture
def source() -> MemoryStorage:
    storage = MemoryStorage()
    for name in ("Ours", "Theirs"):
        ours = storage.organizations.add(name, NOW).id
        add_field(storage.fields, ours, a_definition())
        storage.api_keys.add(a_grant(ours))
        grant(storage.administrators, ours)
    add_field(storage.fields, ours, a_definition("age"))
    return storage


def test_a_copy_reports_how_many_records_it_has_stored(source):
    copied = copy_storage(source, MemoryStorage())
    assert copied == CopiedRecords(
        organizations=2,
        integrations=0,
        api_keys=2,
        fields=3,
        history=3,
        administrators=2,
        omitted_credentials=0,
    )


def test_a_copy_reports_its_progress_record_by_record(source):
    progress: list[tuple[str, int, int]] = []
    copy_storage(source, MemoryStorage(), on_progress=lambda *each: progress.append(each))
    assert progress == [
        ("organizations", 1, 2),
        ("organizations", 2, 2),
        ("fields", 1, 3),
        ("fields", 2, 3),
        ("fields", 3, 3),
        ("history records", 1, 3),
        ("history records", 2, 3),
        ("history records", 3, 3),
        ("API keys", 1, 2),
        ("API keys", 2, 2),
        ("administrators", 1, 2),
        ("administrators", 2, 2),
    ]


def test_a_storage_is_not_copied_to_itself(source):
    for storage in (source, MemoryStorage()):
        with pytest.raises(CopyFailed, match="Target storage: It is the source storage") as failed:
            copy_storage(storage, storage)
        assert failed.value.role == "target"


def test_a_storage_that_does_not_support_copying_is_reported_by_its_role(source):
    other: Storage = NotTransferable()
    for role, storages in {"source": (other, source), "target": (source, other)}.items():
        with pytest.raises(CopyFailed, match="adapter does not support copying") as failed:
            copy_storage(*storages)
        assert failed.value.role == role


def test_a_target_that_is_not_empty_is_reported(source):
    with pytest.raises(CopyFailed, match="Target storage: The storage is not empty"):
        copy_storage(MemoryStorage(), source)


@pytest.mark.parametrize("step", ["identity", "snapshot", "fields"])
def test_a_source_that_fails_is_reported_and_nothing_is_stored(step):
    target = MemoryStorage()
    failing = Failing(step)
    failing.organizations.add("Ours", NOW)
    with pytest.raises(CopyFailed, match=f"Source storage: broken at {step}") as failed:
        copy_storage(failing, target)
    assert failed.value.role == "source"
    assert target.organizations.all() == ()


@pytest.mark.parametrize("step", ["identity", "store_snapshot"])
def test_a_target_that_fails_is_reported(source, step):
    with pytest.raises(CopyFailed, match=f"Target storage: broken at {step}") as failed:
        copy_storage(source, Failing(step))
    assert failed.value.role == "target"


def test_records_keep_their_order() -> None:
    assert list(Records(3, 9, [3, 1, 2])) == [3, 1, 2]


@pytest.mark.parametrize(
    "missing", ["history of fields", "API keys and integrations", "console accounts"]
)
def test_a_target_without_a_group_of_the_source_is_not_changed(missing):
    source, whole = MemoryStorage(), MemoryStorage()
    ours = source.organizations.add("Ours", NOW).id
    if missing == "console accounts":
        grant(source.administrators, ours)
    elif missing == "history of fields":
        add_field(source.fields, ours, a_definition())
    else:
        source.api_keys.add(a_grant(ours))
    target = CatalogStorage(whole)
    with pytest.raises(CopyFailed, match=f"Target storage: It has no {missing}, which") as failed:
        copy_storage(source, target)
    assert failed.value.role == "target"
    assert whole.organizations.all() == ()


def test_a_group_without_records_is_not_required_of_the_target() -> None:
    source, target = MemoryStorage(), CatalogStorage(MemoryStorage())
    ours = source.organizations.add("Ours", NOW).id
    add_field(source.fields, ours, a_definition())
    source.history.prune(ours, NOW + MILLISECOND)
    copied = copy_storage(source, target)
    counts = copied.fields, copied.history, copied.api_keys, copied.administrators
    assert counts == (1, 0, 0, 0)
    assert target.fields.all(ours) == source.fields.all(ours)
