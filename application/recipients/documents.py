"""The documents of recipients to check: `{"recipients": [{KEY: value, …}, …]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from recipient_fields.domain import UNCHANGED, Rule, Unchanged, Violation

from ..documents.conversion import InvalidDocument, bad_characters, parse_document
from ..documents.schemas import described
from ..documents.value_schemas import RECIPIENT
from ..documents.violations import ErrorDetailDocument

MAX_CHECKED_RECIPIENTS = 1_000
"""The maximum number of recipients in one document."""


@frozen
class RecipientListDocument:
    """Recipients to check."""

    recipients: list[object] = field(
        metadata=described(
            schema={
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_CHECKED_RECIPIENTS,
                "items": RECIPIENT,
            }
        )
    )


@frozen(kw_only=True)
class RecipientCheckDocument:
    """The recipient with converted values if it is valid. Otherwise, violations."""

    valid: bool
    recipient: Mapping[str, object] | Unchanged = field(
        default=UNCHANGED, metadata=described(schema=RECIPIENT)
    )
    violations: Sequence[ErrorDetailDocument] | Unchanged = field(
        default=UNCHANGED,
        metadata=described(
            "After 10,000 violations, a response has only the first one of each recipient.",
            minItems=1,
        ),
    )


@frozen
class RecipientCheckListDocument:
    """The results of the recipients, in order."""

    results: Sequence[RecipientCheckDocument]


def parse_recipients(document: object) -> Sequence[Mapping[str, object]]:
    """Return the recipients of the document, whose values are not checked yet.

    Raises: InvalidDocument if it has no recipients or more than 1,000, or if one is not an object.
    """
    # The schema checks the texts in recipients, and reports them per recipient.
    names = list(document) if isinstance(document, dict) else []
    violations = bad_characters(dict.fromkeys(names))
    if violations:
        raise InvalidDocument(violations)
    recipients = parse_document(document, RecipientListDocument).recipients
    violations += _count_violations(len(recipients))
    objects = []
    for index, recipient in enumerate(recipients[:MAX_CHECKED_RECIPIENTS]):
        if isinstance(recipient, dict):
            objects.append(recipient)
        else:
            violations.append(
                Violation(Rule.TYPE, "This must be an object.", ("recipients", index))
            )
    if violations:
        raise InvalidDocument(violations)
    return objects


def _count_violations(count: int) -> list[Violation]:
    if not count:
        return [Violation(Rule.EMPTY, "Send at least one recipient.", ("recipients",))]
    if count > MAX_CHECKED_RECIPIENTS:
        message = f"Send at most {MAX_CHECKED_RECIPIENTS:,} recipients."
        return [Violation(Rule.TOO_MANY_ITEMS, message, ("recipients",))]
    return []
