"""The contract suite for the storage in memory."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Storage
from recipient_fields.testing import StorageContract, machine_for


class TestMemoryStorage(StorageContract):
    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        with closing(MemoryStorage()) as storage:
            yield storage


TestMemoryMachine = machine_for(lambda: closing(MemoryStorage())).TestCase
