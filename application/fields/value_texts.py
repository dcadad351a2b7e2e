"""Allowed values as text: in an input of a form, or in an option of a command."""

from __future__ import annotations

import json
from contextlib import suppress

from recipient_fields.domain import DataType


def parse_value(text: str, data_type: DataType) -> object:
    """Return the allowed value that the text means for a field of this data type.

    If the text is no number, a number field gets the text itself: AllowedValues reports the fault.
    """
    if data_type is DataType.NUMBER:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text
