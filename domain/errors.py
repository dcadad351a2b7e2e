"""Rules, violations, and the errors that all rooms of the domain share.

All errors derive from `RecipientFieldsError`. Each entrypoint maps the errors that can reach it in
one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from enum import Enum
from typing import ClassVar

from attrs import define, evolve, frozen

__all__ = [
    "InvalidAdministrator",
    "InvalidApiKey",
    "InvalidField",
    "InvalidInput",
    "InvalidOrganization",
    "InvalidQuery",
    "InvalidStorageUrl",
    "KeyRefused",
    "KeyValidationUnavailable",
    "RecipientFieldsError",
    "Rule",
    "StorageNotEmpty",
    "StorageNotFound",
    "StorageUnavailable",
    "Violation",
    "Violations",
]


class Rule(Enum):
    """The rules for values. Programs recognize a violation by the value of its rule."""

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

    _message: ClassVar[str] = ""
    """What errors of this class say that are raised without a message."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self._message)


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

    _message = "The storage is not empty. Choose one without organizations."


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
