"""The values of event data in a preview."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..conditions import Value
from ..conditions.literals import from_scalar
from ..data_paths import DataPath
from ..errors import Violation
from ..fields.values import DataType, canonical_value
from ..text import character_violation

MAX_TEXT_LENGTH = 100_000
"""The number of characters of a text in a preview."""
_EXPECTED: Mapping[DataType, str] = {
    DataType.TEXT: 'a text, such as "gold"',
    DataType.NUMBER: "a number, such as 3",
    DataType.BOOLEAN: "true or false",
    DataType.DATE: 'a date, such as "2026-11-20"',
    DataType.DATETIME: 'a date-time, such as "2026-11-20T09:15:00Z"',
}


class UnfitData(Exception):
    """Event data has another type than the content requires. The message is a sentence."""


def find_value(data: object, path: DataPath) -> object:
    """Return the value at the path, or None if it or an object around it is missing or null.

    Raises: UnfitData if the path has a member of a value that is no object, or a position in one
    that is no list.
    """
    for part in path.parts:
        match data, part:
            case None, _:
                return None
            case Mapping(), str():
                data = data.get(part)
            case list() | tuple(), int():
                data = data[part] if part < len(data) else None
            case _:
                container = "a list" if isinstance(part, int) else "an object"
                raise UnfitData(
                    f"`{path}` requires {container} before its part `{part}`, not {_name(data)}."
                )
    return None if data == "" else data


def read_value(data_types: Iterable[DataType], value: object, path: DataPath) -> Value:
    """Return a value that is set, as the first of these types. Raises: UnfitData if it has none."""
    for data_type in data_types:
        canonical = canonical_value(data_type, value)
        if not isinstance(canonical, Violation):
            if isinstance(canonical, str):
                _require_text(canonical, path)
            return from_scalar(data_type, canonical)
    expected = " or ".join(_EXPECTED[each] for each in data_types)
    raise UnfitData(f"`{path}` is {_name(value)}. Here, it must be {expected}.")


def read_list(value: object, path: DataPath) -> Sequence[object]:
    """Return the items of a list. Raises: UnfitData if it is none."""
    if not isinstance(value, list | tuple):
        raise UnfitData(f"`{path}` is {_name(value)}. Here, it must be a list.")
    return value


def read_texts(value: object, path: DataPath) -> Sequence[str]:
    """Return the items of a list of texts. Raises: UnfitData if it is none."""
    texts: list[str] = []
    for item in read_list(value, path):
        if not isinstance(item, str):
            raise UnfitData(f"`{path}` has {_name(item)}. Here, it must be a list of texts.")
        _require_text(item, path)
        texts.append(item)
    return texts


def is_set(value: object, path: DataPath) -> Value:
    """Return a value for data of any type that is set. Raises: UnfitData if it is none of JSON."""
    if isinstance(value, list | tuple | Mapping):
        return True
    return show_value(value, path)


def show_value(value: object, path: DataPath) -> Value:
    """Return a value that is set, as a reference without filters shows it. Raises: UnfitData."""
    if isinstance(value, list | tuple | Mapping):
        raise UnfitData(f"`{path}` is {_name(value)}. Show its members.")
    return read_value((DataType.TEXT, DataType.BOOLEAN, DataType.NUMBER), value, path)


def _require_text(text: str, path: DataPath) -> None:
    violation = character_violation(text)
    if violation is not None:
        raise UnfitData(f"`{path}`: {violation.message}")
    if len(text) > MAX_TEXT_LENGTH:
        raise UnfitData(f"`{path}`: A text has at most {MAX_TEXT_LENGTH:,} characters.")


def _name(value: object) -> str:
    """Return what the value is in JSON."""
    match value:
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
    return "no value of JSON"
