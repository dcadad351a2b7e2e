"""The errors and warnings of content."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from attrs import frozen

from ..conditions import LocatedViolation, TextPosition
from ..errors import InvalidInput
from .warning_codes import WarningCode

__all__ = ["ContentWarning", "InvalidContent"]

MAX_VIOLATIONS = 1_000
"""The number of violations after which content is not checked any further."""
MAX_WARNINGS = 1_000
"""The maximum number of places with warnings in one content. Mistakes have priority."""


class InvalidContent(InvalidInput):
    """Content can't be parsed, does not fit the fields, or can't be exported for an ESP.

    `violations` contains the reasons, up to 1,000, each with its position in the content.
    """

    def __init__(self, violations: Iterable[LocatedViolation]) -> None:
        ordered = sorted(violations, key=attrgetter("position"))
        super().__init__(ordered)
        self.violations: tuple[LocatedViolation, ...] = tuple(ordered)


@frozen
class ContentWarning:
    """A place in the content that its writer should check, and the reason.

    The line and the column begin at 1. `places` are the other places of a caveat: it is reported
    once, at its first place.
    """

    line: int
    column: int
    message: str
    code: WarningCode
    places: tuple[TextPosition, ...] = ()

    @property
    def position(self) -> TextPosition:
        """The line and the column."""
        return TextPosition(self.line, self.column)
