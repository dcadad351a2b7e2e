"""The data of recipients, checked against the fields of an organization."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from attrs import evolve, field, frozen

from .errors import Rule, Violation
from .fields import RecipientField
from .suggestions import closest_match
from .text import character_violation
from .values import Scalar, canonical_function

_MAX_LISTED_VALUES = 10
_UNKNOWN_FIELD = Violation(Rule.UNKNOWN_FIELD, "There is no recipient field with this key.")
_BAD_KEY = Violation(
    Rule.INVALID_CHARACTERS, "Remove the null character or lone surrogate from this key."
)


@frozen
class CheckedRecipient:
    """The result of a check.

    `values` contains the values that are permitted, in canonical form. The path of each violation
    is the key of a field, or empty if the key itself can't be written in a document.
    """

    values: Mapping[str, object]
    violations: tuple[Violation, ...] = ()


@frozen
class RecipientSchema:
    """The values that a recipient can have: for each field, values of its type, or None.

    None means that the value is not set, and so does a missing value: no value is required. If
    `additional` is true, a recipient can have values without a field, which are not checked.
    """

    fields: Mapping[str, RecipientField]
    additional: bool = False
    _allowed: Mapping[str, frozenset[object]] = field(init=False, eq=False, repr=False)
    _canonical: Mapping[str, Callable[[object], Scalar | Violation]] = field(
        init=False, eq=False, repr=False
    )

    @classmethod
    def of(cls, fields: Iterable[RecipientField], *, additional: bool = False) -> RecipientSchema:
        """Return the schema of these fields."""
        return cls({str(each.key): each for each in fields}, additional)

    @_allowed.default
    def _allowed_by_key(self) -> Mapping[str, frozenset[object]]:
        return {
            key: frozenset(each.allowed_values.values)
            for key, each in self.fields.items()
            if each.allowed_values is not None
        }

    @_canonical.default
    def _canonical_by_key(self) -> Mapping[str, Callable[[object], Scalar | Violation]]:
        return {key: canonical_function(each.data_type) for key, each in self.fields.items()}

    def check(self, values: Mapping[str, object], *, suggest: bool = True) -> CheckedRecipient:
        """Check the values of a recipient, by the keys of their fields.

        In canonical form, whole numbers are `int`, and date-times are like
        `2026-11-20T09:15:00.123Z`. If `suggest` is false, no similar key or value is suggested:
        this saves milliseconds for each violation.
        """
        permitted: dict[str, object] = {}
        violations: list[Violation] = []
        for key, value in values.items():
            if key in self._canonical:
                checked = None if value is None else self._check_value(key, value)
            else:
                checked = value if self.additional else _UNKNOWN_FIELD
            if not isinstance(checked, Violation):
                permitted[key] = checked
            elif character_violation(key) is not None:
                violations.append(_BAD_KEY)
            else:
                suggestion = self._suggestion(key, value) if suggest else None
                violations.append(evolve(checked, path=(key,), suggestion=suggestion))
        return CheckedRecipient(permitted, tuple(violations))

    def _check_value(self, key: str, value: object) -> object:
        """Return the canonical form of a value, or the rule that it breaks."""
        canonical = self._canonical[key](value)
        if isinstance(canonical, Violation):
            return canonical
        allowed = self._allowed.get(key)
        if allowed is not None:
            return canonical if canonical in allowed else _not_allowed(self.fields[key])
        if isinstance(canonical, str):
            return character_violation(canonical) or canonical
        return canonical

    def _suggestion(self, key: str, value: object) -> str | None:
        """Return the known key or the allowed text that is most similar."""
        if key not in self.fields:
            return closest_match(key, self.fields)
        texts = (each for each in self._allowed.get(key, ()) if isinstance(each, str))
        return closest_match(value, texts) if isinstance(value, str) else None


def _not_allowed(recipient_field: RecipientField) -> Violation:
    allowed = recipient_field.allowed_values
    values = () if allowed is None else allowed.values
    if len(values) <= _MAX_LISTED_VALUES:
        message = f"Use one of {', '.join(str(value) for value in values)}."
    else:
        message = f"Use one of the {len(values):,} allowed values of the field."
    return Violation(Rule.UNKNOWN_VALUE, message)
