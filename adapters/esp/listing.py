"""Shared parts of the field lists of ESPs: items, types, options, duplicates, pages by offset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import count
from typing import TypeAlias, TypeVar

from recipient_fields.application import InvalidDocument
from recipient_fields.domain import DataType
from recipient_fields.domain.integrations import EspField, RefusedField, ReportedField

from .api import Api
from .responses import Item, Response, describe, read_item
from .run import Run

T = TypeVar("T")

_MAX_TYPE_NAME = 40


class Unsupported(Enum):
    """The reasons why a type of an ESP can't be a recipient field. The values are messages."""

    LIST = "It holds a list of values; a recipient field holds one."
    OBJECT = "It holds an object; a recipient field holds one value."
    ENCRYPTED = "It holds encrypted values; a recipient field holds plain ones."


UNDOCUMENTED = object()
"""Options in a form that the ESP does not document."""

Types: TypeAlias = Mapping[str, DataType | Unsupported]
"""The data type for each type of an ESP."""


def report(
    name: str,
    type_name: object,
    types: Types,
    *,
    label: object = None,
    options: object = None,
    default: object = None,
) -> ReportedField:
    """Return the custom field of an ESP, or a RefusedField if it has no data type.

    `label`, `options` and `default` are as the ESP sends them. Without options, the field allows
    any value. A label or options of an undocumented type are a caveat, and such a default counts as
    none.
    """
    if not isinstance(type_name, str):
        return RefusedField(name, "The ESP does not state its type.")
    data_type = types.get(type_name)
    if data_type is None:
        return RefusedField(name, f"Its type {type_name[:_MAX_TYPE_NAME]!a} is unknown.")
    if isinstance(data_type, Unsupported):
        return RefusedField(name, data_type.value)
    caveats = []
    if not isinstance(label, str | None):
        caveats.append("Its label is left out, because the ESP does not send it as a text.")
    if not isinstance(options, list | None):
        caveats.append(
            "Its choices are left out, because the ESP does not list them as documented."
        )
    return EspField(
        name=name,
        data_type=data_type,
        label=label if isinstance(label, str) else None,
        allowed_values=tuple(options) if isinstance(options, list) and options else None,
        default=default if isinstance(default, str) and default else None,
        caveats=tuple(caveats),
    )


def choices_in(options: object, member: str) -> object:
    """Return this member of each option. An option without it, or without members, has None."""
    if not isinstance(options, list):
        return options
    return [option.get(member) if isinstance(option, dict) else None for option in options]


def report_items(
    api: Api,
    items: Iterable[Item],
    kind: type[T],
    report_item: Callable[[T], ReportedField | None],
    *,
    name: str = "name",
) -> Iterator[ReportedField]:
    """Yield the field of each item, or a RefusedField if the item does not match the class.

    The class requires types of the members only without which there is no code for the field.
    `name` is the member that contains the name of the field. `report_item` returns None for a field
    that is not reported.

    Raises: EspRefused if an item has no name. A sync would remove the stored field of this item.
    """
    for item in items:
        field_name = item.get(name)
        if not isinstance(field_name, str):
            raise api.undocumented(f"a field has no {name}")
        try:
            value = read_item(item, kind)
        except InvalidDocument as invalid:
            reason = f"The ESP does not describe it as documented: {describe(invalid)}"
            yield RefusedField(field_name, reason)
            continue
        reported = report_item(value)
        if reported is not None:
            yield reported


class ListedFields:
    """The fields that have been listed, by their id or name.

    If one is listed twice, pages overlap because fields changed, and other fields are missing.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen: set[str] = set()

    def add(self, identity: str) -> None:
        """Add the field. Raises: EspUnavailable if it was listed before."""
        if identity in self._seen:
            raise self._api.unavailable("listed a field twice: its fields changed during the run")
        self._seen.add(identity)

    def __len__(self) -> int:
        return len(self._seen)


def counted_pages(
    run: Run,
    api: Api,
    path: str,
    page_size: Mapping[str, int],
    read: Callable[[Response], tuple[T, int, Sequence[str]]],
) -> Iterator[T]:
    """Yield the pages of a list that is read by offset and contains its total in each page.

    `read` returns a page with the number of fields on all pages, and the id of each field of this
    page, or its name if it has no id.

    Raises: EspUnavailable if the total changes, if it is not the number of fields, or if a field is
    listed twice: when a field is deleted, another one moves to a page that was read before.
    """
    listed = ListedFields(api)
    expected = None
    for pages in count():
        run.check_page_limit(api, pages)
        response = run.get(api, path, {**page_size, "offset": len(listed)})
        page, total, identities = read(response)
        for identity in identities:
            listed.add(identity)
        ends_early = not identities and len(listed) < total
        if ends_early or len(listed) > total or expected not in {None, total}:
            raise api.unavailable(
                "listed another number of fields than its total: they changed during the run"
            )
        expected = total
        yield page
        if len(listed) == total:
            return
