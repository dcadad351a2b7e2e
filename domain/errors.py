"""What can go wrong, as facts.

Every error descends from `RecipientFieldsError`. An entrypoint maps those that can reach it to
answers in one table; no error knows HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from enum import Enum
from typing import TYPE_CHECKING

from attrs import define, evolve, frozen

if TYPE_CHECKING:
    from .identity import FieldId
    from .values import FieldKey


class Rule(Enum):
    """The rules a value can break; the values are the HTTP contract's member codes (section 6)."""

    REQUIRED = "required"
    TYPE = "type"
    UNKNOWN_VALUE = "unknown_value"
    OUT_OF_RANGE = "out_of_range"
    BLANK = "blank"
    TOO_LONG = "too_long"
    FORMAT = "format"
    RESERVED = "reserved"
    IMMUTABLE = "immutable"
    READ_ONLY = "read_only"
    UNKNOWN_FIELD = "unknown_field"
    EMPTY = "empty"
    TOO_MANY_ITEMS = "too_many_items"
    DUPLICATE_ITEM = "duplicate_item"
    NOT_APPLICABLE = "not_applicable"
    INVALID_CHARACTERS = "invalid_characters"
    MISMATCH = "mismatch"


@frozen
class Violation:
    """One broken rule: which, where, and a sentence that says what would be right.

    `path` leads from the judged value to the culprit, e.g. `("allowed_values", 3)`. The message
    never repeats the value.
    """

    rule: Rule
    message: str
    path: tuple[str | int, ...] = ()
    suggestion: str | None = None

    def under(self, *outer: str | int) -> Violation:
        """The same violation seen from further out."""
        return evolve(self, path=(*outer, *self.path))


class RecipientFieldsError(Exception):
    """The root of every error this package raises on purpose."""


class InvalidInput(RecipientFieldsError):
    """A value breaks one rule or several; all of them are in `violations`."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__(" ".join(_sentence(violation) for violation in self.violations))


class Violations(list[Violation]):
    """Gathers the violations of several values, so that all of them are told at once."""

    def under(self, *path: str | int) -> AbstractContextManager[None]:
        """A context that gathers what its block finds invalid, seen from further out."""
        return _Gathering(self, path)


@define  # Not frozen, which would cost twice the CPU, as would `contextmanager`: bodies enter many.
class _Gathering:
    """The block's violations go to those, seen from further out."""

    _violations: Violations
    _path: tuple[str | int, ...]

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> bool:
        if not isinstance(error, InvalidInput):
            return False
        self._violations.extend(violation.under(*self._path) for violation in error.violations)
        return True


class InvalidField(InvalidInput):
    """What is asked of a recipient field breaks its rules."""


class InvalidQuery(InvalidInput):
    """A query, or a position in one, makes no sense: whoever has written it is to correct it."""


class InvalidApiKey(InvalidInput):
    """What is asked of an API key breaks its rules."""


class InvalidOrganization(InvalidInput):
    """What is asked of an organization breaks its rules."""


class FieldNotFound(RecipientFieldsError):
    """The organization has no such field. Another organization's field is not found either."""

    def __init__(self) -> None:
        super().__init__("There is no such recipient field in this organization.")


class OrganizationNotFound(RecipientFieldsError):
    """There is no such organization."""

    def __init__(self) -> None:
        super().__init__("There is no such organization.")


class OrganizationChanged(RecipientFieldsError):
    """The organization's contents differ from those the caller expects."""

    def __init__(self) -> None:
        super().__init__("The organization's contents have changed. Read them again and retry.")


class ApiKeyNotFound(RecipientFieldsError):
    """The organization has no such API key. Another organization's key is not found either."""

    def __init__(self) -> None:
        super().__init__("There is no such API key in this organization.")


class ApiKeyNotActive(RecipientFieldsError):
    """The API key is expired or revoked, so it can't be rotated."""

    def __init__(self) -> None:
        super().__init__("This API key is no longer active. Create a new one instead.")


class DigestTaken(RecipientFieldsError):
    """The storage already has an API key with this digest, in whichever organization."""

    def __init__(self) -> None:
        super().__init__("This API key is already stored. Generate another one.")


class KeyTaken(RecipientFieldsError):
    """The organization already has a field with this key, of whatever origin."""

    def __init__(self, key: FieldKey, existing_id: FieldId) -> None:
        self.key = key
        self.existing_id = existing_id
        super().__init__("A recipient field with this key already exists. Choose another key.")


class FieldLimitReached(RecipientFieldsError):
    """The organization has as many fields of this source as it may have."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"The limit of {limit:,} fields of this source is reached."
            " Delete one that is not needed."
        )


class OperationForbidden(RecipientFieldsError):
    """The channel may not do this to a field of that origin; the message is the rule's sentence."""


class InsufficientAccess(RecipientFieldsError):
    """The credential may only read."""

    def __init__(self) -> None:
        super().__init__("This API key can only read. Use a key with read and write access.")


class VersionConflict(RecipientFieldsError):
    """A precondition does not hold; `current` is the tag of the field, or None if none exists."""

    def __init__(
        self,
        current: str | None,
        message: str = "The field is not in the expected version. Read it again and retry.",
    ) -> None:
        self.current = current
        super().__init__(message)


class InvalidStorageUrl(RecipientFieldsError):
    """The storage URL is malformed, has a wrong option, or no adapter supports its scheme."""


class StorageNotFound(RecipientFieldsError):
    """The storage does not exist, and the caller has asked not to create it."""


class StorageUnavailable(RecipientFieldsError):
    """The storage failed or did not answer in time.

    A change may have happened, whole, where only the answer was lost. `logged` is true if the
    storage has logged the outage, so that callers need not log each request that it fails.
    """

    def __init__(self, message: str = "", *, logged: bool = False) -> None:
        super().__init__(message)
        self.logged = logged


class StorageNotEmpty(RecipientFieldsError):
    """A copy needs an empty storage, and this one has organizations."""

    def __init__(self) -> None:
        super().__init__("The storage is not empty. Choose one without organizations.")


class KeyValidationUnavailable(RecipientFieldsError):
    """Whether the presented key is valid can't be told at the moment."""


class KeyRefused(RecipientFieldsError):
    """A remote service does not take the API key: it is unknown, mistyped, expired or revoked."""

    def __init__(self) -> None:
        super().__init__(
            "The service does not accept this organization's API key. Give a valid one."
        )


def _sentence(violation: Violation) -> str:
    where = ".".join(str(step) for step in violation.path)
    return f"{where}: {violation.message}" if where else violation.message
