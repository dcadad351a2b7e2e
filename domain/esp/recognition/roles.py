"""What tags show, and the names in them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from attrs import frozen

__all__ = ["TagRole"]


class TagRole(Enum):
    """What a tag shows."""

    FIELD = "field"
    """A field of the recipient."""
    SYSTEM = "system"
    """A link, or data of the sender, the account or the message."""
    EVENT = "event"
    """Data of the event or message that caused the send."""
    NESTED = "nested"
    """A member of an object or list."""
    ASSIGNED = "assigned"
    """A local variable, or its assignment."""
    LOOP = "loop"
    """The begin or end of a loop, or its state."""
    NONE = "none"
    """No value."""


@frozen
class Reading:
    """What a tag shows for one dialect, and the names of fields and of system values in it."""

    role: TagRole
    names: tuple[str, ...] = ()
    system_names: tuple[str, ...] = ()


def reading_of(
    found: Iterable[tuple[TagRole, str]], otherwise: TagRole, *, only: TagRole | None = None
) -> Reading:
    """Return the reading of a tag with these values. Fields come first, then system values.

    `otherwise` is the role of a tag without a field, a system value, an event or a nested value.
    `only` is the role of a tag that shows none of its values, such as a loop.
    """
    values = list(found)
    roles = {role for role, _ in values}
    order = (TagRole.FIELD, TagRole.SYSTEM, TagRole.EVENT, TagRole.NESTED)
    role = only or next((each for each in order if each in roles), otherwise)
    names, system_names = (
        tuple(dict.fromkeys(name for role, name in values if role is wanted))
        for wanted in (TagRole.FIELD, TagRole.SYSTEM)
    )
    return Reading(role, names, system_names)
