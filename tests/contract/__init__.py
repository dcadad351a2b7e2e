"""The tests that every adapter must pass: pytest classes and a Hypothesis state machine.

To test a storage, subclass the suites of its groups, and return the storage from a fixture:

    class TestMyStorage(CatalogContract, IntegrationContract):
        @pytest.fixture
        def storage(self) -> Iterator[Storage]:
            with closing(MyStorage(...)) as storage:
                yield storage

    TestMyMachine = machine_for(lambda: closing(MyStorage(...))).TestCase

CatalogContract is for every storage, HistoryContract for the history of fields, IntegrationContract
for API keys and integrations, and ConsoleContract for console accounts. StorageContract has all.
FieldRepositoryContract is the part of CatalogContract for a storage that implements only fields.
StorageOutageContract tests failures, StorageDurabilityContract storages that outlive a process,
StorageTransferContract copies between storages, and StorageUrlContract URLs that can't be opened.
RecipientFieldsContract tests implementations of the use cases, KeyValidatorContract validators of
API keys. `strategies` has Hypothesis strategies for all values that the domain accepts.
`port_calls` generates sequences of calls for `assert_storages_agree`.

The suite requires only the extra `testing`.
"""

from pkgutil import iter_modules

from recipient_fields.application.extras import requires_extra

with requires_extra("testing", "hypothesis", "pytest"):
    import pytest

    # Before the import of the suite, so that its assertions show the values that they compare.
    pytest.register_assert_rewrite(
        *(f"{__name__}.{topic.name}" for topic in iter_modules(__path__))
    )

    from . import strategies
    from .agreement import Call, Nth, assert_storages_agree, port_calls
    from .concurrency import race
    from .durability import StorageDurabilityContract
    from .key_validators import InactiveKey, KeyValidatorContract, ValidKey
    from .outage import READS, WRITES, StorageOutageContract, fill_for_calls
    from .service import RecipientFieldsContract
    from .state_machine import StorageMachine, machine_for
    from .storage import (
        CatalogContract,
        ConsoleContract,
        FieldRepositoryContract,
        HistoryContract,
        IntegrationContract,
        StorageContract,
    )
    from .transfer import StorageTransferContract
    from .urls import StorageUrlContract

__all__ = [
    "READS",
    "WRITES",
    "Call",
    "CatalogContract",
    "ConsoleContract",
    "FieldRepositoryContract",
    "HistoryContract",
    "InactiveKey",
    "IntegrationContract",
    "KeyValidatorContract",
    "Nth",
    "RecipientFieldsContract",
    "StorageContract",
    "StorageDurabilityContract",
    "StorageMachine",
    "StorageOutageContract",
    "StorageTransferContract",
    "StorageUrlContract",
    "ValidKey",
    "assert_storages_agree",
    "fill_for_calls",
    "machine_for",
    "port_calls",
    "race",
    "strategies",
]
