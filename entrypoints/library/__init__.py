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
        define_fields,
    )
    from .domain.conditions import InvalidRecipient
    from .domain.content import InvalidContent, parse_content, preview_content
    from .domain.esp import Esp, ExportOptions, check_content, export_content
    from .domain.integrations import Conversion, ConversionOptions, FieldCodes, convert
    from .entrypoints.service.selection import open_storage

    __version__: str
    """The version of the distribution, such as `0.1.0`."""

__all__ = [
    "ADMINISTRATOR",
    "Access",
    "Author",
    "CatalogTooLarge",
    "Conversion",
    "ConversionOptions",
    "Core",
    "Credential",
    "DataType",
    "Esp",
    "ExportOptions",
    "FieldChanges",
    "FieldCodes",
    "FieldDraft",
    "FieldLimitReached",
    "FieldNotFound",
    "FieldQuery",
    "InvalidContent",
    "InvalidField",
    "InvalidRecipient",
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
    "check_content",
    "convert",
    "define_fields",
    "export_content",
    "open_storage",
    "parse_content",
    "preview_content",
    "render_field",
]

_MODULES = {
    "Conversion": "domain.integrations",
    "ConversionOptions": "domain.integrations",
    "Core": "application",
    "Esp": "domain.esp",
    "ExportOptions": "domain.esp",
    "FieldCodes": "domain.integrations",
    "InvalidContent": "domain.content",
    "InvalidRecipient": "domain.conditions",
    "MemoryStorage": "adapters.memory",
    "SqliteStorage": "adapters.sqlite",
    "check_content": "domain.esp",
    "convert": "domain.integrations",
    "export_content": "domain.esp",
    "open_storage": "entrypoints.service.selection",
    "parse_content": "domain.content",
    "preview_content": "domain.content",
    "render_field": "application",
}
"""The packages of the names that are not in `domain`."""

if not TYPE_CHECKING:  # Otherwise, type checkers would accept every name.

    def __getattr__(name: str) -> object:
        """Import the name when it is first used: other imports need not load all packages."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "__version__":
            from importlib.metadata import version

            value = version("recipient-fields")
        else:
            module = _MODULES.get(name, "domain")
            value = getattr(import_module(f".{module}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
