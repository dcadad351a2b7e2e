"""The comparison of a field before and after a change."""

from __future__ import annotations

from attrs import frozen

from ..arguments import require_type
from .field import RecipientField
from .members import FIELD_MEMBERS, member_reader

__all__ = ["MemberChange", "changed_members"]


@frozen
class MemberChange:
    """A member of a field before and after a change.

    `member` is its name. Allowed values are a tuple, other values are scalars. A value is None if
    the member is null, or if there was no field.
    """

    member: str
    before: object
    after: object

    @property
    def is_list(self) -> bool:
        """Whether the member is a list before or after the change."""
        return isinstance(self.before, tuple) or isinstance(self.after, tuple)

    @property
    def removed(self) -> tuple[object, ...]:
        """The values before the change that are missing after it. A scalar is one value."""
        return _missing(self.before, self.after)

    @property
    def added(self) -> tuple[object, ...]:
        """The values after the change that are missing before it.

        If a list has neither removed nor added values, its order has changed.
        """
        return _missing(self.after, self.before)


def changed_members(
    before: RecipientField | None, after: RecipientField | None
) -> tuple[MemberChange, ...]:
    """Return the members that differ, in a fixed order.

    If a field is None, the members of the other one that are not null differ. The id and the times
    are not compared.
    """
    require_type(RecipientField | None, before=before, after=after)
    old = {} if before is None else _compared(before)
    new = {} if after is None else _compared(after)
    changes = [MemberChange(name, old.get(name), new.get(name)) for name in {**old, **new}]
    return tuple(each for each in changes if each.before != each.after)


def _missing(values: object, others: object) -> tuple[object, ...]:
    """Return the first values that are not among the others, in order."""
    known = set(_items(others))
    return tuple(each for each in _items(values) if each not in known)


def _items(value: object) -> tuple[object, ...]:
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


_compared = member_reader(
    each for each in FIELD_MEMBERS if each.name not in {"id", "created_at", "updated_at"}
)
"""Returns the compared members of a field, in the order of the API's documents."""
