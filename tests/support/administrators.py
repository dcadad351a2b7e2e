"""The stored administrators of an application, and a cheap hasher of their passwords."""

from __future__ import annotations

import argon2

from recipient_fields.adapters.passwords import Argon2PasswordHasher
from recipient_fields.application import AdministratorRepository, ConsoleStorage, Core


def administrators_of(core: Core) -> AdministratorRepository:
    """Return the repository of administrators, to store one without an invitation."""
    assert isinstance(core.storage, ConsoleStorage)
    return core.storage.administrators


def cheap_hasher() -> Argon2PasswordHasher:
    """Return a hasher that needs 8 KiB and a few microseconds per password."""
    return Argon2PasswordHasher(argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
