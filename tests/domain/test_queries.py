"""Queries: which fields, in which order, a page at a time."""

from __future__ import annotations

import unicodedata
from datetime import timedelta
from string import ascii_lowercase

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Catalog,
    DataType,
    FieldId,
    FieldKey,
    FieldName,
    FieldQuery,
    IntegrationId,
    OrganizationId,
    SortKey,
    Source,
    folded,
    sync_of,
)

SEVEN, EIGHT = IntegrationId(7), IntegrationId(8)
QUERIES = st.builds(
    FieldQuery,
    sources=st.none() | st.frozensets(st.sampled_from(Source)),
    insertable=st.none() | st.booleans(),
    text=st.none() | st.sampled_from(["a", "NAME", "zz"]),
    sort=st.sampled_from(SortKey),
    descending=st.booleans(),
)


@pytest.fixture(scope="session")
def catalog(make_field, noon):
    """Six fields, 1 to 6, with ties in every order but that of ids and keys."""
    fields = (
        make_field(name="Größe", key="size", data_type=DataType.NUMBER),
        make_field(ADMINISTRATOR, name="apple", key="zz", insertable=False),
        make_field(sync_of(SEVEN), name="Zebra", key="b2", esp_field_name="FNAME"),
        make_field(sync_of(EIGHT), name="apple", key="b_1", esp_field_name="Straße"),
        make_field(API, name="\U0001f680", key="rocket"),
        make_field(API, name="\uff21", key="wide"),
    )
    ages = (3, 1, 2, 1, 3, 2)
    return Catalog(
        OrganizationId(1),
        9,
        tuple(
            evolve(field, id=FieldId(i), updated_at=noon + timedelta(days=age))
            for i, (field, age) in enumerate(zip(fields, ages, strict=True), 1)
        ),
    )


def found(catalog, **query):
    return [field.id for field in FieldQuery(**query).select(catalog).fields]


def test_orders_are_known_by_the_names_of_members():
    members = ["id", "key", "name", "created_at", "updated_at"]
    assert [each.value for each in SortKey] == members


def test_without_a_filter_everything_is_found_by_id(catalog):
    assert found(catalog) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"sources": {Source.MANUAL}}, [2]),
        ({"sources": {Source.MANUAL, Source.INTEGRATION}}, [2, 3, 4]),
        ({"sources": set()}, []),
        ({"data_types": {DataType.NUMBER}}, [1]),
        ({"data_types": {DataType.DATE}}, []),
        ({"keys": {FieldKey("zz"), FieldKey("size"), FieldKey("none_such")}}, [1, 2]),
        ({"integration_ids": {EIGHT}}, [4]),
        ({"integration_ids": {SEVEN, EIGHT}}, [3, 4]),
        ({"insertable": False}, [2]),
        ({"insertable": True}, [1, 3, 4, 5, 6]),
        ({"sources": {Source.INTEGRATION}, "text": "apple"}, [4]),
    ],
)
def test_a_filter_keeps_the_fields_that_have_one_of_its_values(query, ids, catalog):
    alternatives = {n: frozenset(v) if isinstance(v, set) else v for n, v in query.items()}
    assert found(catalog, **alternatives) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("APPLE", [2, 4]),
        ("grö", [1]),
        ("GRO\u0308SS", [1]),
        ("SIZ", [1]),
        ("fname", [3]),
        ("strasse", [4]),
        ("b_", [4]),
        ("%", []),
        ("", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_a_text_is_a_part_of_the_name_the_key_or_the_esp_s_name_in_any_case(text, ids, catalog):
    assert found(catalog, text=text) == ids


def test_a_field_that_no_esp_names_is_found_by_its_name_and_key_alone(make_field):
    field = make_field(name="Size", key="wide")
    assert {c for c in ascii_lowercase if FieldQuery(text=c).matches(field)} == set("sizewide")


@pytest.mark.parametrize(
    ("sort", "ascending", "descending"),
    [
        (SortKey.ID, [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]),
        (SortKey.KEY, [3, 4, 5, 1, 6, 2], [2, 6, 1, 5, 4, 3]),
        (SortKey.NAME, [1, 3, 2, 4, 6, 5], [5, 6, 2, 4, 3, 1]),
        (SortKey.CREATED_AT, [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
        (SortKey.UPDATED_AT, [2, 4, 3, 6, 1, 5], [1, 5, 3, 6, 2, 4]),
    ],
)
def test_an_order_goes_by_code_points_and_ties_go_by_ascending_id(
    sort, ascending, descending, catalog
):
    assert found(catalog, sort=sort) == ascending
    assert found(catalog, sort=sort, descending=True) == descending


@given(query=QUERIES, limit=st.integers(1, 7))
def test_the_pages_together_are_the_whole_list(query, limit, catalog):
    whole = query.select(catalog)
    pages = [evolve(query, limit=limit).select(catalog)]
    while pages[-1].next is not None and len(pages) <= len(whole.fields):
        pages.append(evolve(query, limit=limit, after=pages[-1].next).select(catalog))
    assert tuple(field for page in pages for field in page.fields) == whole.fields
    assert {len(page.fields) for page in pages[:-1]} <= {limit}
    assert {page.total for page in pages} == {whole.total} == {len(whole.fields)}


@given(query=QUERIES)
def test_a_list_without_a_limit_is_one_page(query, catalog):
    assert query.select(catalog).next is None


@pytest.mark.parametrize("descending", [False, True])
def test_a_page_goes_on_behind_a_field_that_is_gone(descending, catalog):
    query = FieldQuery(sort=SortKey.NAME, descending=descending, limit=3)
    first = query.select(catalog)
    remaining = [field for field in catalog.fields if field != first.fields[-1]]
    rest = evolve(query, after=first.next).select(evolve(catalog, fields=tuple(remaining)))
    whole = evolve(query, limit=None).select(catalog)
    assert rest.fields == whole.fields[3:]


def test_a_page_belongs_to_one_revision_of_the_catalog(catalog):
    page = FieldQuery(limit=2).select(catalog)
    assert (page.organization_id, page.revision) == (1, 9)
    assert page.version_tag == catalog.version_tag


@given(st.text(st.characters(codec=None)))
def test_a_text_has_one_folded_form_composed_or_not(text):
    forms = {folded(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert forms == {folded(text)}


@given(st.text(st.characters(codec="ascii")))
def test_ascii_letters_fold_to_lower_case(text):
    assert folded(text) == text.lower()


def test_a_name_that_is_no_latin_letter_is_found_in_its_other_case(make_field):
    field = evolve(make_field(), name=FieldName("ΣΊΣΥΦΟΣ"))
    assert FieldQuery(text="σίσυφος").matches(field)
