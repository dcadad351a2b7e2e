"""Queries: filters, order and pagination."""

from __future__ import annotations

import sys
import unicodedata
from datetime import UTC, date, datetime, timedelta, timezone
from string import ascii_lowercase, ascii_uppercase

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_SAFE_INTEGER,
    Catalog,
    DataType,
    FieldId,
    FieldKey,
    FieldName,
    FieldQuery,
    IntegrationId,
    InvalidQuery,
    OrganizationId,
    Position,
    SortKey,
    Source,
    fold_case,
    sync_channel,
)

from ...support.growth import assert_grows_linearly

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
    """Six fields, with the ids 1 to 6, with ties in every order except by id and by key."""
    fields = (
        make_field(name="Größe", key="size", data_type=DataType.NUMBER),
        make_field(ADMINISTRATOR, name="apple", key="zz", insertable=False),
        make_field(sync_channel(SEVEN), name="Zebra", key="b2", esp_field_name="FNAME"),
        make_field(sync_channel(EIGHT), name="apple", key="b_1", esp_field_name="Straße"),
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


def test_the_orders_have_the_names_of_members():
    members = ["id", "key", "name", "created_at", "updated_at"]
    assert [each.value for each in SortKey] == members


def test_a_query_without_filters_returns_all_fields_by_id(catalog):
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
def test_a_filter_matches_the_fields_that_have_one_of_its_values(query, ids, catalog):
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
def test_a_text_matches_a_part_of_the_name_the_key_or_the_esp_field_name_in_any_case(
    text, ids, catalog
):
    assert found(catalog, text=text) == ids


def test_a_text_matches_only_the_name_and_the_key_of_an_api_field(make_field):
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
def test_texts_are_ordered_by_code_points_and_ties_by_ascending_id(
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
def test_the_next_page_starts_after_a_deleted_field(descending, catalog):
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


INVALID_TEXT = "hunter2"
LATE = datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=14)))
BEYOND = MAX_SAFE_INTEGER + 1


def test_sources_data_types_and_orders_can_be_passed_by_name_in_any_iterable():
    named = FieldQuery(sources=["api"], data_types=("text", "date"), keys=iter(["a"]), sort="name")
    assert named == FieldQuery(
        sources=frozenset({Source.API}),
        data_types=frozenset({DataType.TEXT, DataType.DATE}),
        keys=frozenset({FieldKey("a")}),
        sort=SortKey.NAME,
    )
    assert named.keys is not None
    assert {type(key) for key in named.keys} == {FieldKey}


@pytest.mark.parametrize(
    ("member", "values", "remaining"),
    [
        ("keys", {"city", "City", "", "no-key", "size\n", "null", "\0", "\ud800"}, {"city"}),
        ("keys", {"\0"}, set()),
        ("integration_ids", {0, -1, BEYOND, 2**64, 1, MAX_SAFE_INTEGER}, {1, MAX_SAFE_INTEGER}),
        ("integration_ids", {2**70}, set()),
    ],
)
def test_values_that_no_field_can_have_are_omitted(member, values, remaining):
    assert getattr(FieldQuery(**{member: values}), member) == remaining


@pytest.mark.parametrize("text", ["\0", "size\0", "\ud800", "A\0", "a" * 10**6])
def test_a_text_that_no_field_can_have_matches_none(text, catalog):
    query = FieldQuery(text=text)
    assert query.select(catalog).fields == ()
    assert query.text == text
    assert query.folded_text is not None
    query.folded_text.encode()


@pytest.mark.slow
def test_a_folded_text_has_no_capital_letter_and_no_form_of_more_than_four_times_its_length():
    forms = {unicodedata.normalize("NFD", fold_case(chr(c))) for c in range(sys.maxunicode + 1)}
    assert not any(letter in form for letter in ascii_uppercase for form in forms)
    assert max(map(len, forms)) == 4


def test_a_changed_query_searches_for_the_changed_text(catalog):
    assert [f.id for f in evolve(FieldQuery(text="\0"), text="SIZ").select(catalog).fields] == [1]


def test_a_text_is_folded_in_linear_time():
    assert_grows_linearly(
        lambda text: FieldQuery(text=text), lambda size: "\u0316\u0301" * size, 20_000
    )


def test_the_longest_name_is_found_in_any_normalization_form(make_field):
    field = make_field(name="\u1f82" * 255, key="greek")
    longest = unicodedata.normalize("NFD", field.name)
    assert len(longest) == 1_020
    assert FieldQuery(text=longest).matches(field)
    assert FieldQuery(text=field.name).matches(field)
    assert not FieldQuery(text=longest + "\u0301").matches(field)


@pytest.mark.parametrize("limit", [MAX_SAFE_INTEGER, BEYOND, 2**63, 2**70])
def test_a_limit_can_be_arbitrarily_large(limit, catalog):
    query = FieldQuery(limit=limit)
    assert query.limit == MAX_SAFE_INTEGER
    assert query.select(catalog).fields == catalog.fields


@pytest.mark.parametrize(
    ("members", "violation", "message"),
    [
        ({"limit": 0}, "limit: out_of_range", "Omit it"),
        ({"limit": -1}, "limit: out_of_range", "at least 1"),
        ({"limit": True}, "limit: type", "an integer"),
        ({"limit": 1.0}, "limit: type", "an integer"),
        ({"limit": "1"}, "limit: type", "an integer"),
        ({"text": 1}, "text: type", "a string"),
        ({"text": b"a"}, "text: type", "a string"),
        ({"insertable": 1}, "insertable: type", "true or false"),
        ({"insertable": "true"}, "insertable: type", "true or false"),
        ({"descending": None}, "descending: type", "true or false"),
        ({"descending": "no"}, "descending: type", "true or false"),
        ({"keys": "city"}, "keys: type", "a set"),
        ({"keys": {1}}, "keys: type", "a string"),
        ({"integration_ids": 7}, "integration_ids: type", "a set"),
        ({"integration_ids": {7, "7"}}, "integration_ids: type", "an integer"),
        ({"integration_ids": {7.0}}, "integration_ids: type", "an integer"),
        ({"integration_ids": {True}}, "integration_ids: type", "an integer"),
        ({"sources": "api"}, "sources: type", "a set"),
        ({"sources": b"api"}, "sources: type", "a set"),
        ({"sources": Source.API}, "sources: type", "a set"),
        ({"sources": {None}}, "sources: type", "a string"),
        ({"sources": {"web"}}, "sources: unknown_value", "one of api, manual, integration"),
        (
            {"data_types": {DataType.TEXT, "int"}},
            "data_types: unknown_value",
            "one of text, number",
        ),
        ({"data_types": {Source.API}}, "data_types: type", "a string"),
        ({"sort": "-name"}, "sort: unknown_value", "one of id, key, name"),
        ({"sort": None}, "sort: type", "a string"),
        ({"after": (1, 1)}, "after: type", "a Position"),
    ],
)
def test_an_invalid_query_is_rejected_when_it_is_created(
    members, violation, message, raises_violations
):
    with raises_violations(violation) as invalid:
        FieldQuery(**members)
    assert message in str(invalid.value)
    assert isinstance(invalid.value, InvalidQuery)


@pytest.mark.parametrize(
    ("value", "number", "violation", "message"),
    [
        (None, 1, "value: type", "an integer"),
        (1.0, 1, "value: type", "an integer"),
        (True, 1, "value: type", "an integer"),
        (date(2026, 11, 20), 1, "value: type", "an integer"),
        (BEYOND, 1, "value: out_of_range", "between"),
        (-BEYOND, 1, "value: out_of_range", "between"),
        ("a\0", 1, "value: invalid_characters", "null character"),
        ("\ud800", 1, "value: invalid_characters", "surrogate"),
        (datetime(2026, 11, 20), 1, "value: format", "time zone"),  # noqa: DTZ001
        (LATE, 1, "value: format", "1 to 9999"),
        (1, BEYOND, "id: out_of_range", "between"),
        (1, -BEYOND, "id: out_of_range", "between"),
        (1, "1", "id: type", "an integer"),
        (1, None, "id: type", "an integer"),
    ],
)
def test_an_invalid_position_is_rejected_when_it_is_created(
    value, number, violation, message, raises_violations
):
    with raises_violations(violation) as invalid:
        Position(value, number)
    assert message in str(invalid.value)
    assert isinstance(invalid.value, InvalidQuery)


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0])
def test_a_position_does_not_require_a_field(number):
    assert (Position(number, number).value, Position(number, number).id) == (number, number)


def test_the_time_of_a_position_is_truncated_to_milliseconds_in_utc(noon):
    later = noon + timedelta(microseconds=999)
    position = Position(later.astimezone(timezone(timedelta(hours=2))), FieldId(1))
    assert position == Position(noon, FieldId(1))
    assert isinstance(position.value, datetime)
    assert position.value.tzinfo is UTC


VALUE_TYPES = {
    SortKey.ID: int,
    SortKey.KEY: str,
    SortKey.NAME: str,
    SortKey.CREATED_AT: datetime,
    SortKey.UPDATED_AT: datetime,
}
TYPE_NAMES = {int: "an integer", str: "a string", datetime: "a datetime"}


@pytest.mark.parametrize("value", [1, "a", datetime(2026, 11, 20, tzinfo=UTC)])
@pytest.mark.parametrize("sort", SortKey)
def test_the_value_of_a_position_has_the_type_of_the_order(sort, value, raises_violations):
    after = Position(value, FieldId(1))
    assert sort.value_type is VALUE_TYPES[sort]
    if type(value) is VALUE_TYPES[sort]:
        assert FieldQuery(sort=sort, after=after).after == after
        return
    with raises_violations("after.value: type") as invalid:
        FieldQuery(sort=sort, after=after)
    assert f"For the order {sort.value}, this must be {TYPE_NAMES[VALUE_TYPES[sort]]}." in str(
        invalid.value
    )


@pytest.mark.parametrize("sort", SortKey)
def test_the_position_of_a_field_is_not_before_the_field(sort, catalog):
    query = FieldQuery(sort=sort)
    for each in catalog.fields:
        assert not evolve(query, after=query.position_of(each)).starts_before(each)


def test_the_violation_of_a_misspelled_name_suggests_the_correct_one():
    with pytest.raises(InvalidQuery) as invalid:
        FieldQuery(sources={"manul"})
    assert invalid.value.violations[0].suggestion == "manual"


@pytest.mark.parametrize(
    "members",
    [
        {"sort": INVALID_TEXT},
        {"sources": INVALID_TEXT},
        {"sources": {INVALID_TEXT}},
        {"limit": INVALID_TEXT},
    ],
)
def test_no_message_repeats_what_was_sent(members):
    with pytest.raises(InvalidQuery) as invalid:
        FieldQuery(**members)
    assert INVALID_TEXT not in f"{invalid.value} {invalid.value!r}"


def test_queries_with_equal_members_are_equal():
    assert FieldQuery(text="A\0") != FieldQuery(text="B\0")
    assert FieldQuery(text="a") != FieldQuery(text="A")
    assert len({FieldQuery(keys={"a", "No"}), FieldQuery(keys=["a"])}) == 1


@given(st.text(st.characters(codec=None)))
def test_the_folded_text_does_not_depend_on_the_normalization_form(text):
    forms = {fold_case(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert forms == {fold_case(text)}


@given(st.text(st.characters(codec="ascii")))
def test_ascii_letters_fold_to_lower_case(text):
    assert fold_case(text) == text.lower()


def test_a_greek_name_is_found_in_another_case(make_field):
    field = evolve(make_field(), name=FieldName("ΣΊΣΥΦΟΣ"))
    assert FieldQuery(text="σίσυφος").matches(field)
