"""The columns of recipients' data, such as those of a spreadsheet, and their fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain, count

from ..errors import InvalidField
from ..fields.field import RecipientField
from ..fields.values import MAX_KEY_LENGTH, FieldKey, derive_key
from ..text import MAX_LINE_LENGTH, normalize_nfc, to_line

__all__ = ["column_name", "match_columns", "propose_keys"]


def column_name(title: str) -> str:
    """Return the title of a column as the name of a field, or an empty text if it is blank.

    Line breaks and repeated white space become one space, and control characters are removed.
    """
    line = normalize_nfc(to_line(" ".join(title.split()), max_length=MAX_LINE_LENGTH))
    return to_line(" ".join(line.split()), max_length=MAX_LINE_LENGTH).strip()


def match_columns(
    titles: Iterable[str], fields: Collection[RecipientField]
) -> Mapping[str, FieldKey]:
    """Return the keys of the columns that are recipient fields, by title.

    The title of such a column is the key of a field, or else the name of exactly one field.
    """
    by_key = {str(field.key): [field.key] for field in fields}
    by_name: dict[str, list[FieldKey]] = {}
    for field in fields:
        by_name.setdefault(column_name(field.name), []).append(field.key)
    matches = {title: by_key.get(title) or by_name.get(column_name(title), []) for title in titles}
    return {title: keys[0] for title, keys in matches.items() if len(keys) == 1}


def propose_keys(titles: Collection[str], taken: Collection[str] = ()) -> Mapping[str, FieldKey]:
    """Return a key for the field of each column, by title. No key is repeated or `taken`.

    A title that is a key is the key of its column. Other keys are derived from the titles. If the
    derived key is reserved, it gets the prefix `field_`. If there is none, the key has the number
    of the column, such as `field_3`.
    """
    valid = {title: _find_key(title) for title in titles}
    keys = {title: key for title, key in valid.items() if key is not None and key not in taken}
    used = {*taken, *keys.values()}
    for number, title in enumerate(titles, start=1):
        if title not in keys:
            keys[title] = _free_key(title, number, used)
            used.add(keys[title])
    return {title: keys[title] for title in titles}


def _find_key(text: str) -> FieldKey | None:
    try:
        return FieldKey(text)
    except InvalidField:
        return None


def _free_key(title: str, number: int, used: Collection[str]) -> FieldKey:
    key = derive_key(title)
    if _find_key(key) is None:
        key = derive_key(f"field_{key or number}")
    numbered = (f"{key[: MAX_KEY_LENGTH - 5].rstrip('_')}_{suffix}" for suffix in count(2))
    return FieldKey(next(each for each in chain([key], numbered) if each not in used))
