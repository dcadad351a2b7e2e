"""Preconditions of a change: which version the field must have (RFC 9110, section 13)."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from attrs import frozen

from .errors import VersionConflict

__all__ = ["ANY_VERSION", "UNCONDITIONAL", "AnyVersion", "Precondition", "Versions"]


class AnyVersion(Enum):
    """The type of `ANY_VERSION`."""

    ANY_VERSION = "*"


ANY_VERSION: Final = AnyVersion.ANY_VERSION
"""Matches every version, like the `*` of `If-Match: *`."""

Versions: TypeAlias = frozenset[str] | AnyVersion


@frozen
class Precondition:
    """The condition of a change, like `If-Match` and `If-None-Match`.

    `match` requires that the field exists in one of these versions. `none_match` requires that it
    exists in none of them. A version is the value of `RecipientField.version_tag`.
    """

    match: Versions | None = None
    none_match: Versions | None = None

    def require(self, current: str | None) -> None:
        """Check the precondition against the version of a field, or None if there is no field.

        Raises: VersionConflict if the precondition does not hold.
        """
        if self.match is not None and not _among(current, self.match):
            raise VersionConflict(current)
        if self.excludes(current):
            if self.none_match is ANY_VERSION:
                raise VersionConflict(current, _EXISTS)
            raise VersionConflict(current)

    def excludes(self, current: str | None) -> bool:
        """Return whether `none_match` contains the version `current`."""
        return self.none_match is not None and _among(current, self.none_match)


UNCONDITIONAL = Precondition()

_EXISTS = "The field already exists. To change it, omit the condition that it must not exist."


def _among(current: str | None, versions: Versions) -> bool:
    return current is not None and (versions is ANY_VERSION or current in versions)
