"""Asking for some of an organization's fields, in an order, a page at a time.

HTTP contract, section 4. `FieldQuery` says what every storage must answer; a storage with a query
language says the same in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from attrs import frozen

from .fields import Catalog, RecipientField, catalog_tag
from .identity import FieldId, IntegrationId, OrganizationId
from .origins import Source
from .values import DataType, FieldKey

SortValue: TypeAlias = int | str | datetime


class SortKey(Enum):
    """What fields can be ordered by: texts by code points, whatever the storage."""

    ID = "id"
    KEY = "key"
    NAME = "name"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"


@frozen
class Position:
    """A place in an order: just behind a field that has this value and this id."""

    value: SortValue
    id: FieldId


@frozen(kw_only=True)
class FieldQuery:
    """Which fields, in which order, and how many of them.

    None filters nothing; several values are alternatives. `text` is a part of the name, the key or
    the ESP's field name, whatever its case. Fields that are equal by `sort` stand by ascending id,
    in a descending order too. `after` begins the page behind that position.
    """

    sources: frozenset[Source] | None = None
    data_types: frozenset[DataType] | None = None
    keys: frozenset[FieldKey] | None = None
    integration_ids: frozenset[IntegrationId] | None = None
    insertable: bool | None = None
    text: str | None = None
    sort: SortKey = SortKey.ID
    descending: bool = False
    limit: int | None = None
    after: Position | None = None

    def matches(self, field: RecipientField) -> bool:
        """Does the field pass every filter?"""
        return (
            _among(field.origin.source, self.sources)
            and _among(field.data_type, self.data_types)
            and _among(field.key, self.keys)
            and _among(field.origin.integration_id, self.integration_ids)
            and self.insertable in {None, field.insertable}
            and (self.text is None or _contains(field, folded(self.text)))
        )

    def position_of(self, field: RecipientField) -> Position:
        """Where the field stands in the order."""
        return Position(_SORT_VALUES[self.sort](field), field.id)

    def is_next(self, field: RecipientField) -> bool:
        """Does the field stand behind the position the page begins at?"""
        if self.after is None:
            return True
        place = self.position_of(field)
        if place.value == self.after.value:
            return place.id > self.after.id
        return (place.value < self.after.value) is self.descending  # type: ignore[operator]

    def select(self, catalog: Catalog) -> FieldPage:
        """What the query asks for, of a catalog at hand."""
        matches = [field for field in catalog.fields if self.matches(field)]
        matches.sort(key=lambda field: field.id)
        matches.sort(key=lambda field: self.position_of(field).value, reverse=self.descending)
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
