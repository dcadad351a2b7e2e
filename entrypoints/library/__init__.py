"""The definitions of the recipient fields that email teams personalize content with.

These are the names that an embedding application needs first. They require no extra. The packages
`domain`, `application`, `adapters` and `entrypoints` have the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .adapters.memory import MemoryStorage
    from .adapters.sqlite import SqliteStorage
    from .application import Core, render_field
    from .domain import (
        ADMINISTRATOR,
        Access,
        Author,
        CatalogTooLarge,
        Credential,
        DataType,
        FieldChanges,
        FieldDraft,
        FieldLimitReached,
        FieldNotFound,
        FieldQuery,
        InvalidField,
        KeyTaken,
        OperationForbidden,
        OrganizationId,
        RecipientField,
        RecipientFieldsError,
        Rejection,
        RejectionReason,
        StorageUnavailable,
        VersionConflict,
    )
    from .entrypoints.service.selection import open_storage

    __version__: str

__all__ = [
    "ADMINISTRATOR",
    "Access",
    "Author",
    "CatalogTooLarge",
    "Core",
    "Credential",
    "DataType",
    "FieldChanges",
    "FieldDraft",
    "FieldLimitReached",
    "FieldNotFound",
    "FieldQuery",
    "InvalidField",
    "KeyTaken",
    "MemoryStorage",
    "OperationForbidden",
    "OrganizationId",
    "RecipientField",
    "RecipientFieldsError",
    "Rejection",
    "RejectionReason",
    "SqliteStorage",
    "StorageUnavailable",
    "VersionConflict",
    "__version__",
    "open_storage",
    "render_field",
]

_OUTSIDE_THE_DOMAIN = {
    "Core": "application",
    "MemoryStorage": "adapters.memory",
    "SqliteStorage": "adapters.sqlite",
    "open_storage": "entrypoints.service.selection",
    "render_field": "application",
}

if not TYPE_CHECKING:  # Otherwise, type checkers would accept every name.

    def __getattr__(name: str) -> object:
        """Import the name when it is first used: other imports need not load all packages."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "__version__":
            from importlib.metadata import version

            value = version("recipient-fields")
        else:
            module = _OUTSIDE_THE_DOMAIN.get(name, "domain")
            value = getattr(import_module(f".{module}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
