"""Changes of fields, as the pages show them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from recipient_fields.application import Core
from recipient_fields.domain import (
    Author,
    Change,
    HistoryPage,
    HistoryRecord,
    MemberChange,
    OrganizationId,
    RecipientField,
    RecordedOperation,
    Source,
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
_AUTHORS = {
    Source.API: "An API client",
    Source.MANUAL: "An administrator",
    Source.INTEGRATION: "A sync",
}


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
    author: str
    """The name of the person or the API key, or what made the change."""

    @property
    def verb(self) -> str:
        """What the change did to the field."""
        return self.record.operation.value.capitalize()

    @property
    def badge(self) -> str:
        """The class of the verb's badge."""
        return _BADGES[self.record.operation]


def changes_of(core: Core, organization_id: OrganizationId, page: HistoryPage) -> list[ShownChange]:
    """Return the changes on a page of the organization's history."""
    names = key_names(core, organization_id) if page.records else {}
    return [
        ShownChange(record, differences(record), author_name(record.author, names))
        for record in page.records
    ]


def key_names(core: Core, organization_id: OrganizationId) -> Mapping[str, str]:
    """Return the names of the API keys by what the history calls them."""
    return {key.display: key.name for key in core.administration.list_keys(organization_id)}


def author_name(author: Author, names: Mapping[str, str]) -> str:
    """Return who made a change. `names` are those of the API keys."""
    if author.name is None:
        return str(author.id or _AUTHORS[author.channel.source])
    return names.get(author.name, author.name)


def differences(change: Change[RecipientField]) -> tuple[Difference, ...]:
    """Return the members that differ, or none if there was no field before or after the change."""
    if change.before is None or change.after is None:
        return ()
    return tuple(map(Difference.of, change.member_changes))
