"""Cases for filters, sort orders and pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    DataType,
    FieldId,
    FieldKey,
    FieldQuery,
    IntegrationId,
    OrganizationId,
    OrganizationNotFound,
    Position,
    RecipientField,
    SortKey,
    SortValue,
    Source,
)

from .examples import (
    MIXED_DEFINITIONS,
    NEVER_ASSIGNED,
    NOW,
    a_definition,
    renaming,
)
from .field_changes import add_field, delete_field, update_field

FILTERS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "one source": {"sources": frozenset({Source.API})},
    "two sources": {"sources": frozenset({Source.MANUAL, Source.INTEGRATION})},
    "a data type": {"data_types": frozenset({DataType.NUMBER, DataType.DATE})},
    "keys": {"keys": frozenset({FieldKey("city"), FieldKey("no_such_key")})},
    "an integration": {"integration_ids": frozenset({IntegrationId(7)})},
    "another integration": {"integration_ids": frozenset({IntegrationId(8)})},
    "insertable": {"insertable": True},
    "not insertable": {"insertable": False},
    "without counterparts, of which there are none": {"counterparts": False},
    "several at once": {"sources": frozenset({Source.API}), "insertable": True, "text": "e"},
}

TEXTS: Mapping[str, set[str]] = {
    "größe": {"size"},
    "GRÖSSE": {"size"},
    "GRO\u0308SSE": {"size"},
    "ΣΑΣ": {"greek"},
    "σας": {"greek"},
    "LOYAL": {"loyalty_tier"},
    "tier_": set(),
    "ty_t": {"loyalty_tier"},
    "%": {"percent"},
    "_%": set(),
    "\\": {"percent"},
    "fname": {"first"},
    "'": set(),
}
"""Parts of a name, key or ESP field name, and the keys of the fields that contain them."""

FILTERS_WITHOUT_MATCHES: Mapping[str, dict[str, Any]] = {
    "no source": {"sources": frozenset()},
    "no data type": {"data_types": frozenset()},
    "no key": {"keys": frozenset()},
    "no integration": {"integration_ids": frozenset()},
    "ids beyond a column": {"integration_ids": frozenset(NEVER_ASSIGNED)},
    "malformed keys": {"keys": {"City", "", "city\0", "\ud800"}},
    "a null character": {"text": "\0"},
    "a null character after a name": {"text": "b\0"},
    "a lone surrogate": {"text": "\ud800"},
    "a capital letter after a lone surrogate": {"text": "\udfffA"},
    "a text longer than all names": {"text": "b" * 1_000_000},
}
"""Filters that no field matches."""

POSITION_VALUES: Mapping[SortKey, tuple[SortValue, ...]] = {
    SortKey.ID: (-MAX_SAFE_INTEGER, 0, 1, 2**31, MAX_SAFE_INTEGER),
    SortKey.KEY: ("", "city", "City", "\U0010ffff"),
    SortKey.NAME: ("", "a", "aaa", "b\n", "\uf8ff", "\U0010ffff", "b" * 1_000),
    **dict.fromkeys(
        (SortKey.CREATED_AT, SortKey.UPDATED_AT),
        (
            datetime(1, 1, 1, tzinfo=UTC),
            NOW,
            NOW + timedelta(microseconds=999),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ),
    ),
}
"""Values that a position may have, including some that no field has."""


class QueryCases:
    """Cases for `select`, which returns the result of FieldQuery for one state of the catalog."""

    @pytest.fixture
    def mixed_fields(self, fields: FieldRepository, ours: OrganizationId) -> OrganizationId:
        """Return an organization with fields of every kind, some with equal names."""
        for definition in MIXED_DEFINITIONS:
            add_field(fields, ours, definition)
        update_field(fields, ours, FieldKey("zip"), renaming("aa"))
        return ours

    @pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
    def test_every_page_is_what_the_query_selects_of_the_catalog(
        self, fields: FieldRepository, mixed_fields: OrganizationId, filters: dict[str, Any]
    ) -> None:
        catalog = fields.all(mixed_fields)
        for sort, descending in product(SortKey, (False, True)):
            query = FieldQuery(**filters, sort=sort, descending=descending, limit=2)
            for _ in range(len(catalog.fields)):
                page = fields.select(mixed_fields, query)
                assert (query, page) == (query, query.select(catalog))
                if page.next is None:
                    break
                query = evolve(query, after=page.next)

    def test_without_a_limit_all_fields_are_one_page(
        self, fields: FieldRepository, mixed_fields: OrganizationId
    ) -> None:
        page = fields.select(mixed_fields, FieldQuery())
        catalog = fields.all(mixed_fields)
        assert (page.fields, page.total) == (catalog.fields, len(catalog.fields))
        assert (page.next, page.revision) == (None, catalog.revision)

    @pytest.mark.parametrize(("text", "keys"), TEXTS.items(), ids=TEXTS)
    def test_a_text_is_found_in_name_key_and_esp_name_in_any_case(
        self, fields: FieldRepository, mixed_fields: OrganizationId, text: str, keys: set[str]
    ) -> None:
        found = fields.select(mixed_fields, FieldQuery(text=text)).fields
        assert {field.key for field in found} == keys

    def test_names_are_ordered_by_code_points_and_equal_names_by_id(
        self, fields: FieldRepository, mixed_fields: OrganizationId
    ) -> None:
        ascending = fields.select(mixed_fields, FieldQuery(sort=SortKey.NAME)).fields
        descending = fields.select(
            mixed_fields, FieldQuery(sort=SortKey.NAME, descending=True)
        ).fields
        names = [field.name for field in ascending]
        assert names == sorted(names)
        assert [field.name for field in descending] == names[::-1]
        for order in (ascending, descending):
            assert [field.key for field in order if field.name == "b"] == ["city", "first"]

    @pytest.mark.parametrize("sort", SortKey)
    def test_changes_between_pages_neither_repeat_nor_hide_a_field(
        self, fields: FieldRepository, mixed_fields: OrganizationId, sort: SortKey
    ) -> None:
        stayed = {field.id for field in fields.all(mixed_fields).fields}
        seen: list[RecipientField] = []
        query = FieldQuery(sort=sort, limit=2)
        for turn in range(len(stayed)):
            page = fields.select(mixed_fields, query)
            seen += page.fields
            if page.next is None:
                break
            add_field(fields, mixed_fields, a_definition(f"a{turn}", name=f"{turn}"))
            deleted = page.fields[-1]
            delete_field(fields, mixed_fields, deleted.id)
            stayed.discard(deleted.id)
            query = evolve(query, after=page.next)
        ids = [field.id for field in seen]
        assert len(set(ids)) == len(ids)
        assert stayed <= set(ids)

    def test_another_organizations_fields_are_never_selected(
        self, fields: FieldRepository, mixed_fields: OrganizationId, theirs: OrganizationId
    ) -> None:
        add_field(fields, theirs, a_definition("city"))
        for organization in (mixed_fields, theirs):
            page = fields.select(organization, FieldQuery(keys=frozenset({FieldKey("city")})))
            assert [field.organization_id for field in page.fields] == [organization]
            assert page.total == 1

    def test_an_unknown_organization_has_no_pages(self, fields: FieldRepository) -> None:
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(OrganizationNotFound):
                fields.select(OrganizationId(never_assigned), FieldQuery())

    @pytest.mark.parametrize(
        "filters", FILTERS_WITHOUT_MATCHES.values(), ids=FILTERS_WITHOUT_MATCHES
    )
    def test_a_filter_that_no_field_can_match_finds_nothing(
        self, fields: FieldRepository, mixed_fields: OrganizationId, filters: dict[str, Any]
    ) -> None:
        page = fields.select(mixed_fields, FieldQuery(**filters, limit=2))
        assert (page.fields, page.total, page.next) == ((), 0, None)

    @pytest.mark.parametrize("limit", [10, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**70])
    def test_a_limit_larger_than_the_catalog_has_no_effect(
        self, fields: FieldRepository, mixed_fields: OrganizationId, limit: int
    ) -> None:
        assert fields.select(mixed_fields, FieldQuery(limit=limit)) == fields.select(
            mixed_fields, FieldQuery()
        )

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("sort", SortKey)
    def test_a_page_begins_after_any_position(
        self,
        fields: FieldRepository,
        mixed_fields: OrganizationId,
        sort: SortKey,
        *,
        descending: bool,
    ) -> None:
        catalog = fields.all(mixed_fields)
        for value, number in product(
            POSITION_VALUES[sort], (-MAX_SAFE_INTEGER, 0, 3, MAX_SAFE_INTEGER)
        ):
            after = Position(value, FieldId(number))
            query = FieldQuery(sort=sort, descending=descending, after=after, limit=2)
            assert fields.select(mixed_fields, query) == query.select(catalog)
