"""Preludes: the code that sets the Salesforce variables of fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from ..fields.protocol import Field
from .derived_codes import DerivedCodes, derive
from .errors import NoSafeForm
from .profiles.profile import Profile

_VARIABLE = re.compile(r"(?<![\w@])@[A-Za-z]\w*", re.ASCII)
_ASSIGNMENT = re.compile(r"\bset\s+(@\w+)\s*=", re.ASCII | re.IGNORECASE)


class Preludes:
    """The preludes of the stored codes of fields, by variable.

    A variable of a synced field is set from the attribute of this field. A variable in the code of
    another field is set as that of a synced field; if there is none, from the attribute with the
    name of the variable. Variables that the code sets have no prelude.
    """

    def __init__(self, profile: Profile, read_synced: Callable[[], Iterable[Field]]) -> None:
        """`read_synced` returns the synced fields. It is called if a variable needs one."""
        self._profile, self._read_synced = profile, read_synced

    @cached_property
    def _synced(self) -> Mapping[str, str]:
        return dict(_synced_preludes(self._profile, self._read_synced()))

    def of(self, field: Field) -> Mapping[str, str]:
        """Return the preludes that the codes of the field require."""
        codes = _derive_synced_codes(self._profile, field)
        if codes is not None:
            return {codes.value_expression.lower(): codes.prelude or ""}
        code = f"{field.custom_insertion_code or ''} {field.custom_value_expression or ''}"
        set_already = assigned_variables(code)
        variables = {each.lower(): each for each in _VARIABLE.findall(code)}
        return {
            key: self._synced.get(key) or derive(self._profile, variable[1:]).prelude or ""
            for key, variable in variables.items()
            if key not in set_already
        }


def _derive_synced_codes(profile: Profile, field: Field) -> DerivedCodes | None:
    """Return the codes of a field that was synced from the ESP, or None for other fields."""
    if field.origin.esp_field_name is None:
        return None
    try:
        codes = derive(profile, field.origin.esp_field_name)
    except NoSafeForm:
        return None
    return codes if codes.value_expression == field.custom_value_expression else None


def _synced_preludes(profile: Profile, fields: Iterable[Field]) -> Iterator[tuple[str, str]]:
    for field in fields:
        codes = _derive_synced_codes(profile, field)
        if codes is not None:
            yield codes.value_expression.lower(), codes.prelude or ""


def assigned_variables(code: str) -> set[str]:
    """Return the variables that the code sets, in small letters."""
    return {variable.lower() for variable in _ASSIGNMENT.findall(code)}
