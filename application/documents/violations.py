"""The documents of violations."""

from __future__ import annotations

from attrs import field, frozen

from recipient_fields.domain import UNCHANGED, FieldKey, Rule, Unchanged, Violation
from recipient_fields.domain.conditions import LocatedViolation

from .schemas import described, omittable, render_document
from .value_schemas import ID

_FAILURES = (
    "key_already_exists",
    "not_found",
    "forbidden",
    "field_limit_reached",
    "catalog_too_large",
    "precondition_failed",
)
"""The codes of details that are no violation, but describe a failed operation as a whole."""


@frozen(kw_only=True)
class ErrorDetailDocument:
    """A violation of one rule, or an operation of a batch that failed."""

    pointer: str = field(
        metadata=described(
            'The place in the body (RFC 6901). `""` is the whole body.',
            pattern="^(?:/(?:[^~/]|~[01])*)*$",
        )
    )
    code: str = field(metadata=described(enum=[*(rule.value for rule in Rule), *_FAILURES]))
    message: str = field(metadata=described(minLength=1))
    line: int | Unchanged = omittable("The line, if the violation is in a text. From 1.", ID)
    column: int | Unchanged = omittable("The column, in characters. From 1.", ID)
    suggestion: str | Unchanged = omittable("A value that is probably meant.")
    existing_id: int | Unchanged = omittable("The id of the field that has this key.", ID)
    existing_key: FieldKey | Unchanged = omittable("This key.")
    limit: int | Unchanged = omittable("As in `error.limit`.", minimum=0)
    used: int | Unchanged = omittable(
        "The size of the list of all fields before the operation, in bytes.", minimum=0
    )
    reason: str | Unchanged = omittable(
        "Why an operation is forbidden, as in `error.reason`.", minLength=1
    )


def violation_document(violation: Violation) -> ErrorDetailDocument:
    """Return the violation with its path as a JSON pointer (RFC 6901).

    A violation in a text also has its line and its column.
    """
    position = violation.position if isinstance(violation, LocatedViolation) else None
    return ErrorDetailDocument(
        pointer="".join(f"/{_escaped(step)}" for step in violation.path),
        code=violation.rule.value,
        message=violation.message,
        line=UNCHANGED if position is None else position.line,
        column=UNCHANGED if position is None else position.column,
        suggestion=UNCHANGED if violation.suggestion is None else violation.suggestion,
    )


def render_violation(violation: Violation) -> dict[str, object]:
    """Return the members of the violation's document."""
    return render_document(violation_document(violation))


def _escaped(step: str | int) -> str:
    """Return one step of a JSON pointer (RFC 6901, section 3)."""
    return str(step).replace("~", "~0").replace("/", "~1")
