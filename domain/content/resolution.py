"""The fields that references mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve

from ..conditions import AllOf, AnyOf, Comparison, Condition, Not, check_condition
from ..conditions.tree import condition_keys
from ..fields.errors import FieldNotFound
from ..fields.origins import Origin, Source
from ..fields.protocol import Field
from ..fields.values import DataType, FieldKey, FieldName, derive_key
from ..identity import FieldId
from ..suggestions import closest_match

_MAX_SUGGESTIONS = 20
"""The search for a similar key is slow if there are thousands of fields."""


EMAIL_KEY: Final = "email"
"""The key that means the address of the recipient, also if no field has it."""


class _OwnEmail:
    """A field of the ESP for the address of the recipient. It is not stored, and its id is 0."""

    id = FieldId(0)
    name = FieldName("Email")
    key = FieldKey(EMAIL_KEY)
    data_type = DataType.TEXT
    allowed_values = None
    insertable = True
    origin = Origin(Source.API)
    custom_insertion_code = None
    custom_value_expression = None


OWN_EMAIL: Final[Field] = _OwnEmail()
"""The field that `{{recipient.email}}` means if no field has this key."""


class FieldResolver:
    """The fields of an organization, by the keys of references.

    `resolved` contains the keys that no field has, but that mean a field with another key. The key
    `email` means the address of the recipient if no field has it. `explain_key` returns a sentence
    about a key that means no field, or None.
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        resolved: Mapping[str, str] | None = None,
        *,
        explain_key: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        self._fields, self._resolved = fields, resolved or {}
        self.explain_key = explain_key
        self._suggestions_left = _MAX_SUGGESTIONS

    def find(self, key: str) -> Field | None:
        """Return the field that a reference with this key means, or None."""
        field = self._fields.get(self._resolved.get(key, key))
        return OWN_EMAIL if field is None and key == EMAIL_KEY else field

    def get(self, key: str) -> Field:
        """Return the field that a reference with this key means.

        Raises: FieldNotFound if there is none.
        """
        field = self.find(key)
        if field is None:
            raise FieldNotFound
        return field

    def find_key(self, name: str) -> str | None:
        """Return the key of the field with this key, or with this name in another dialect."""
        return next((key for key in (name, derive_key(name)) if self.find(key) is not None), None)

    def suggest(self, key: str) -> str | None:
        """Return the most similar key, or None. Only the first 20 calls search."""
        self._suggestions_left -= 1
        return closest_match(key, self._fields) if self._suggestions_left >= 0 else None

    def check(self, condition: Condition) -> None:
        """Check a condition on known fields.

        Raises: InvalidCondition if it does not fit the fields.
        """
        check_condition(self.resolve(condition), self.fields_of(condition))

    def resolve(self, condition: Condition) -> Condition:
        """Return the condition with the keys of the fields that its keys mean."""
        match condition:
            case Comparison(key):
                field = self.find(key)
                return condition if field is None else evolve(condition, key=str(field.key))
            case Not(negated):
                return Not(self.resolve(negated))
        parts = tuple(map(self.resolve, condition.conditions))
        return AllOf(parts) if isinstance(condition, AllOf) else AnyOf(parts)

    def fields_of(self, condition: Condition) -> tuple[Field, ...]:
        """Return the known fields of the condition, once each."""
        fields = dict.fromkeys(map(self.find, condition_keys(condition)))
        return tuple(field for field in fields if field is not None)
