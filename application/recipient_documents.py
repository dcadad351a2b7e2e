"""The documents of recipients to check: `{"recipients": [{KEY: value, …}, …]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from recipient_fields.domain import Rule, Violation, Violations

from .conversion import InvalidDocument, parse_document

MAX_CHECKED_RECIPIENTS = 1_000
"""The maximum number of recipients in one document."""


@frozen
class _Recipients:
    recipients: list[object]


def parse_recipients(document: object) -> Sequence[Mapping[str, object]]:
    """Return the recipients of the document, whose values are not checked yet.

    Raises: InvalidDocument if it has no recipients or more than 1,000, or if one is not an object.
    """
    recipients = parse_document(document, _Recipients).recipients
    violations = Violations(_count_violations(len(recipients)))
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
