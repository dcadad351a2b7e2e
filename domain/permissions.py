"""Permissions: every channel reads every field, and changes only fields that came through it.

docs/concepts.md has the table.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from attrs import frozen

from .fields.errors import OperationForbidden
from .fields.origins import Channel, Origin, Source

__all__ = ["Allowed", "Decision", "Denied", "Operation", "decide", "require"]


class Operation(Enum):
    """An operation on a field."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@frozen
class Allowed:
    """The decision that the channel may perform the operation."""


@frozen
class Denied:
    """The decision that the channel may not perform the operation.

    `reason` is a sentence for the user.
    """

    reason: str


Decision: TypeAlias = Allowed | Denied


def decide(channel: Channel, operation: Operation, origin: Origin) -> Decision:
    """Return whether the channel may perform the operation on a field of this origin."""
    if operation is Operation.READ or channel.owns(origin):
        return Allowed()
    return Denied(f"{_CHANGED_WHERE[origin.source]}, not {channel.phrase}.")


def require(channel: Channel, operation: Operation, origin: Origin) -> None:
    """Check the permission. Raises: OperationForbidden with the reason if `decide` denies it."""
    decision = decide(channel, operation, origin)
    if isinstance(decision, Denied):
        raise OperationForbidden(decision.reason)


_CHANGED_WHERE = {
    Source.API: "API-managed fields are changed through the API or with a document of fields",
    Source.MANUAL: (
        "Manual fields are changed by administrators, in the console or on the command line"
    ),
    Source.INTEGRATION: (
        "Integration fields are changed in the email service provider and by the next sync"
    ),
}
