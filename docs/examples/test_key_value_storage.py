"""The contract of the fields, for the storage to start from."""

import pytest
from key_value_storage import KeyValueStorage

from recipient_fields.application import Storage
from recipient_fields.testing import FieldRepositoryContract


class TestKeyValueStorage(FieldRepositoryContract):
    """Replace the contract by StorageContract when all ports are written."""

    @pytest.fixture
    def storage(self) -> Storage:
        """Return the storage that every case judges."""
        return KeyValueStorage({})
