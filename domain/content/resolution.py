"""The fields that references mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve

from ..conditions import AllOf, AnyOf, Comparison, Condition, Not
from ..fields.errors import FieldNotFound
from ..fields.field import RecipientField
from ..fields.values import derive_key
from ..suggestions import closest_match
from .tree import condition_keys

_MAX_SUGGESTIONS = 20
"""The search for a similar key is slow if there are thousands of fields."""


class FieldResolver:
    """The fields that content can use, by the keys of references.

    A reference means the field with its key. If the content can't use that field, the reference
    means the integration's field with the same name at the ESP, or with a name from which the same
    key is derived. `others` are the fields that the content can't use.
    """

    def __init__(
        self, fields: Iterable[RecipientField], others: Iterable[RecipientField] = ()
    ) -> None:
        self.fields: Mapping[str, RecipientField] = {str(field.key): field for field in fields}
        self.others: Mapping[str, RecipientField] = {str(field.key): field for field in others}
        self._by_name: dict[str, RecipientField] = {}
        self._by_derived_key: dict[str, RecipientField] = {}
        for field in self.fields.values():
            if (name := field.origin.esp_field_name) is not None:
                self._by_name.setdefault(name, field)
                self._by_derived_key.setdefault(derive_key(name), field)
        self._suggestions_left = _MAX_SUGGESTIONS

    def find(self, key: str) -> RecipientField | None:
        """Return the field that a reference with this key means, or None."""
        if key in self.fields:
            return self.fields[key]
        other = self.others.get(key)
        if other is None or other.origin.esp_field_name is None:
            return self._by_derived_key.get(key)
        name = other.origin.esp_field_name
        return self._by_name.get(name) or self._by_derived_key.get(derive_key(name))

    def get(self, key: str) -> RecipientField:
        """Return the field that a reference with this key means.

        Raises: FieldNotFound if there is none.
        """
        field = self.find(key)
        if field is None:
            raise FieldNotFound
        return field

    def suggest(self, key: str) -> str | None:
        """Return the most similar key, or None. Only the first 20 calls search."""
        self._suggestions_left -= 1
        return closest_match(key, self.fields) if self._suggestions_left >= 0 else None

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

    def fields_of(self, condition: Condition) -> tuple[RecipientField, ...]:
        """Return the known fields of the condition, once each."""
        fields = dict.fromkeys(map(self.find, condition_keys(condition)))
        return tuple(field for field in fields if field is not None)
