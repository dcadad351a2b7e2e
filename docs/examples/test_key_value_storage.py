"""The contract of the fields, for the storage to start from."""

import pytest
from key_value_storage import KeyValueStorage

from recipient_fields.adapters.contract import FieldRepositoryContract
from recipient_fields.application import Storage


class TestKeyValueStorage(FieldRepositoryContract):
    """Replace the contract by StorageContract when all ports are written."""

    @pytest.fixture
    def storage(self) -> Storage:
        """Return the storage that every case judges."""
        return KeyValueStorage({})
