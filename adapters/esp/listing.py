"""What the listings of ESPs have in common: types, options, pages by offset, no field twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import count
from typing import TypeAlias

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import EspField, RefusedField, ReportedField

from .answers import Answer
from .api import Api
from .run import Run

_LONGEST_TYPE = 40


class Unfit(Enum):
    """Why no recipient field can stand for an ESP's; the values are sentences."""

    LIST = "It holds a list of values; a recipient field holds one."
    OBJECT = "It holds an object; a recipient field holds one value."


Types: TypeAlias = Mapping[str, DataType | Unfit]
"""What becomes of an ESP's types."""


def report(
    name: str,
    type_name: str,
    types: Types,
    *,
    label: str | None = None,
    options: Sequence[str] = (),
) -> ReportedField:
    """The ESP's custom field; refused where its type has no counterpart. No options: any value."""
    counterpart = types.get(type_name)
    if isinstance(counterpart, DataType):
        return EspField(
            name=name, data_type=counterpart, label=label, allowed_values=tuple(options) or None
        )
    if counterpart is None:
        return RefusedField(name, f"Its type {type_name[:_LONGEST_TYPE]!a} is not known here.")
    return RefusedField(name, counterpart.value)


class Once:
    """Sees to it that no field is listed twice: then pages overlap, and others were left out."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen: set[object] = set()

    def note(self, identity: object) -> None:
        """EspUnavailable where that one was noted before."""
        if identity in self._seen:
            raise self._api.unavailable("lists a field twice; its fields changed meanwhile")
        self._seen.add(identity)

    def __len__(self) -> int:
        return len(self._seen)


def counted_pages(
    run: Run,
    api: Api,
    path: str,
    page_size: Mapping[str, int],
    *,
    items: str,
    identity: str,
    total: Callable[[Answer], Answer],
) -> Iterator[Answer]:
    """Every page of a listing that is asked for by offset and tells its total.

    EspUnavailable unless the total stays the same, and is that of the items, of which none comes
    twice: a field that goes meanwhile moves another one to a page that was read before.
    """
    once = Once(api)
    expected = None
    for pages in count():
        run.require_end(api, pages)
        page = run.get(api, path, {**page_size, "offset": len(once)}).json()
        promised = total(page).number()
        found = page[items].items()
        for item in found:
            once.note(item[identity].number())
        ends_early = not found and len(once) < promised
        if ends_early or len(once) > promised or expected not in {None, promised}:
            raise api.unavailable("lists not as many fields as it says; they changed meanwhile")
        expected = promised
        yield page
        if len(once) == promised:
            return
