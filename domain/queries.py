"""Asking for some of an organization's fields, in an order, a page at a time.

HTTP contract, section 4. `FieldQuery` says what every storage must answer; a storage with a query
language says the same in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum
from typing import TypeAlias, TypeVar

from attrs import Factory, field, frozen
from attrs.converters import optional

from .errors import InvalidField, InvalidQuery, Rule, Violation
from .fields import Catalog, RecipientField, catalog_tag
from .identity import FieldId, IntegrationId, OrganizationId
from .instants import whole_milliseconds
from .origins import Source
from .suggestions import nearest
from .text import LONGEST_FORM, unstorable
from .values import LARGEST_INTEGER, DataType, FieldKey

E = TypeVar("E", bound=Enum)
T = TypeVar("T")

SortValue: TypeAlias = int | str | datetime


class SortKey(Enum):
    """What fields can be ordered by: texts by code points, whatever the storage."""

    ID = "id"
    KEY = "key"
    NAME = "name"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"

    @property
    def kind(self) -> type[SortValue]:
        """What is compared in this order: int, str or datetime."""
        return _KINDS[self]


def _value(given: SortValue) -> SortValue:
    if isinstance(given, datetime):
        try:
            return whole_milliseconds(given)
        except (ValueError, OverflowError):
            message = "A time needs a time zone, and a year from 1 to 9999 in UTC."
            raise _invalid(Rule.FORMAT, message, "value") from None
    if isinstance(given, str):
        violation = unstorable(given)
        if violation is not None:
            raise InvalidQuery([violation.under("value")])
        return given
    return _storable_integer(given, "value")


def _id(given: FieldId) -> FieldId:
    return FieldId(_storable_integer(given, "id"))


def _sources(given: Iterable[Source | str]) -> frozenset[Source]:
    return frozenset(_named(Source, each, "sources") for each in _several(given, "sources"))


def _data_types(given: Iterable[DataType | str]) -> frozenset[DataType]:
    several = _several(given, "data_types")
    return frozenset(_named(DataType, each, "data_types") for each in several)


def _keys(given: Iterable[str]) -> frozenset[FieldKey]:
    keys = set()
    for each in _several(given, "keys"):
        with suppress(InvalidField):
            keys.add(FieldKey(_of(str, each, "keys")))
    return frozenset(keys)


def _integration_ids(given: Iterable[IntegrationId]) -> frozenset[IntegrationId]:
    several = _several(given, "integration_ids")
    ids = [IntegrationId(_of(int, each, "integration_ids")) for each in several]
    return frozenset(each for each in ids if 1 <= each <= LARGEST_INTEGER)


def _insertable(given: bool) -> bool:  # noqa: FBT001 (a converter)
    return _of(bool, given, "insertable")


def _text(given: str) -> str:
    return _of(str, given, "text")


def _sort(given: SortKey | str) -> SortKey:
    return _named(SortKey, given, "sort")


def _descending(given: bool) -> bool:  # noqa: FBT001
    return _of(bool, given, "descending")


def _limit(given: int) -> int:
    if _of(int, given, "limit") < 1:
        message = "A page has at least one field. Give no limit where all are wanted."
        raise _invalid(Rule.OUT_OF_RANGE, message, "limit")
    return min(given, LARGEST_INTEGER)


def _after(given: Position) -> Position:
    return _of(Position, given, "after")


@frozen
class Position:
    """A place in an order: just behind a field that has this value and this id.

    The `next` of a page is one; there needs to be no such field. The value is an integer, a text
    that can be stored or a time with its zone, cut to whole milliseconds. InvalidQuery where it is
    something else, or where an integer is beyond ±(2^53-1).
    """

    value: SortValue = field(converter=_value)
    id: FieldId = field(converter=_id)


@frozen(kw_only=True)
class FieldQuery:
    """Which fields, in which order, and how many of them.

    None filters nothing; several values are alternatives, none of them finds nothing. `text` is a
    part of the name, the key or the ESP's field name, whatever its case. Fields that are equal by
    `sort` stand by ascending id, in a descending order too. `after` begins the page behind that
    position.

    Sources, data types and the order may be given by their names. A key, an integration's id or a
    text that no field can have is no mistake, and finds nothing. InvalidQuery where a member is of
    a wrong type, a name is unknown, `limit` is less than 1, or `after` does not fit `sort`.

    Whatever a query holds, a storage can take: such keys and ids are left out, and it looks for
    `folded_text`, which is made of `text`, among folded names.
    """

    sources: frozenset[Source] | None = field(converter=optional(_sources), default=None)
    data_types: frozenset[DataType] | None = field(converter=optional(_data_types), default=None)
    keys: frozenset[FieldKey] | None = field(converter=optional(_keys), default=None)
    integration_ids: frozenset[IntegrationId] | None = field(
        converter=optional(_integration_ids), default=None
    )
    insertable: bool | None = field(converter=optional(_insertable), default=None)
    text: str | None = field(converter=optional(_text), default=None)
    sort: SortKey = field(converter=_sort, default=SortKey.ID)
    descending: bool = field(converter=_descending, default=False)
    limit: int | None = field(converter=optional(_limit), default=None)
    after: Position | None = field(converter=optional(_after), default=None)
    folded_text: str | None = field(
        init=False,
        eq=False,
        repr=False,
        default=Factory(lambda self: _findable(self.text), takes_self=True),
    )

    def __attrs_post_init__(self) -> None:
        kind = self.sort.kind
        if self.after is not None and not isinstance(self.after.value, kind):
            message = f"In the order of {self.sort.value}, this must be {_KIND_NAMES[kind]}."
            raise _invalid(Rule.TYPE, message, "after", "value")

    def matches(self, field: RecipientField) -> bool:
        """Does the field pass every filter?"""
        return (
            _among(field.origin.source, self.sources)
            and _among(field.data_type, self.data_types)
            and _among(field.key, self.keys)
            and _among(field.origin.integration_id, self.integration_ids)
            and self.insertable in {None, field.insertable}
            and (self.folded_text is None or _contains(field, self.folded_text))
        )

    def position_of(self, field: RecipientField) -> Position:
        """Where the field stands in the order."""
        return Position(_SORT_VALUES[self.sort](field), field.id)

    def is_next(self, field: RecipientField) -> bool:
        """Does the field stand behind the position the page begins at?"""
        if self.after is None:
            return True
        value = _SORT_VALUES[self.sort](field)
        if value == self.after.value:
            return field.id > self.after.id
        return (value < self.after.value) is self.descending  # type: ignore[operator]

    def select(self, catalog: Catalog) -> FieldPage:
        """What the query asks for, of a catalog at hand."""
        matches = [field for field in catalog.fields if self.matches(field)]
        matches.sort(key=lambda field: field.id)
        matches.sort(key=_SORT_VALUES[self.sort], reverse=self.descending)
        rest = [field for field in matches if self.is_next(field)]
        return self.page(catalog.organization_id, catalog.revision, rest, len(matches))

    def page(
        self,
        organization_id: OrganizationId,
        revision: int,
        rest: Sequence[RecipientField],
        total: int,
    ) -> FieldPage:
        """The page of these fields, of which there is at least one too many unless it is the last.

        `rest` is in order and begins behind `after`.
        """
        fields = tuple(rest[: self.limit])
        more = len(rest) > len(fields)
        return FieldPage(
            organization_id, revision, fields, total, self.position_of(fields[-1]) if more else None
        )


@frozen
class FieldPage:
    """A page of an organization's fields.

    `total` counts the fields that the query matches on all pages; `next` is where the next page
    begins, None on the last. All of it belongs to one `revision` of the catalog.
    """

    organization_id: OrganizationId
    revision: int
    fields: tuple[RecipientField, ...]
    total: int
    next: Position | None

    @property
    def version_tag(self) -> str:
        """Names this state of the catalog; see Catalog."""
        return catalog_tag(self.organization_id, self.revision)


def folded(text: str) -> str:
    """The text without its case: texts that differ by case alone are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _findable(text: str | None) -> str | None:
    if text is None:
        return None
    # Folding takes time quadratic in the length, so a longer text is better not folded.
    if len(text) > LONGEST_FORM or unstorable(text) is not None:
        return _NOWHERE
    return folded(text)


def _several(given: Iterable[T], member: str) -> Iterable[T]:
    # A text is iterable too, yet never meant as several.
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return given
    raise _invalid(Rule.TYPE, "This must be a set of values, even if it is only one.", member)


def _named(kind: type[E], given: E | str, member: str) -> E:
    if isinstance(given, kind):
        return given
    name = _of(str, given, member)
    names = [each.value for each in kind]
    if name in names:
        return kind(name)
    message = f"Use one of {', '.join(names)}."
    raise InvalidQuery([Violation(Rule.UNKNOWN_VALUE, message, (member,), nearest(name, names))])


def _storable_integer(given: object, member: str) -> int:
    number = _of(int, given, member)
    if abs(number) > LARGEST_INTEGER:
        message = f"This must be between -{LARGEST_INTEGER} and {LARGEST_INTEGER}."
        raise _invalid(Rule.OUT_OF_RANGE, message, member)
    return number


def _of(kind: type[T], given: object, member: str) -> T:
    if isinstance(given, kind) and isinstance(given, bool) is (kind is bool):  # True is an int.
        return given
    raise _invalid(Rule.TYPE, f"This must be {_KIND_NAMES[kind]}.", member)


def _invalid(rule: Rule, message: str, *path: str) -> InvalidQuery:
    return InvalidQuery([Violation(rule, message, path)])


def _among(value: object, alternatives: frozenset[object] | None) -> bool:
    return alternatives is None or value in alternatives


def _contains(field: RecipientField, text: str) -> bool:
    names = (field.name, field.key, field.origin.esp_field_name or "")
    return any(text in folded(name) for name in names)


_SORT_VALUES: Mapping[SortKey, Callable[[RecipientField], SortValue]] = {
    SortKey.ID: lambda field: field.id,
    SortKey.KEY: lambda field: field.key,
    SortKey.NAME: lambda field: field.name,
    SortKey.CREATED_AT: lambda field: field.created_at,
    SortKey.UPDATED_AT: lambda field: field.updated_at,
}
_KINDS: Mapping[SortKey, type[SortValue]] = {
    SortKey.ID: int,
    SortKey.KEY: str,
    SortKey.NAME: str,
    SortKey.CREATED_AT: datetime,
    SortKey.UPDATED_AT: datetime,
}
_KIND_NAMES: Mapping[type[object], str] = {
    bool: "true or false",
    int: "an integer",
    str: "a string",
    datetime: "a datetime",
    Position: "a Position, as a page's next is",
}
_NOWHERE = "A"
"""Part of no folded text, for those have no capital letters."""
