"""The errors of fields, of their history and of catalogs."""

from __future__ import annotations

from ..errors import RecipientFieldsError
from ..identity import FieldId
from .values import FieldKey

__all__ = [
    "BeforeHistory",
    "CatalogChanged",
    "CatalogTooLarge",
    "FieldLimitReached",
    "FieldNotFound",
    "HistoryRemoved",
    "KeyRepeated",
    "KeyTaken",
    "OperationForbidden",
    "VersionConflict",
]


class FieldNotFound(RecipientFieldsError):
    """The organization has no such field. The field of another organization counts as missing."""

    _message = "There is no such recipient field in this organization."


class BeforeHistory(RecipientFieldsError):
    """The history of the organization does not go back that far.

    It has no record up to the instant, or records after the position of a page were removed.
    """

    _message = (
        "The history of this organization has no record up to this time. Use a later time, or list"
        " the current fields."
    )


class HistoryRemoved(RecipientFieldsError):
    """The history has no deletion of the field, but its oldest records were removed."""

    _message = (
        "The oldest records of this organization's history were removed, and the others contain"
        " no deletion of this field. Create the field again."
    )


class KeyTaken(RecipientFieldsError):
    """The organization already has a field with this key, of any origin.

    `is_synced` is true if a new field would have the key of a synced field, which already works at
    every integration.
    """

    def __init__(
        self,
        key: FieldKey,
        existing_id: FieldId,
        message: str | None = None,
        *,
        is_synced: bool = False,
    ) -> None:
        self.key = key
        self.existing_id = existing_id
        self.is_synced = is_synced
        super().__init__(message or (_SYNCED if is_synced else _TAKEN))


_TAKEN = "A recipient field with this key already exists. Choose another key."
_SYNCED = (
    "A synced field has this key, and already works at every integration. Use it, or choose another"
    " key."
)


class KeyRepeated(RecipientFieldsError):
    """An earlier operation of the same batch creates a field with this key."""

    def __init__(self, key: FieldKey) -> None:
        self.key = key
        super().__init__("An earlier operation of this batch creates a field with this key.")


class FieldLimitReached(RecipientFieldsError):
    """The organization has reached its limit of fields of this source."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"The organization has reached its limit of {limit:,} API-managed fields."
            " Delete one that is not needed."
        )


class CatalogTooLarge(RecipientFieldsError):
    """The change would make the list of the organization's fields larger than its limit.

    `limit` and `used` are bytes of the list as JSON. `used` is its size before the change.
    """

    def __init__(self, limit: int, used: int) -> None:
        self.limit = limit
        self.used = used
        super().__init__(
            f"The list of all fields would have more than {limit:,} bytes as JSON. It has"
            f" {used:,} now. Delete fields that are not needed, or list fewer allowed values."
        )


class OperationForbidden(RecipientFieldsError):
    """The channel may not perform this operation on a field of this origin."""


class VersionConflict(RecipientFieldsError):
    """A precondition does not hold.

    `current` is the version tag of the field. It is None if the field does not exist, and for an
    operation of a batch whose result another process has reported.
    """

    def __init__(
        self,
        current: str | None,
        message: str = "The field is not in the expected version. Read it again and retry.",
    ) -> None:
        self.current = current
        super().__init__(message)


class CatalogChanged(RecipientFieldsError):
    """The catalog does not have the expected version. `current` is its version tag."""

    def __init__(self, current: str) -> None:
        self.current = current
        super().__init__("The fields have changed. Read them again and retry.")
