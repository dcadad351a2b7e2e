"""The columns of recipients' data, such as those of a spreadsheet, and their fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, count

from ..arguments import require_type
from ..errors import InvalidField
from ..fields.protocol import Field
from ..fields.values import MAX_KEY_LENGTH, FieldKey, derive_key
from ..text import clean_line, normalize_nfc

__all__ = ["find_columns", "match_columns", "propose_keys"]


def find_columns(
    titles: Iterable[str],
    fields: Collection[Field],
    definitions: Mapping[str, str] | None = None,
    esp_names: Mapping[str, str] | None = None,
) -> Mapping[str, Sequence[FieldKey]]:
    """Return the keys of the fields that each title can mean: one, several or none.

    A title is an ESP name, or else the key of a field, or else the name of API and manual fields,
    or else that of synced fields: a sync does not change what a title means. `esp_names` are keys
    by ESP name. Titles and names are compared in Unicode NFC. `definitions` are the keys of the
    fields that stand for others, by the keys of these: their names mean the field that stands for
    them.
    """
    require_type(Iterable, titles=titles)
    require_type(Collection, fields=fields)
    require_type(Mapping | None, definitions=definitions, esp_names=esp_names)
    definitions, esp_names = definitions or {}, esp_names or {}
    by_esp_name = {normalize_nfc(name): key for name, key in esp_names.items()} | dict(esp_names)
    by_key = {str(field.key): FieldKey(field.key) for field in fields}
    defined: dict[str, dict[FieldKey, None]] = {}
    synced: dict[str, dict[FieldKey, None]] = {}
    for field in fields:
        by_name = defined if field.origin.integration_id is None else synced
        key = by_key[definitions.get(field.key, field.key)]
        by_name.setdefault(clean_line(field.name), {})[key] = None

    def find(title: str) -> Sequence[FieldKey]:
        key = by_esp_name.get(title) or by_esp_name.get(normalize_nfc(title), title)
        if key in by_key:
            return [by_key[key]]
        name = clean_line(title)
        return [*(defined.get(name) or synced.get(name) or ())]

    return {title: find(title) for title in titles}


def match_columns(
    titles: Iterable[str],
    fields: Collection[Field],
    definitions: Mapping[str, str] | None = None,
    esp_names: Mapping[str, str] | None = None,
) -> Mapping[str, FieldKey]:
    """Return the keys of the columns that are recipient fields, by title.

    Such a title means exactly one field. The arguments are those of `find_columns`.
    """
    found = find_columns(titles, fields, definitions, esp_names)
    return {title: keys[0] for title, keys in found.items() if len(keys) == 1}


def propose_keys(titles: Collection[str], taken: Collection[str] = ()) -> Mapping[str, FieldKey]:
    """Return a key for the field of each column, by title. No key is repeated or `taken`.

    A title that is a key is the key of its column. Other keys are derived from the titles. If the
    derived key is reserved, it gets the prefix `field_`. If there is none, the key has the number
    of the column, such as `field_3`.
    """
    require_type(Collection, titles=titles, taken=taken)
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
