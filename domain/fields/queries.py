"""Queries: filters, order and pagination of an organization's fields.

`FieldQuery.select` defines the result for every storage. A storage with a query language must
return the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from attrs import Factory, field, frozen, validators
from attrs.converters import optional

from ..errors import InvalidQuery, Rule
from ..identity import FieldId, IntegrationId, OrganizationId
from ..instants import whole_milliseconds
from ..text import MAX_UNNORMALIZED_LENGTH, character_violation, fold_case
from .field import Catalog, RecipientField, catalog_version_tag
from .origins import Source
from .query_members import (
    TYPE_NAMES,
    among,
    enum_member,
    enum_members,
    invalid_member,
    of_type,
    possible_ids,
    possible_keys,
    require_member_type,
    require_safe_integer,
    to_sources,
)
from .values import MAX_SAFE_INTEGER, DataType, FieldKey

__all__ = ["FieldPage", "FieldQuery", "Position", "SortKey", "SortValue"]

SortValue: TypeAlias = int | str | datetime


class SortKey(Enum):
    """The orders of fields. Every storage compares texts by code points."""

    ID = "id"
    KEY = "key"
    NAME = "name"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"

    @property
    def value_type(self) -> type[SortValue]:
        """The type of the values that this order compares: int, str or datetime."""
        return _VALUE_TYPES[self]


def _sort_value(value: SortValue) -> SortValue:
    if isinstance(value, datetime):
        try:
            return whole_milliseconds(value)
        except (ValueError, OverflowError):
            message = "A time must have a time zone, and a year from 1 to 9999 in UTC."
            raise invalid_member(Rule.FORMAT, message, "value") from None
    if isinstance(value, str):
        violation = character_violation(value)
        if violation is not None:
            raise InvalidQuery([violation.prefixed("value")])
        return value
    return require_safe_integer(value, "value")


def _id(value: FieldId) -> FieldId:
    return FieldId(require_safe_integer(value, "id"))


def _data_types(values: Iterable[DataType | str]) -> frozenset[DataType]:
    return enum_members(DataType, values, "data_types")


def _integration_ids(values: Iterable[IntegrationId]) -> frozenset[IntegrationId]:
    return frozenset(map(IntegrationId, possible_ids(values, "integration_ids")))


def _text(value: str) -> str:
    return require_member_type(str, value, "text")


def _sort(value: SortKey | str) -> SortKey:
    return enum_member(SortKey, value, "sort")


def _limit(value: int) -> int:
    if require_member_type(int, value, "limit") < 1:
        message = "The limit must be at least 1. Omit it to get all fields."
        raise invalid_member(Rule.OUT_OF_RANGE, message, "limit")
    return min(value, MAX_SAFE_INTEGER)


@frozen
class Position:
    """A position in an order: directly after a field with this sort value and this id.

    Such a field need not exist. The value is an integer within ±(2^53-1), a text without U+0000 and
    lone surrogates, or an aware datetime, which is truncated to milliseconds.

    Raises: InvalidQuery if the value or the id is anything else.
    """

    value: SortValue = field(converter=_sort_value)
    id: FieldId = field(converter=_id)


@frozen(kw_only=True)
class FieldQuery:
    """A query: which fields, in which order, and how many of them.

    A filter that is None matches every field; otherwise a field must have one of its values, so an
    empty filter matches none. `text` matches a part of the name, the key or the ESP field name,
    case-insensitively. Fields with equal sort values are ordered by ascending id, also in a
    descending order. The page starts after the position `after`.

    Sources, data types and the order can be given by name. Keys, integration ids and texts that no
    field can have are valid and match nothing. The query omits such keys and ids, so storages need
    not check them. Storages search for `folded_text`, which is derived from `text`, in names that
    `fold_case` has folded.

    If `counterparts` is false, the page has no synced field for which another field stands. This
    depends on ESP names, so it is applied by the use case, with `without_counterparts`: `matches`,
    `select` and storages ignore it.

    Raises: InvalidQuery if a member has the wrong type, a name is unknown, `limit` is less than 1,
    or the value of `after` does not have the type that `sort` compares.
    """

    sources: frozenset[Source] | None = field(converter=optional(to_sources), default=None)
    data_types: frozenset[DataType] | None = field(converter=optional(_data_types), default=None)
    keys: frozenset[FieldKey] | None = field(converter=optional(possible_keys), default=None)
    integration_ids: frozenset[IntegrationId] | None = field(
        converter=optional(_integration_ids), default=None
    )
    insertable: bool | None = field(validator=validators.optional(of_type(bool)), default=None)
    counterparts: bool = field(validator=of_type(bool), default=True)
    text: str | None = field(converter=optional(_text), default=None)
    sort: SortKey = field(converter=_sort, default=SortKey.ID)
    descending: bool = field(validator=of_type(bool), default=False)
    limit: int | None = field(converter=optional(_limit), default=None)
    after: Position | None = field(validator=validators.optional(of_type(Position)), default=None)
    folded_text: str | None = field(
        init=False,
        eq=False,
        repr=False,
        default=Factory(lambda self: _search_text(self.text), takes_self=True),
    )

    def __attrs_post_init__(self) -> None:
        expected = self.sort.value_type
        if self.after is not None and not isinstance(self.after.value, expected):
            message = f"For the order {self.sort.value}, this must be {TYPE_NAMES[expected]}."
            raise invalid_member(Rule.TYPE, message, "after", "value")

    def matches(self, field: RecipientField) -> bool:
        """Return whether the field matches every filter."""
        return (
            among(field.origin.source, self.sources)
            and among(field.data_type, self.data_types)
            and among(field.key, self.keys)
            and among(field.origin.integration_id, self.integration_ids)
            and self.insertable in {None, field.insertable}
            and (self.folded_text is None or _contains(field, self.folded_text))
        )

    def position_of(self, field: RecipientField) -> Position:
        """Return the position of the field in the order."""
        return Position(_SORT_VALUES[self.sort](field), field.id)

    def starts_before(self, field: RecipientField) -> bool:
        """Return whether the page starts before the field."""
        if self.after is None:
            return True
        value = _SORT_VALUES[self.sort](field)
        if value == self.after.value:
            return field.id > self.after.id
        return (value < self.after.value) is self.descending  # type: ignore[operator]

    def select(self, catalog: Catalog) -> FieldPage:
        """Return the page of the catalog that this query describes."""
        matches = [field for field in catalog.fields if self.matches(field)]
        matches.sort(key=lambda field: field.id)
        matches.sort(key=_SORT_VALUES[self.sort], reverse=self.descending)
        remaining = [field for field in matches if self.starts_before(field)]
        return self.page(catalog.organization_id, catalog.revision, remaining, len(matches))

    def page(
        self,
        organization_id: OrganizationId,
        revision: int,
        remaining: Sequence[RecipientField],
        total: int,
    ) -> FieldPage:
        """Return the page that starts with the first of the `remaining` fields.

        `remaining` contains the ordered matches after the position `after`: all of them, or at
        least one more than `limit`, which shows that another page follows. `total` counts the
        matches on all pages.
        """
        fields = tuple(remaining[: self.limit])
        has_more = len(remaining) > len(fields)
        next_position = self.position_of(fields[-1]) if has_more else None
        return FieldPage(organization_id, revision, fields, total, next_position)


@frozen
class FieldPage:
    """A page of an organization's fields, all from one `revision` of its catalog.

    `total` counts the matches on all pages. `next` is the position where the next page starts, or
    None on the last page.
    """

    organization_id: OrganizationId
    revision: int
    fields: tuple[RecipientField, ...]
    total: int
    next: Position | None

    @property
    def version_tag(self) -> str:
        """The version tag of the catalog at this revision."""
        return catalog_version_tag(self.organization_id, self.revision)


def _search_text(text: str | None) -> str | None:
    if text is None:
        return None
    # No field has such a text, and folding takes quadratic time in the length.
    if len(text) > MAX_UNNORMALIZED_LENGTH or character_violation(text) is not None:
        return _NO_MATCH
    return fold_case(text)


def _contains(field: RecipientField, text: str) -> bool:
    names = (field.name, field.key, field.origin.esp_field_name or "")
    return any(text in fold_case(name) for name in names)


_SORT_VALUES: Mapping[SortKey, Callable[[RecipientField], SortValue]] = {
    SortKey.ID: lambda field: field.id,
    SortKey.KEY: lambda field: field.key,
    SortKey.NAME: lambda field: field.name,
    SortKey.CREATED_AT: lambda field: field.created_at,
    SortKey.UPDATED_AT: lambda field: field.updated_at,
}
_VALUE_TYPES: Mapping[SortKey, type[SortValue]] = {
    SortKey.ID: int,
    SortKey.KEY: str,
    SortKey.NAME: str,
    SortKey.CREATED_AT: datetime,
    SortKey.UPDATED_AT: datetime,
}
_NO_MATCH = "A"
"""No folded text contains it, because folded texts have no capital letters."""
