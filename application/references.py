"""The last part of a field's path: an id or a key."""

from __future__ import annotations

import re

from recipient_fields.domain import (
    FieldId,
    FieldKey,
    FieldNotFound,
    FieldReference,
    InvalidField,
)

_ID = re.compile(r"[1-9][0-9]{0,15}")
_NUMBER = re.compile(r"\s*[+-]?\d[\d_]*\s*")
"""What a lenient reader takes for a number."""


def parse_reference(text: str) -> FieldReference:
    """The id or key that a path names; FieldNotFound where no field can have it.

    `+1`, `01` and `1_0` are ids that no field has, never other names of one.
    """
    if is_id(text):
        return FieldId(int(text))
    try:
        return FieldKey(text)
    except InvalidField:
        raise FieldNotFound from None


def is_id(text: str) -> bool:
    """Is this how an id is written: ASCII digits, no sign, no leading zero, at most 16?"""
    return _ID.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Does the path mean a key, well-formed or not?"""
    return _NUMBER.fullmatch(text) is None
