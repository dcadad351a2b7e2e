"""The stored administrators of an application."""

from __future__ import annotations

from recipient_fields.application import AdministratorRepository, ConsoleStorage, Core


def administrators_of(core: Core) -> AdministratorRepository:
    """Return the repository of administrators, to store one without an invitation."""
    assert isinstance(core.storage, ConsoleStorage)
    return core.storage.administrators
