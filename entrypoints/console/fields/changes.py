"""Changes of fields, as the pages show them."""

from __future__ import annotations

from attrs import frozen

from recipient_fields.domain import (
    Change,
    HistoryPage,
    HistoryRecord,
    MemberChange,
    RecipientField,
    RecordedOperation,
)

from .forms import LABELS, shown

_SHOWN_VALUES = 5
"""Added or removed allowed values of a change."""

_BADGES = {
    RecordedOperation.CREATED: "ok",
    RecordedOperation.UPDATED: "",
    RecordedOperation.DELETED: "danger-badge",
    RecordedOperation.RESTORED: "ok",
}
"""The class of each operation's badge."""


@frozen(kw_only=True)
class Difference:
    """A changed member, as texts. Both lists are empty if only the order of a list changed."""

    label: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_list: bool
    more: int = 0
    """Values that are not shown."""

    @classmethod
    def of(cls, change: MemberChange) -> Difference:
        """Return the difference that shows a changed member."""
        label = LABELS.get(change.member, change.member)
        if not change.is_list:
            removed, added = (shown(change.before),), (shown(change.after),)
            return cls(label=label, removed=removed, added=added, is_list=False)
        return cls(
            label=label,
            removed=tuple(map(shown, change.removed[:_SHOWN_VALUES])),
            added=tuple(map(shown, change.added[:_SHOWN_VALUES])),
            is_list=True,
            more=sum(max(len(v) - _SHOWN_VALUES, 0) for v in (change.removed, change.added)),
        )


@frozen
class ShownChange:
    """A record of the history."""

    record: HistoryRecord
    differences: tuple[Difference, ...]

    @classmethod
    def of(cls, record: HistoryRecord) -> ShownChange:
        """Return the change that shows a record."""
        return cls(record, differences(record))

    @property
    def verb(self) -> str:
        """What the change did to the field."""
        return self.record.operation.value.capitalize()

    @property
    def badge(self) -> str:
        """The class of the verb's badge."""
        return _BADGES[self.record.operation]


def changes_of(page: HistoryPage) -> list[ShownChange]:
    """Return the changes on a page of the history."""
    return [ShownChange.of(record) for record in page.records]


def differences(change: Change[RecipientField]) -> tuple[Difference, ...]:
    """Return the members that differ, or none if there was no field before or after the change."""
    if change.before is None or change.after is None:
        return ()
    return tuple(map(Difference.of, change.member_changes))
