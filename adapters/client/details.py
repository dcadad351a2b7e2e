"""The violations in responses of a service: the details of errors, and those of previews."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

from recipient_fields.domain import FieldId, FieldKey, Rule, Violation
from recipient_fields.domain.conditions import LocatedViolation, TextPosition

_INDEX = re.compile(r"0|[1-9][0-9]{0,6}")


@frozen
class Detail:
    """A violation, or a failed operation of a batch."""

    pointer: str
    code: str
    message: str
    line: int | None = None
    column: int | None = None
    suggestion: str | None = None
    existing_id: FieldId | None = None
    existing_key: FieldKey | None = None
    limit: int | None = None
    used: int | None = None

    def to_violation(self) -> Violation:
        """Return the violation. Its path is relative to the member of the body that it is about."""
        return Violation(_rule(self.code), self.message, _path(self.pointer), self.suggestion)

    def to_located_violation(self) -> LocatedViolation:
        """Return the violation at its place in the content, or at its beginning without a place."""
        position = TextPosition(self.line or 1, self.column or 1)
        reason = self.message.removeprefix(f"{position}: ")
        return position.locate(Violation(_rule(self.code), reason, suggestion=self.suggestion))


def _rule(code: str) -> Rule:
    try:
        return Rule(code)
    except ValueError:  # A later version of the service has added the code.
        return Rule.FORMAT


def _path(pointer: str) -> tuple[str | int, ...]:
    """Return the path in a JSON pointer, without the root. Below a member, digits are an index."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[2:]]
    path: list[Any] = steps[:1]
    path += [int(step) if _INDEX.fullmatch(step) else step for step in steps[1:]]
    return tuple(path)
