"""The documents of violations."""

from __future__ import annotations

from recipient_fields.domain import Violation
from recipient_fields.domain.conditions import LocatedViolation


def render_violation(violation: Violation) -> dict[str, object]:
    """Return the violation with its path as a JSON pointer (RFC 6901).

    A violation in a text also has its line and its column.
    """
    document: dict[str, object] = {
        "pointer": "".join(f"/{_escaped(step)}" for step in violation.path),
        "code": violation.rule.value,
        "message": violation.message,
    }
    if isinstance(violation, LocatedViolation):
        document |= {"line": violation.position.line, "column": violation.position.column}
    if violation.suggestion is not None:
        document["suggestion"] = violation.suggestion
    return document


def _escaped(step: str | int) -> str:
    """Return one step of a JSON pointer (RFC 6901, section 3)."""
    return str(step).replace("~", "~0").replace("/", "~1")
