"""Fields that are in no storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..arguments import require_type
from ..errors import InvalidField, Rule, Violation
from ..identity import FieldId, OrganizationId
from ..instants import from_epoch_milliseconds
from .field import FieldDraft, RecipientField
from .origins import API
from .values import FieldKey

__all__ = ["define_fields"]


def define_fields(drafts: Iterable[FieldDraft]) -> tuple[RecipientField, ...]:
    """Return the fields of the drafts without a storage, for content, conditions and recipients.

    They are API-managed fields of one organization, with the ids 1, 2 and so on.

    Raises: InvalidField if drafts have the key of an earlier one.
    """
    require_type(Iterable, drafts=drafts)
    drafts = tuple(drafts)
    violations = list(_repeated_keys(drafts))
    if violations:
        raise InvalidField(violations)
    created_at = from_epoch_milliseconds(0)
    return tuple(
        draft.define(by=API, at=created_at).with_id(FieldId(number), OrganizationId(1))
        for number, draft in enumerate(drafts, start=1)
    )


def _repeated_keys(drafts: Iterable[FieldDraft]) -> Iterator[Violation]:
    keys: set[FieldKey] = set()
    for index, draft in enumerate(drafts):
        require_type(FieldDraft, **{f"drafts[{index}]": draft})
        if draft.key in keys:
            message = "An earlier draft has this key. Choose another key."
            yield Violation(Rule.DUPLICATE_ITEM, message, (str(index), "key"))
        keys.add(draft.key)
