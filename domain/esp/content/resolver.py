"""The fields and codes that the keys in content mean at one target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...conditions import Condition
from ...conditions.tree import condition_keys
from ...content.resolution import EMAIL_KEY, FieldResolver
from ...fields.errors import FieldNotFound
from ...fields.field import RecipientField
from ..conditions.operands import Operand, find_readings
from ..names.codes import FieldCode, FieldCodes
from ..names.esp_names import Target


class CodeResolver(FieldResolver):
    """The fields and codes of one target, by the keys of references. It resolves each key once."""

    def __init__(self, codes: FieldCodes, target: Target) -> None:
        super().__init__(codes.names.by_key, explain_key=codes.names.explain_key)
        self._codes, self._target = codes, target
        self._found: dict[str, FieldCode | None] = {}
        self._readings: dict[Condition, Sequence[Mapping[str, Operand]]] = {}

    def find(self, key: str) -> RecipientField | None:
        """Return the field that a reference with this key means at the target, or None."""
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
        if condition not in self._readings:
            codes = {key: self.get_code(key) for key in condition_keys(condition)}
            self._readings[condition] = find_readings(condition, codes)
        return self._readings[condition]
