"""The errors of the domain.

All of them derive from `RecipientFieldsError`. They contain nothing about HTTP: each entrypoint
maps the errors that can reach it to responses in one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from enum import Enum
from typing import TYPE_CHECKING

from attrs import define, evolve, frozen

if TYPE_CHECKING:
    from .fields.values import FieldKey
    from .identity import FieldId


class Rule(Enum):
    """The rules for values. The enum values are the HTTP contract's member codes (section 6)."""

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
    TOO_LARGE = "too_large"
    DUPLICATE_ITEM = "duplicate_item"
    NOT_APPLICABLE = "not_applicable"
    INVALID_CHARACTERS = "invalid_characters"
    MISMATCH = "mismatch"


@frozen
class Violation:
    """One broken rule: the rule, the path of the invalid value, and a message that corrects it.

    The path is relative to the value that was validated: `("allowed_values", 3)`. The message
    never contains the invalid value.
    """

    rule: Rule
    message: str
    path: tuple[str | int, ...] = ()
    suggestion: str | None = None

    def prefixed(self, *prefix: str | int) -> Violation:
        """Return this violation with the prefix before its path."""
        return evolve(self, path=(*prefix, *self.path))


class RecipientFieldsError(Exception):
    """The base class of all errors that this package raises."""


class InvalidInput(RecipientFieldsError):
    """A value breaks one or more rules. `violations` contains all of them."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__(" ".join(_sentence(violation) for violation in self.violations))


class Violations(list[Violation]):
    """A list of the violations of several values, to report all of them at once."""

    def collect(self, *prefix: str | int) -> AbstractContextManager[None]:
        """Return a context manager that catches InvalidInput and adds its violations to this list.

        The prefix is added before the path of each violation.
        """
        return _Collector(self, prefix)


@define  # `frozen` or `contextmanager` would take twice the CPU, and each request enters many.
class _Collector:
    _violations: Violations
    _prefix: tuple[str | int, ...]

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> bool:
        if not isinstance(error, InvalidInput):
            return False
        self._violations.extend(each.prefixed(*self._prefix) for each in error.violations)
        return True


class InvalidField(InvalidInput):
    """The values for a recipient field break its rules."""


class InvalidQuery(InvalidInput):
    """A query, or a position in a query, has an invalid member."""


class InvalidApiKey(InvalidInput):
    """The values for an API key break its rules."""


class InvalidOrganization(InvalidInput):
    """The values for an organization break its rules."""


class InvalidAdministrator(InvalidInput):
    """The email address or the password of an administrator breaks its rules."""


class FieldNotFound(RecipientFieldsError):
    """The organization has no such field. The field of another organization counts as missing."""

    def __init__(self) -> None:
        super().__init__("There is no such recipient field in this organization.")


class BeforeHistory(RecipientFieldsError):
    """The history of the organization does not go back that far.

    It has no record up to the instant, or records after the position of a page were removed.
    """

    def __init__(
        self,
        message: str = "The history of this organization has no record up to this time. Use a later"
        " time, or list the current fields.",
    ) -> None:
        super().__init__(message)


class HistoryRemoved(RecipientFieldsError):
    """The history has no deletion of the field, but its oldest records were removed."""

    def __init__(self) -> None:
        super().__init__(
            "The oldest records of this organization's history were removed, and the others contain"
            " no deletion of this field. Create the field again."
        )


class OrganizationNotFound(RecipientFieldsError):
    """The organization does not exist."""

    def __init__(self) -> None:
        super().__init__("There is no such organization.")


class OrganizationChanged(RecipientFieldsError):
    """The organization's contents differ from those that the caller expects."""

    def __init__(self) -> None:
        super().__init__("The organization's contents have changed. Read them again and retry.")


class ApiKeyNotFound(RecipientFieldsError):
    """The organization has no such API key. The key of another organization counts as missing."""

    def __init__(self) -> None:
        super().__init__("There is no such API key in this organization.")


class ApiKeyNotActive(RecipientFieldsError):
    """The API key can't be rotated because it is expired or revoked."""

    def __init__(self) -> None:
        super().__init__("This API key is no longer active. Create a new one instead.")


class DigestTaken(RecipientFieldsError):
    """The storage already has an API key with this digest, in any organization."""

    def __init__(self) -> None:
        super().__init__("This API key is already stored. Generate another one.")


class AdministratorNotFound(RecipientFieldsError):
    """There is no such administrator, or not in this organization."""

    def __init__(self) -> None:
        super().__init__("There is no such administrator.")


class AdministratorShared(RecipientFieldsError):
    """The account belongs to another organization too, so only the operator may change it."""

    def __init__(self) -> None:
        super().__init__(
            "This account belongs to another organization too. Ask the operator of the service to"
            " reset its password."
        )


class InvitationNotFound(RecipientFieldsError):
    """The organization has no such invitation: it was accepted or withdrawn, or never existed."""

    def __init__(self) -> None:
        super().__init__("There is no such invitation. It can have been accepted or withdrawn.")


class LastAdministrator(RecipientFieldsError):
    """The change would leave the organization without an administrator in the role `admin`."""

    def __init__(self) -> None:
        super().__init__(
            "An organization needs at least one administrator with the role admin."
            " Give another administrator this role first."
        )


class SignInFailed(RecipientFieldsError):
    """The account does not exist, has no password, or has another password.

    The message is the same in all three cases, so that it does not reveal which accounts exist.
    """

    def __init__(self) -> None:
        super().__init__(
            "The email address or the password is not correct. Check both and try again."
        )


class SignInThrottled(RecipientFieldsError):
    """There were too many sign-in attempts. `retry_after` is in seconds, at least 1."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        minutes = -(-retry_after // 60)
        unit = "minute" if minutes == 1 else "minutes"
        super().__init__(f"Too many sign-in attempts. Try again in {minutes} {unit}.")


class PasswordHashingBusy(RecipientFieldsError):
    """The process already hashes as many passwords as it may. `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__("Too many people sign in at the moment. Try again in a few seconds.")


class LinkNotValid(RecipientFieldsError):
    """There is no such link: it was used or replaced, it has expired, or it is mistyped."""

    def __init__(self) -> None:
        super().__init__("This link was used already or has expired. Ask for a new one.")


class KeyTaken(RecipientFieldsError):
    """The organization already has a field with this key, of any origin."""

    def __init__(
        self,
        key: FieldKey,
        existing_id: FieldId,
        message: str = "A recipient field with this key already exists. Choose another key.",
    ) -> None:
        self.key = key
        self.existing_id = existing_id
        super().__init__(message)


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
            f"The limit of {limit:,} fields of this source is reached."
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


class InsufficientAccess(RecipientFieldsError):
    """The credential is read-only."""

    def __init__(self) -> None:
        super().__init__("This API key can only read. Use a key with read and write access.")


class VersionConflict(RecipientFieldsError):
    """A precondition does not hold.

    `current` is the version tag of the field. It is None if the field does not exist, and for an
    operation of a batch that a client sent over HTTP.
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


class InvalidStorageUrl(RecipientFieldsError):
    """The storage URL is malformed, has an invalid option, or its scheme has no adapter."""


class StorageNotFound(RecipientFieldsError):
    """The storage does not exist, and the caller did not allow creating it."""


class StorageUnavailable(RecipientFieldsError):
    """The storage failed or did not respond in time.

    If only its response was lost, the change may have been stored completely, or is stored within
    seconds. `logged` is true if the storage has logged the outage, so that callers need not log
    each failed request.
    """

    def __init__(self, message: str = "", *, logged: bool = False) -> None:
        super().__init__(message)
        self.logged = logged


class StorageNotEmpty(RecipientFieldsError):
    """A copy requires an empty storage, and this one has organizations."""

    def __init__(self) -> None:
        super().__init__("The storage is not empty. Choose one without organizations.")


class KeyValidationUnavailable(RecipientFieldsError):
    """The key validator failed, so the presented key is neither accepted nor rejected."""


class KeyRefused(RecipientFieldsError):
    """A remote service rejected the API key: it is unknown, mistyped, expired or revoked.

    `explanation` is what the service says about an expired or revoked key.
    """

    def __init__(
        self, explanation: str = "The service rejected the API key of this organization."
    ) -> None:
        super().__init__(f"{explanation} Use a valid key.")


def _sentence(violation: Violation) -> str:
    path = ".".join(str(step) for step in violation.path)
    return f"{path}: {violation.message}" if path else violation.message
