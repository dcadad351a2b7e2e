"""The fields, codes and conditions that the keys in content mean at one target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from ...conditions import Condition
from ...conditions.tree import condition_keys
from ...content.resolution import EMAIL_KEY, DataValue, FieldResolver, compared_data
from ...data_paths import DataPath
from ...fields.errors import FieldNotFound
from ...fields.protocol import Field
from ..conditions import ConditionCode
from ..conditions.compilation import compile_readings
from ..conditions.operands import Operand, find_readings
from ..data_codes import DataCode, Scope, find_data_code, reach
from ..field_codes import CodeSource, FieldCode
from ..languages.conditions.code_parts import Presence
from ..names import Target
from ..profiles import Profiles
from ..profiles.profile import Profile


class CodeResolver(FieldResolver):
    """The fields and codes of one target, by the keys of references. It resolves each key once.

    `scope` is that of the place whose codes are read.
    """

    def __init__(self, codes: CodeSource, target: Target, sent_by: str | None = None) -> None:
        super().__init__(codes.names.by_key, explain_key=codes.names.explain_key)
        self._codes, self._target = codes, target
        self._profile = codes.names.get_profile(target)
        self.scope: Scope = Scope(sent_by)
        self.profiles: Profiles = codes.names.profiles
        self._found: dict[str, FieldCode | None] = {}
        self._data: dict[tuple[DataValue, Scope], DataCode] = {}
        self._readings: dict[tuple[Condition, Scope], Sequence[Mapping[str, Operand]]] = {}

    def find(self, key: str) -> Field | None:
        """Return the field that a reference with this key means at the target, or None."""
        if isinstance(key, DataPath):
            return super().find(key)
        code = self.find_code(key)
        return None if code is None else code.field

    def find_code(self, key: str) -> FieldCode | None:
        """Return the code of the field that a reference with this key means, or None."""
        if key not in self._found:
            code = self._codes.find(key, self._target)
            if code is None and key == EMAIL_KEY:
                code = self._codes.get_own_email(self._target)
            self._found[key] = code
        return self._found[key]

    def get_data_code(self, value: DataValue) -> DataCode:
        """Return the code of data in the current scope."""
        key = value, self.scope
        if key not in self._data:
            self._data[key] = find_data_code(self._profile, *key)
        return self._data[key]

    def get_code(self, key: str) -> FieldCode:
        """Return the code of the field that a reference with this key means.

        Raises: FieldNotFound if there is none.
        """
        code = self.find_code(key)
        if code is None:
            raise FieldNotFound
        return code

    def check(self, condition: Condition) -> None:
        """Check a condition on known fields, with their data types at the target.

        Raises: InvalidCondition if it does not fit the fields.
        """
        self.read(condition)

    def read(self, condition: Condition) -> Sequence[Mapping[str, Operand]]:
        """Return the readings of a condition on known fields. Raises: as `check` does."""
        key = condition, self.scope
        if key not in self._readings:
            data = compared_data(condition)
            codes = {
                key: self.get_data_code(data[key])
                if key in data
                else reach(self.get_code(key), self.scope)
                for key in dict.fromkeys(condition_keys(condition))
            }
            self._readings[key] = find_readings(condition, codes)
        return self._readings[key]


THEN, OTHERWISE = "\0then\0", "\0otherwise\0"
"""Marks for the texts in the code of a condition. Neither content nor codes contain U+0000."""


class CompiledConditions:
    """The codes of conditions for one ESP. Equal conditions are compiled once.

    `presences` are the tests whether a value is set, by the keys for which they differ.
    """

    def __init__(
        self, profile: Profile, resolver: CodeResolver, presences: Mapping[str, Presence]
    ) -> None:
        self._profile, self._resolver, self._presences = profile, resolver, presences
        self._found: dict[object, ConditionCode] = {}

    def get(
        self, condition: Condition, *, has_otherwise: bool, is_guard: bool = False
    ) -> ConditionCode:
        """Return the code with marks for the texts. Raises: NotExpressible if there is none.

        If `is_guard` is true, the condition is that of a filter, which needs a value.
        """
        key = condition, has_otherwise, is_guard, self._resolver.scope
        if key not in self._found:
            presences = {} if is_guard else self._presences
            self._found[key] = compile_readings(
                condition,
                [
                    {
                        key: evolve(operand, presence=presences.get(key))
                        for key, operand in reading.items()
                    }
                    for reading in self._resolver.read(condition)
                ],
                self._profile,
                then=THEN,
                otherwise=OTHERWISE if has_otherwise else "",
            )
        return self._found[key]
