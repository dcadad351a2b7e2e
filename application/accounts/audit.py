"""The audit log: one record for each change that grants or ends access."""

from __future__ import annotations

import logging

from recipient_fields.domain import ADMINISTRATOR, Author

__all__ = ["AUDIT", "OPERATOR", "OPERATOR_AUTHOR"]

AUDIT = "recipient_fields.audit"
"""The name of the audit logger.

It logs the creation, rotation and revocation of API keys, the deletion of organizations, the
pruning of histories, the names that are set for fields at integrations, and the invitation,
revocation and sign-ins of administrators. No record
contains a key, a password, a token or the email address of an unknown account, except those of
invitations.
"""

OPERATOR = "operator"
"""The name of `OPERATOR_AUTHOR`. No administrator has it: it is no email address."""

SERVICE = "service"
"""The author of what the service does by itself."""

OPERATOR_AUTHOR = Author(ADMINISTRATOR, name=OPERATOR)
"""The author of changes on the command line."""

_audit = logging.getLogger(AUDIT)


def audit(subject: str, act: str, *, by: str | None, **facts: object) -> None:
    """Log one record: `by` has done `act` to the subject, such as "created" to "API key 7".

    `by` is the name of the author, or None if it is unknown. The record also contains the other
    facts, with their names.
    """
    facts = {"by": by or "unknown", **facts}
    text = ", ".join(f"{name} {value}" for name, value in facts.items())
    _audit.info("%s %s: %s", subject, act, text, extra={"facts": {"act": act, **facts}})
