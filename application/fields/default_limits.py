"""The limits of services that are created without others."""

from __future__ import annotations

__all__ = ["DEFAULT_CATALOG_SIZE", "DEFAULT_FIELD_LIMIT"]

DEFAULT_FIELD_LIMIT = 1_000
"""The default maximum of API-managed fields per organization."""

DEFAULT_CATALOG_SIZE = 8 * 1024 * 1024
"""The default maximum of the bytes of the list of all fields of an organization."""
