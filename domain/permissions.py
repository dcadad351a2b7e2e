"""Who may do what: a field is changed only through the channel it came from.

HTTP contract, section 3. Reading is open to every channel.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from attrs import frozen

from .errors import OperationForbidden
from .origins import Channel, Origin, Source


class Operation(Enum):
    """What can be done to a field."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@frozen
class Allowed:
    """The channel may do it."""


@frozen
class Denied:
    """The channel may not do it; `reason` is a sentence for the one who asked."""

    reason: str


Decision: TypeAlias = Allowed | Denied


def decide(channel: Channel, operation: Operation, origin: Origin) -> Decision:
    """May the channel do this to a field of that origin?"""
    if operation is Operation.READ or channel.owns(origin):
        return Allowed()
    return Denied(f"{_FIELDS_ARE[origin.source]}, not {channel.by}.")


def require(channel: Channel, operation: Operation, origin: Origin) -> None:
    """OperationForbidden with the reason where `decide` denies."""
    decision = decide(channel, operation, origin)
    if isinstance(decision, Denied):
        raise OperationForbidden(decision.reason)


_FIELDS_ARE = {
    Source.API: "API-managed fields are changed through the API",
    Source.MANUAL: (
        "Manual fields are changed by administrators, in the web application or on the command line"
    ),
    Source.INTEGRATION: (
        "Integration fields are changed in the email service provider and by the next sync"
    ),
}
