"""The fields that a condition for one ESP compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from ...conditions import Condition, InvalidCondition
from ...conditions.checks import check_with_keys
from ...conditions.tree import condition_keys
from ...data_paths import LOOP
from ...fields.protocol import Field
from ...fields.values import DataType
from ..data_codes import DataCode
from ..field_codes import CodeSource, FieldCode
from ..languages.conditions.code_parts import Presence
from ..names import Target


@frozen
class Operand:
    """The code of a field, and the type that the condition gives to its values.

    `presence` contains the tests for a value that is set, if they differ from those of the type.
    """

    code: FieldCode
    data_type: DataType
    presence: Presence | None = None

    @property
    def is_state(self) -> bool:
        """Whether this is the number or the place of a round, which engines hold by its type."""
        return isinstance(self.code, DataCode) and self.code.path.root == LOOP


def find_codes(condition: Condition, codes: CodeSource, target: Target) -> Mapping[str, FieldCode]:
    """Return the codes at the target, by the keys in the condition that mean a field there."""
    found = {key: codes.find(key, target) for key in dict.fromkeys(condition_keys(condition))}
    return {key: code for key, code in found.items() if code is not None}


def find_readings(
    condition: Condition,
    codes: Mapping[str, FieldCode],
    others: Mapping[str, Field] | None = None,
) -> Sequence[Mapping[str, Operand]]:
    """Return the operands by key, for each way to read the condition. The first one is preferred.

    A condition must fit the data type and the allowed values of the fields that its keys mean. In
    the place of a counterpart of a synced field, it can also fit the field that was written, so
    that a sync of the counterpart with another type does not make it invalid.

    `others` are the fields of other keys, for suggestions. They are not read if all keys are known.
    Raises: InvalidCondition if the condition fits neither.
    """
    if all(key in codes for key in condition_keys(condition)):
        others = None
    written = {key: code.field for key, code in codes.items()}
    meant = {key: code.meant_field for key, code in codes.items()}
    readings: list[Mapping[str, Operand]] = []
    invalid: InvalidCondition | None = None
    for fields in (meant, written) if meant != written else (written,):
        try:
            check_with_keys(condition, {**({} if others is None else others), **fields})
        except InvalidCondition as error:
            invalid = error
        else:
            readings.append(
                {key: Operand(codes[key], each.data_type) for key, each in fields.items()}
            )
    if invalid is not None and not readings:
        raise invalid
    return readings
