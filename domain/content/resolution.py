"""The fields that references mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from attrs import evolve, frozen

from ..conditions import Comparison, Condition, Operator
from ..conditions.checks import check_with_keys
from ..conditions.literals import type_of
from ..conditions.tree import comparisons, condition_keys, replace_comparisons
from ..data_paths import DataPath
from ..fields.errors import FieldNotFound
from ..fields.origins import Origin, Source
from ..fields.protocol import Field
from ..fields.values import DataType, FieldKey, FieldName, derive_key
from ..identity import FieldId
from ..suggestions import closest_match
from .filters import input_types
from .tree import Reference

_MAX_SUGGESTIONS = 20
"""The search for a similar key is slow if there are thousands of fields."""


EMAIL_KEY: Final = "email"
"""The key that means the address of the recipient, also if no field has it."""


class _Unstored:
    """What content can show that is no field of the organization. Its id is 0."""

    __slots__ = ()
    id: ClassVar[FieldId] = FieldId(0)
    allowed_values = None
    insertable = True
    origin: ClassVar[Origin] = Origin(Source.API)
    custom_insertion_code = None
    custom_value_expression = None


class _OwnEmail(_Unstored):
    """A field of the ESP for the address of the recipient."""

    name = FieldName("Email")
    key = FieldKey(EMAIL_KEY)
    data_type = DataType.TEXT


OWN_EMAIL: Final[Field] = _OwnEmail()
"""The field that `{{recipient.email}}` means if no field has this key."""


@frozen
class DataValue(_Unstored):
    """Event data, or a value of a loop, with the type that its use gives to it. It is no field."""

    key: DataPath
    data_type: DataType = DataType.TEXT
    name: ClassVar[FieldName] = FieldName("Event data")

    @classmethod
    def shown(cls, reference: Reference, path: DataPath) -> DataValue:
        """Return the value as the first filter of the reference reads it, or else a text."""
        return cls(path, input_types(reference.filters)[-1] if reference.filters else DataType.TEXT)


def data_types(condition: Condition) -> Mapping[DataPath, DataType | None]:
    """Return the types that the literals of the condition give to data: the first one counts.

    It is None if the condition only requires that the data is set.
    """
    found: dict[DataPath, DataType | None] = {}
    for each in comparisons(condition):
        if isinstance(each.key, DataPath) and found.get(each.key) is None:
            is_true = each.operator is Operator.IS_TRUE
            found[each.key] = DataType.BOOLEAN if is_true else next(map(type_of, each.values), None)
    return found


def compared_data(condition: Condition) -> Mapping[str, DataValue]:
    """Return the data that the condition compares, by path.

    Data of any type is as set as a number, because 0 is set.
    """
    types = data_types(condition).items()
    return {path: DataValue(path, each or DataType.NUMBER) for path, each in types}


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
        """Return the field, or the data, that a reference with this key means, or None."""
        if isinstance(key, DataPath):
            return DataValue(key)
        field = self._fields.get(self._resolved.get(key, key))
        return OWN_EMAIL if field is None and key == EMAIL_KEY else field

    def find_shown(self, reference: Reference) -> Field | None:
        """Return what the reference shows, or None if there is no such field."""
        if isinstance(reference.key, DataPath):
            return DataValue.shown(reference, reference.key)
        return self.find(reference.key)

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
        resolved = self.resolve(condition)
        fields = {each.key: each for each in self.fields_of(condition)}
        check_with_keys(resolved, {**fields, **compared_data(condition)})

    def resolve(self, condition: Condition) -> Condition:
        """Return the condition with the keys of the fields that its keys mean."""

        def resolve(comparison: Comparison) -> Comparison:
            field = self.find(comparison.key)
            is_data = isinstance(comparison.key, DataPath)
            return comparison if field is None or is_data else evolve(comparison, key=field.key)

        return replace_comparisons(condition, resolve)

    def fields_of(self, condition: Condition) -> tuple[Field, ...]:
        """Return the known fields of the condition, once each."""
        keys = (key for key in condition_keys(condition) if not isinstance(key, DataPath))
        fields = dict.fromkeys(map(self.find, keys))
        return tuple(field for field in fields if field is not None)
