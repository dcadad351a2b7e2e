"""The sizes of fields and of lists of fields, which limits refer to.

A size is the number of bytes of compact JSON, whatever stores or shows the fields, so that a limit
has the same effect everywhere. A list is the object `{"recipient_fields":[…]}` of all fields of an
organization.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from .members import FIELD_MEMBERS, member_reader
from .values import json_size

__all__ = ["id_size", "list_size"]

_read_other_members = member_reader(
    each for each in FIELD_MEMBERS if each.name != "id" and each.kind is not datetime
)
_INSTANT = "2026-11-20T09:15:00.123Z"
_ID_AND_INSTANTS: Final = len(f'"id":,"created_at":"{_INSTANT}","updated_at":"{_INSTANT}",')
"""A definition has no id, and all instants have as many digits."""
_COMMA: Final = 1
_EMPTY_LIST: Final = len('{"recipient_fields":[]}')


def definition_size(definition: object) -> int:
    """Return the bytes that a field adds to a list: those of its JSON and of a comma.

    The digits of its id are not counted.
    """
    return json_size(_read_other_members(definition)) + _ID_AND_INSTANTS + _COMMA


def size_difference(before: object, after: object) -> int:
    """Return the bytes that a change of a field adds to a list.

    It measures only the changed members, because allowed values can be long.
    """
    old, new = _read_other_members(before), _read_other_members(after)
    changed = [name for name, value in new.items() if value != old[name]]
    return json_size([new[name] for name in changed]) - json_size([old[name] for name in changed])


def id_size(field_id: int) -> int:
    """Return the digits of the id of a field."""
    return len(str(field_id))


def list_size(fields: int) -> int:
    """Return the bytes of a list to which its fields add this many bytes."""
    return _EMPTY_LIST + max(fields - _COMMA, 0)
