"""The ids, keys and values of fields as texts: in paths, forms, options and files."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from recipient_fields.domain import (
    DataType,
    FieldId,
    FieldKey,
    FieldNotFound,
    FieldReference,
    InvalidField,
)

_ID = re.compile(r"[1-9][0-9]{0,15}")
_NUMBER = re.compile(r"\s*[+-]?\d[\d_]*\s*")
"""A number in any notation that Python accepts."""


def parse_reference(text: str) -> FieldReference:
    """Return the id or key. Raises: FieldNotFound if no field can have it.

    `+1`, `01` and `1_0` are not other notations of an id: no field has them.
    """
    if is_id(text):
        return FieldId(int(text))
    try:
        return FieldKey(text)
    except InvalidField:
        raise FieldNotFound from None


def is_id(text: str) -> bool:
    """Return whether this is an id: at most 16 ASCII digits without sign or leading zero."""
    return _ID.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Return whether this is meant as a key, even if it is malformed."""
    return _NUMBER.fullmatch(text) is None


def parse_value(text: str, data_type: DataType) -> object:
    """Return the allowed value that the text means for a field of this data type.

    If the text is no number, a number field gets the text itself: AllowedValues reports the fault.
    """
    if data_type is DataType.NUMBER:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text
