"""The sizes of fields and of lists of fields, in bytes of UTF-8.

A list is the object `{"recipient_fields":[…]}` of all fields of an organization, as JSON without
white space and without escapes that JSON does not require.
"""

from __future__ import annotations

from typing import Final

from .compact_json import json_size
from .field_members import FIELD_MEMBERS, member_reader

_read_defined_members = member_reader(
    each for each in FIELD_MEMBERS if each.name not in {"id", "updated_at"}
)
_UNDEFINED_MEMBERS: Final = len('"id":,"updated_at":"2026-11-20T09:15:00.123Z",')
"""The members that a definition does not have, without the digits of the id."""
_COMMA: Final = 1
_ENVELOPE: Final = len('{"recipient_fields":[]}')


def definition_size(definition: object) -> int:
    """Return the bytes that a field adds to a list: those of its JSON and of a comma.

    The digits of its id are not counted.
    """
    return json_size(_read_defined_members(definition)) + _UNDEFINED_MEMBERS + _COMMA


def id_size(field_id: int) -> int:
    """Return the digits of the id of a field."""
    return len(str(field_id))


def list_size(fields: int) -> int:
    """Return the bytes of a list to which its fields add this many bytes."""
    return _ENVELOPE + max(fields - _COMMA, 0)
