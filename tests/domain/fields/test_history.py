"""Histories: authors, records, queries of them, and fields as they were."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_SAFE_INTEGER,
    MILLISECOND,
    Author,
    CatalogChanges,
    Change,
    FieldChanges,
    FieldId,
    FieldKey,
    HistoryQuery,
    HistoryRecord,
    IntegrationId,
    OperationForbidden,
    RecipientField,
    RecordedOperation,
    Source,
    sync_channel,
    undo,
)

SEVEN = IntegrationId(7)
CREATED, UPDATED, DELETED, RESTORED = RecordedOperation


@pytest.fixture(scope="session")
def city(make_field) -> RecipientField:
    return make_field(name="City")


@pytest.fixture(scope="session")
def town(city, noon) -> RecipientField:
    return city.with_changes(FieldChanges(name="Town"), by=API, at=noon + timedelta(hours=1))


def numbered(noon: datetime, *changes: Change[RecipientField]) -> tuple[HistoryRecord, ...]:
    """Return the records of these changes, one per millisecond."""
    return tuple(
        each.with_sequence(number, occurred_at=noon + number * MILLISECOND, author=Author(API))
        for number, each in enumerate(changes, start=1)
    )


class TestAnAuthor:
    def test_of_a_sync_has_the_id_of_the_integration(self):
        assert Author(sync_channel(SEVEN), name="Main list").id == SEVEN
        with pytest.raises(ValueError, match="id of its integration"):
            Author(sync_channel(SEVEN), id=8)

    def test_of_another_channel_can_be_anonymous(self):
        assert Author(API) == Author(API, id=None, name=None, request_id=None)

    def test_has_texts_that_every_storage_accepts(self):
        bad, good = "a\0b\ud800", "a\ufffdb\ufffd"
        author = Author(API, id=bad, name=bad, request_id=bad)
        assert author == Author(API, id=good, name=good, request_id=good)


class TestARecord:
    @pytest.mark.parametrize(
        ("operation", "before", "after"),
        [(CREATED, 0, 1), (UPDATED, 1, 1), (DELETED, 1, 0), (RESTORED, 0, 1)],
    )
    def test_has_the_field_before_and_after_if_the_operation_has(
        self, city, operation, before, after
    ):
        for has_before, has_after in ((0, 0), (0, 1), (1, 0), (1, 1)):
            states = (city if has_before else None, city if has_after else None)
            if (has_before, has_after) == (before, after):
                assert Change(operation, *states).field == city
            else:
                with pytest.raises(ValueError, match=operation.value):
                    Change(operation, *states)

    def test_is_of_the_organization_the_id_and_the_key_of_the_field(self, city, town):
        change = Change(UPDATED, city, town)
        assert (change.organization_id, change.field_id, change.key) == (1, 1, "city")
        assert change.field == town

    def test_has_a_time_in_whole_milliseconds(self, city, noon):
        (record,) = numbered(noon, Change(CREATED, None, city))
        later = evolve(record, occurred_at=noon + timedelta(microseconds=1_999))
        assert later.occurred_at == noon + MILLISECOND


def test_several_changes_are_recorded_in_the_order_in_which_they_are_stored(city, town, make_field):
    age = evolve(make_field(name="Age"), id=FieldId(2))
    changes = CatalogChanges.of(
        deleted=(age,),
        updated=(Change(RecordedOperation.UPDATED, city, town),),
        created=(make_field(name="Age"),),
    )
    created = evolve(age, id=FieldId(3))
    assert list(changes.with_ids([created]).changes) == [
        Change(DELETED, age, None),
        Change(UPDATED, city, town),
        Change(CREATED, None, created),
    ]


class TestARestoredField:
    def test_differs_only_in_its_version_and_time(self, town, noon):
        at = noon + timedelta(days=1)
        assert town.restored(by=API, at=at) == evolve(town, updated_at=at, version=3)

    def test_is_later_than_before_even_if_the_clock_is_behind(self, town, noon):
        assert town.restored(by=API, at=noon).updated_at == town.updated_at + MILLISECOND

    @pytest.mark.parametrize("channel", [ADMINISTRATOR, sync_channel(SEVEN)])
    def test_needs_the_permission_to_create_it(self, town, noon, channel):
        with pytest.raises(OperationForbidden, match="API-managed fields"):
            town.restored(by=channel, at=noon)


class TestUndo:
    def test_returns_the_fields_before_each_record(self, city, town, noon):
        records = numbered(
            noon,
            Change(CREATED, None, city),
            Change(UPDATED, city, town),
            Change(DELETED, town, None),
            Change(RESTORED, None, city),
        )
        states = [(), (city,), (town,), (), (city,)]
        for number, state in enumerate(states):
            assert undo(records[number:], (city,)) == state
            assert undo(reversed(records[number:]), (city,)) == state
            assert undo(records[number : number + 1], (city,)) == state

    def test_orders_the_fields_by_id_and_keeps_others(self, city, noon):
        fields = tuple(evolve(city, id=FieldId(n), key=f"city_{n}") for n in (1, 2, 3))
        records = numbered(noon, Change(DELETED, fields[1], None))
        assert undo(records, (fields[0], fields[2])) == fields


@pytest.fixture(scope="session")
def records(make_field, noon) -> tuple[HistoryRecord, ...]:
    city = make_field(name="City")
    shop = evolve(make_field(ADMINISTRATOR, name="Shop"), id=FieldId(2))
    synced = evolve(make_field(sync_channel(SEVEN), name="Age"), id=FieldId(3))
    return numbered(
        noon,
        Change(CREATED, None, city),
        Change(CREATED, None, shop),
        Change(CREATED, None, synced),
        Change(UPDATED, city, evolve(city, version=2)),
        Change(DELETED, shop, None),
        Change(RESTORED, None, shop),
    )


def sequences(query: HistoryQuery, records: tuple[HistoryRecord, ...]) -> list[int]:
    """Return the sequences of the page that the query selects."""
    return [record.sequence for record in query.select(records).records]


class TestAQuery:
    @pytest.mark.parametrize(
        ("members", "expected"),
        [
            ({}, [1, 2, 3, 4, 5, 6]),
            ({"descending": True}, [6, 5, 4, 3, 2, 1]),
            ({"after": 4}, [5, 6]),
            ({"after": 3, "descending": True}, [2, 1]),
            ({"after": 6}, []),
            ({"after": 0, "descending": True}, []),
            ({"keys": ["shop", "age"]}, [2, 3, 5, 6]),
            ({"field_ids": [FieldId(1)]}, [1, 4]),
            ({"sources": [Source.MANUAL, "integration"]}, [2, 3, 5, 6]),
            ({"operations": ["deleted", UPDATED]}, [4, 5]),
            ({"keys": ["shop"], "operations": ["created"]}, [2]),
            ({"keys": []}, []),
            ({"field_ids": []}, []),
            ({"keys": ["no key", "sys_x"]}, []),
            ({"field_ids": [0, -1, 2**53, 2**70]}, []),
        ],
    )
    def test_selects_matching_records_in_its_order(self, records, members, expected):
        query = HistoryQuery(**members)
        assert sequences(query, records) == expected
        assert sequences(query, records[::-1]) == expected

    def test_of_a_field_filters_by_its_id_or_key(self, records):
        query = HistoryQuery(keys=["age"], operations=["created"])
        assert sequences(query.of_field(FieldKey("shop")), records) == [2]
        assert sequences(HistoryQuery().of_field(FieldId(2)), records) == [2, 5, 6]

    @given(limit=st.integers(1, 7), descending=st.booleans())
    def test_has_pages_that_contain_each_record_once(self, records, limit, descending):
        query = HistoryQuery(limit=limit, descending=descending)
        page = query.select(records)
        seen = [*page.records]
        while page.next is not None:
            assert len(page.records) == limit
            page = evolve(query, after=page.next).select(records)
            seen += page.records
        assert seen == sorted(records, key=lambda each: each.sequence, reverse=descending)

    @pytest.mark.parametrize(
        ("members", "violation"),
        [
            ({"limit": 0}, "limit: out_of_range"),
            ({"limit": 1_001}, "limit: out_of_range"),
            ({"limit": True}, "limit: type"),
            ({"limit": None}, "limit: type"),
            ({"after": "1"}, "after: type"),
            ({"after": MAX_SAFE_INTEGER + 1}, "after: out_of_range"),
            ({"descending": 1}, "descending: type"),
            ({"keys": "city"}, "keys: type"),
            ({"field_ids": ["1"]}, "field_ids: type"),
            ({"sources": ["hand"]}, "sources: unknown_value"),
            ({"operations": ["delete"]}, "operations: unknown_value"),
        ],
    )
    def test_rejects_invalid_members(self, raises_violations, members, violation):
        path, rule = violation.split(": ")
        with raises_violations(f"{path}: {rule}"):
            HistoryQuery(**members)

    def test_has_the_limits_of_the_contract(self):
        assert HistoryQuery().limit == 100
        assert HistoryQuery(limit=1).limit == 1
        assert HistoryQuery(limit=1_000).limit == 1_000
