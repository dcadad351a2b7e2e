"""What every adapter must pass, as pytest suites and a Hypothesis state machine.

Whoever writes a storage subclasses the contracts and says in a fixture what is judged:

    class TestMyStorage(StorageContract):
        @pytest.fixture
        def storage(self) -> Iterator[Storage]:
            with closing(MyStorage(...)) as storage:
                yield storage

    TestMyMachine = machine_for(lambda: closing(MyStorage(...))).TestCase

FieldRepositoryContract is the part for a storage whose fields alone are written so far.
StorageOutageContract is for what can fail, StorageDurabilityContract for what outlives a process,
StorageUrlContract for URLs that can't be opened.
RecipientFieldsContract is for whatever offers the use cases themselves, KeyValidatorContract for
whatever else validates API keys. `strategies` has Hypothesis strategies for everything that the
domain accepts; `port_calls` are sequences of calls of every method, for `assert_storages_agree`.

Needs the extra `testing`, and nothing else.
"""

from pkgutil import iter_modules

from recipient_fields.application.extras import requires_extra

with requires_extra("testing", "hypothesis", "pytest"):
    import pytest

    # Before the suite is imported, so that its assertions tell what they compared.
    pytest.register_assert_rewrite(
        *(f"{__name__}.{topic.name}" for topic in iter_modules(__path__))
    )

    from . import strategies
    from .agreement import Call, Nth, assert_storages_agree, port_calls
    from .concurrency import race
    from .durability import StorageDurabilityContract
    from .key_validators import EndedKey, KeyValidatorContract, ValidKey
    from .outage import READS, WRITES, StorageOutageContract
    from .service import RecipientFieldsContract
    from .state_machine import StorageMachine, machine_for
    from .storage import FieldRepositoryContract, StorageContract
    from .transfer import StorageTransferContract
    from .urls import StorageUrlContract

__all__ = [
    "READS",
    "WRITES",
    "Call",
    "EndedKey",
    "FieldRepositoryContract",
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
    "machine_for",
    "port_calls",
    "race",
    "strategies",
]
