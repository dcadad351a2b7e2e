"""The data of recipients, checked against the fields of an organization."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from attrs import field, frozen

from ..arguments import require_type
from ..errors import Rule, Violation
from ..fields.protocol import Field
from ..fields.values import AllowedValues, DataType, canonical_function, canonical_value
from ..suggestions import closest_match
from ..text import character_violation, normalize_nfc
from .foreign_forms import explain

__all__ = ["CheckedRecipient", "RecipientSchema"]

T = TypeVar("T")

NOT_SET: tuple[object, ...] = (None, "")
"""The values that mean that the value is not set."""

ValueCheck: TypeAlias = Callable[[T], object]
"""Returns the canonical form of a value, or the violation of the rule that it breaks."""

_MAX_LISTED_VALUES = 10
_MAX_LISTED_LENGTH = 200
"""Characters of the values in a message. A response can contain 100,000 messages."""
_MAX_SUGGESTIONS = 20
"""Violations of a recipient. The search for a suggestion takes up to 10 ms."""
_UNKNOWN_FIELD = Violation(Rule.UNKNOWN_FIELD, "There is no recipient field with this key.")
_DECOMPOSED = (
    "It has the letters of an allowed value, but its accents are characters of their own. Write it"
    " in Unicode NFC."
)
_BAD_KEY = Violation(
    Rule.INVALID_CHARACTERS, "Remove the null character or lone surrogate from this key."
)


@frozen
class CheckedRecipient:
    """The result of a check.

    `values` contains the values that are permitted, in canonical form. `unlisted` contains those
    that are of the right type, but none of the allowed values. The path of each violation is the
    key of a field, or empty if the key itself can't be written in a document.
    """

    values: Mapping[str, object]
    violations: tuple[Violation, ...] = ()
    unlisted: Mapping[str, object] = field(factory=dict)


@frozen(kw_only=True)
class _Unlisted(Violation):
    """A value, in canonical form, is not one of the allowed values."""

    value: object


@frozen
class RecipientSchema:
    """The values that a recipient can have: for each field, values of its type, or None.

    None, a missing value and an empty text mean that the value is not set. No value is required.
    If `additional` is true, a recipient can have values without a field, which are not checked.

    `definitions` are the keys of the fields that stand for others, by the keys of these. A
    recipient has the value of such a field under one of its keys only.
    """

    fields: Mapping[str, Field]
    additional: bool = False
    definitions: Mapping[str, str] = field(factory=dict)
    _checks: Mapping[str, ValueCheck[object]] = field(init=False, eq=False, repr=False)

    @classmethod
    def of(
        cls,
        fields: Iterable[Field],
        *,
        additional: bool = False,
        definitions: Mapping[str, str] | None = None,
    ) -> RecipientSchema:
        """Return the schema of these fields."""
        return cls({str(each.key): each for each in fields}, additional, definitions or {})

    @_checks.default
    def _checks_by_key(self) -> Mapping[str, ValueCheck[object]]:
        require_type(Mapping, fields=self.fields)
        return {
            key: value_check(each, canonical_function(each.data_type))
            for key, each in self.fields.items()
        }

    def check(self, values: Mapping[str, object], *, suggest: bool = True) -> CheckedRecipient:
        """Check the values of a recipient, by the keys of their fields, and return the result.

        In canonical form, whole numbers are `int`, dates and date-times are texts like `2026-11-20`
        and `2026-11-20T09:15:00.123Z`, and a value that is not set is None. Only the first 20
        violations have suggestions of similar keys or values. If `suggest` is false, none has: this
        saves milliseconds for each violation.
        """
        return self.apply(self._checks, values, suggest=suggest)

    def apply(
        self, checks: Mapping[str, ValueCheck[T]], values: Mapping[str, T], *, suggest: bool
    ) -> CheckedRecipient:
        """Check values as `check` does, with these checks for the keys of the fields."""
        permitted: dict[str, object] = {}
        unlisted: dict[str, object] = {}
        violations: list[Violation] = []
        for key, value in values.items():
            check = checks.get(key, self.check_unknown)
            checked = None if value in NOT_SET and key in checks else check(value)
            if isinstance(checked, _Unlisted):
                unlisted[key] = checked.value
            if isinstance(checked, Violation):
                suggest = suggest and len(violations) < _MAX_SUGGESTIONS
                violations.append(self._located(checked, key, value, suggest=suggest))
            else:
                permitted[key] = checked
        if self.definitions:
            violations += self._repeated(values)
        return CheckedRecipient(permitted, tuple(violations), unlisted)

    def definition_of(self, key: str) -> str:
        """Return the key of the field that stands for this one, or the key itself."""
        return self.definitions.get(key, key)

    def _repeated(self, values: Mapping[str, object]) -> Iterator[Violation]:
        """Yield a violation for each value of a field that has another value."""
        first: dict[str, str] = {}
        for key, value in values.items():
            if value not in NOT_SET and key in self.fields:
                other = first.setdefault(self.definition_of(key), key)
                if other != key:
                    message = f"This is the same field as {other}. Remove one of both."
                    yield Violation(Rule.DUPLICATE_ITEM, message, (key,))

    def check_unknown(self, value: object) -> object:
        """Return the value if additional values are permitted, or a violation."""
        return value if self.additional else _UNKNOWN_FIELD

    def _located(
        self, violation: Violation, key: str, value: object, *, suggest: bool
    ) -> Violation:
        """Return the violation with the key as its path, and with a suggestion."""
        if character_violation(key) is not None:
            return _BAD_KEY
        suggestion = violation.suggestion
        if suggestion is None and suggest:
            suggestion = self._suggestion(key, value)
        return Violation(violation.rule, violation.message, (key,), suggestion)

    def _suggestion(self, key: str, value: object) -> str | None:
        """Return the known key or the allowed text that is most similar."""
        if key not in self.fields:
            return closest_match(key, self.fields)
        allowed = self.fields[key].allowed_values
        if allowed is None or not isinstance(value, str):
            return None
        return closest_match(value, (each for each in allowed.values if isinstance(each, str)))


def value_check(recipient_field: Field, canonical: ValueCheck[T]) -> ValueCheck[T]:
    """Return the check for the values of a field.

    `canonical` is the check for their type. It returns the canonical form of a value.
    """
    allowed, data_type = recipient_field.allowed_values, recipient_field.data_type
    if data_type in (DataType.DATE, DataType.DATETIME):
        canonical = _explaining(canonical, data_type)
    if allowed is not None:
        return _allowed_value_check(canonical, allowed)
    return _check_text if data_type is DataType.TEXT else canonical


def _explaining(canonical: ValueCheck[T], data_type: DataType) -> ValueCheck[T]:
    """Return a check whose violations say which foreign form a value has."""

    def check(value: T) -> object:
        result = canonical(value)
        return explain(result, data_type, value) if isinstance(result, Violation) else result

    return check


def _allowed_value_check(canonical: ValueCheck[T], allowed: AllowedValues) -> ValueCheck[T]:
    values = frozenset(allowed.values)
    message = _describe_allowed(allowed)

    def check(value: T) -> object:
        result = canonical(value)
        if result in values or isinstance(result, Violation):
            return result
        composed = normalize_nfc(result) if isinstance(result, str) else None
        if composed not in values:
            return _Unlisted(rule=Rule.UNKNOWN_VALUE, message=message, value=result)
        return _Unlisted(Rule.UNKNOWN_VALUE, _DECOMPOSED, suggestion=composed, value=result)

    return check


def _check_text(value: object) -> object:
    if isinstance(value, str):
        return character_violation(value) or value
    return canonical_value(DataType.TEXT, value)


def _describe_allowed(allowed: AllowedValues) -> str:
    values = allowed.values
    listed = ", ".join(map(str, values[: _MAX_LISTED_VALUES + 1]))
    if len(values) <= _MAX_LISTED_VALUES and len(listed) <= _MAX_LISTED_LENGTH:
        return f"Use one of {listed}."
    if len(values) == 1:
        return "Use the allowed value of the field."
    return f"Use one of the {len(values):,} allowed values of the field."
