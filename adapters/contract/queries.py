"""Filtering, ordering and paging."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    DataType,
    FieldKey,
    FieldQuery,
    IntegrationId,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    SortKey,
    Source,
    sync_of,
)

from .examples import NEVER_GIVEN, a_definition, permit, renaming

SYNC = sync_of(IntegrationId(7))

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
"""Parts of a name, a key or an ESP's field name, and the keys of the fields they find."""


class QueryCases:
    """`select` answers what FieldQuery says, of one state of the catalog."""

    @pytest.fixture
    def shelf(self, fields: FieldRepository, ours: OrganizationId) -> OrganizationId:
        """An organization with fields of every kind, some with equal names."""
        for definition in (
            a_definition("city", name="b"),
            a_definition("zip", name="a", data_type=DataType.NUMBER, insertable=False),
            a_definition("size", name="Größe", by=ADMINISTRATOR),
            a_definition("greek", name="Όσας"),
            a_definition("loyalty_tier", name="a", data_type=DataType.DATE),
            a_definition("percent", name="100 % \\ sure"),
            a_definition("first", name="b", by=SYNC, esp_field_name="FName"),
            a_definition("emoji", name="😀", insertable=False),
            a_definition("private_use", name="\uf8ff"),
            a_definition("upper", name="B", by=ADMINISTRATOR),
        ):
            fields.add(ours, definition)
        fields.update(ours, FieldKey("zip"), renaming("aa"))
        return ours

    @pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
    @pytest.mark.parametrize(("sort", "descending"), list(product(SortKey, (False, True))))
    def test_every_page_is_what_the_query_says_of_the_catalog(
        self,
        fields: FieldRepository,
        shelf: OrganizationId,
        filters: dict[str, Any],
        sort: SortKey,
        *,
        descending: bool,
    ) -> None:
        catalog = fields.all(shelf)
        query = FieldQuery(**filters, sort=sort, descending=descending, limit=2)
        for _ in range(len(catalog.fields)):
            page = fields.select(shelf, query)
            assert page == query.select(catalog)
            if page.next is None:
                break
            query = evolve(query, after=page.next)

    def test_without_a_limit_everything_is_one_page(
        self, fields: FieldRepository, shelf: OrganizationId
    ) -> None:
        page = fields.select(shelf, FieldQuery())
        catalog = fields.all(shelf)
        assert (page.fields, page.total) == (catalog.fields, len(catalog.fields))
        assert (page.next, page.revision) == (None, catalog.revision)

    @pytest.mark.parametrize(("text", "keys"), TEXTS.items(), ids=TEXTS)
    def test_a_text_is_looked_for_in_name_key_and_esp_name_whatever_its_case(
        self, fields: FieldRepository, shelf: OrganizationId, text: str, keys: set[str]
    ) -> None:
        found = fields.select(shelf, FieldQuery(text=text)).fields
        assert {field.key for field in found} == keys

    def test_names_are_ordered_by_code_points_and_equal_ones_by_id(
        self, fields: FieldRepository, shelf: OrganizationId
    ) -> None:
        rising = fields.select(shelf, FieldQuery(sort=SortKey.NAME)).fields
        falling = fields.select(shelf, FieldQuery(sort=SortKey.NAME, descending=True)).fields
        names = [field.name for field in rising]
        assert names == sorted(names)
        assert [field.name for field in falling] == names[::-1]
        for order in (rising, falling):
            assert [field.key for field in order if field.name == "b"] == ["city", "first"]

    @pytest.mark.parametrize("sort", SortKey)
    def test_what_comes_and_goes_between_pages_neither_repeats_nor_hides_a_field(
        self, fields: FieldRepository, shelf: OrganizationId, sort: SortKey
    ) -> None:
        stayed = {field.id for field in fields.all(shelf).fields}
        seen: list[RecipientField] = []
        query = FieldQuery(sort=sort, limit=2)
        for turn in range(len(stayed)):
            page = fields.select(shelf, query)
            seen += page.fields
            if page.next is None:
                break
            fields.add(shelf, a_definition(f"a{turn}", name=f"{turn}"))
            gone = page.fields[-1]
            fields.delete(shelf, gone.id, permit)
            stayed.discard(gone.id)
            query = evolve(query, after=page.next)
        ids = [field.id for field in seen]
        assert len(set(ids)) == len(ids)
        assert stayed <= set(ids)

    def test_another_organizations_fields_are_never_selected(
        self, fields: FieldRepository, shelf: OrganizationId, theirs: OrganizationId
    ) -> None:
        fields.add(theirs, a_definition("city"))
        for whose in (shelf, theirs):
            page = fields.select(whose, FieldQuery(keys=frozenset({FieldKey("city")})))
            assert [field.organization_id for field in page.fields] == [whose]
            assert page.total == 1

    @pytest.mark.parametrize("never_given", NEVER_GIVEN)
    def test_an_organization_that_was_never_made_has_no_pages(
        self, fields: FieldRepository, never_given: int
    ) -> None:
        with pytest.raises(OrganizationNotFound):
            fields.select(OrganizationId(never_given), FieldQuery())

    def test_an_integration_that_no_column_can_hold_has_no_fields(
        self, fields: FieldRepository, shelf: OrganizationId
    ) -> None:
        ids = frozenset(IntegrationId(never_given) for never_given in NEVER_GIVEN)
        assert fields.select(shelf, FieldQuery(integration_ids=ids)).fields == ()
