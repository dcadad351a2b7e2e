"""What every adapter must pass, as a pytest suite and a Hypothesis state machine.

Whoever writes an adapter subclasses the contracts and says in a fixture what is judged:

    class TestMyStorage(StorageContract):
        @pytest.fixture
        def storage(self) -> Iterator[Storage]:
            with closing(MyStorage(...)) as storage:
                yield storage

    TestMyMachine = machine_for(lambda: closing(MyStorage(...))).TestCase

StorageOutageContract is for what can fail, StorageDurabilityContract for what outlives a process.
"""

import pytest

# Before the suite is imported, so that its assertions tell what they compared.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{topic}"
        for topic in (
            "agreement",
            "api_keys",
            "concurrency",
            "durability",
            "fields",
            "integrations",
            "isolation",
            "organizations",
            "outage",
            "queries",
            "revisions",
            "round_trip",
            "state_machine",
            "storage",
            "sync_runs",
            "uniqueness",
        )
    )
)

from .agreement import Call, Nth, assert_storages_agree, port_calls  # noqa: E402
from .concurrency import race  # noqa: E402
from .durability import StorageDurabilityContract  # noqa: E402
from .outage import READS, WRITES, StorageOutageContract  # noqa: E402
from .state_machine import StorageMachine, machine_for  # noqa: E402
from .storage import StorageContract  # noqa: E402

__all__ = [
    "READS",
    "WRITES",
    "Call",
    "Nth",
    "StorageContract",
    "StorageDurabilityContract",
    "StorageMachine",
    "StorageOutageContract",
    "assert_storages_agree",
    "machine_for",
    "port_calls",
    "race",
]
