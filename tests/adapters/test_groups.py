"""A storage without optional groups passes the contracts, and every group requires its suite."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from hypothesis import given, settings

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import HistoryStorage, Storage
from recipient_fields.testing import (
    CatalogContract,
    ConsoleContract,
    HistoryContract,
    IntegrationContract,
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
    StorageTransferContract,
    assert_storages_agree,
    machine_for,
    port_calls,
)

from ..support.catalog_storage import CatalogStorage, UnrecordedStorage


class RecordedCatalogStorage(CatalogStorage):
    """A storage with a history, and without the other groups."""

    def __init__(self, whole: HistoryStorage) -> None:
        super().__init__(whole)
        self.history = whole.history


@pytest.mark.slow
class TestCatalogStorage(CatalogContract):
    rounds = 20

    @pytest.fixture
    def storage(self) -> Storage:
        return CatalogStorage(MemoryStorage())


@pytest.mark.slow
class TestRecordedCatalogStorage(CatalogContract, HistoryContract):
    rounds = 20

    @pytest.fixture
    def storage(self) -> Storage:
        return RecordedCatalogStorage(MemoryStorage())


@pytest.mark.slow
class TestUnrecordedStorage(CatalogContract, IntegrationContract, ConsoleContract):
    rounds = 20

    @pytest.fixture
    def storage(self) -> Storage:
        return UnrecordedStorage(MemoryStorage())


TestCatalogMachine = machine_for(lambda: closing(CatalogStorage(MemoryStorage()))).TestCase
TestCatalogMachine.settings = settings(max_examples=20)


@settings(max_examples=20)
@given(port_calls())
def test_calls_for_groups_that_one_storage_does_not_have_are_not_compared(calls):
    assert_storages_agree(CatalogStorage(MemoryStorage()), MemoryStorage(), calls)


class TestCatalogDurability(StorageDurabilityContract):
    rounds = 5

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Callable[[], AbstractContextManager[Storage]]:
        return lambda: closing(CatalogStorage(SqliteStorage(tmp_path / "fields.db")))


class TestCatalogOutage(StorageOutageContract):
    @pytest.fixture
    def broken_storage(self, tmp_path: Path) -> Storage:
        storage = SqliteStorage(tmp_path / "fields.db")
        storage.close()
        return CatalogStorage(storage)


class TestCatalogTransfer(StorageTransferContract):
    @pytest.fixture(params=["from", "to", "between"])
    def source(self, request: pytest.FixtureRequest) -> Storage:
        return MemoryStorage() if request.param == "to" else CatalogStorage(MemoryStorage())

    @pytest.fixture
    def target(self, request: pytest.FixtureRequest, source: Storage) -> Storage:
        is_from = request.node.callspec.params["source"] == "from"
        return MemoryStorage() if is_from else CatalogStorage(MemoryStorage())


class KeysWithoutIntegrations(CatalogStorage):
    def __init__(self) -> None:
        whole = MemoryStorage()
        super().__init__(whole)
        self.api_keys = whole.api_keys


class RecordedAndConsole(CatalogContract, HistoryContract, ConsoleContract):
    pass


@pytest.mark.parametrize(
    ("suites", "storage", "message"),
    [
        (CatalogContract, MemoryStorage(), "has history of fields, so use HistoryContract"),
        (RecordedAndConsole, MemoryStorage(), "so use IntegrationContract"),
        (IntegrationContract, MemoryStorage(), "use CatalogContract"),
        (StorageContract, UnrecordedStorage(MemoryStorage()), "no history of fields, so do"),
        (CatalogContract, KeysWithoutIntegrations(), "has api_keys, but not integrations"),
    ],
)
def test_suites_other_than_those_of_the_groups_of_the_storage_are_reported(
    suites, storage, message
):
    case = suites.test_the_suites_of_exactly_the_groups_of_the_storage_are_used
    with pytest.raises(AssertionError, match=message):
        case(suites(), storage)
