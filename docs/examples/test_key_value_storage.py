"""Run the contract suite for fields on the skeleton."""

import pytest
from key_value_storage import KeyValueStorage

from recipient_fields.application import Storage
from recipient_fields.testing import FieldRepositoryContract


class TestKeyValueStorage(FieldRepositoryContract):
    """Replace this contract by CatalogContract when the organizations are replaced."""

    @pytest.fixture
    def storage(self) -> Storage:
        """Return the storage to test."""
        return KeyValueStorage({})
