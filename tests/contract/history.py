"""Cases for the history of the fields, and for past catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from threading import Event
from typing import Final, TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import (
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    IntegrationStorage,
    OrganizationRepository,
    Storage,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MILLISECOND,
    Author,
    BeforeHistory,
    Catalog,
    CatalogChanges,
    Change,
    FieldDefinition,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldName,
    FieldNotFound,
    FieldQuery,
    HistoryQuery,
    HistoryRecord,
    IntegrationId,
    KeyTaken,
    OperationForbidden,
    OrganizationId,
    OrganizationNotFound,
    Position,
    RecipientField,
    RecordedOperation,
    Source,
    epoch_milliseconds,
    sync_channel,
)
from recipient_fields.domain.integrations import Integration

from .assertions import assert_published_page, exact, recording, retry_slow_call
from .concurrency import ConcurrentLoad, race
from .examples import (
    ALLOWED_VALUES,
    AUTHOR,
    INSERTION_CODES,
    INSTANTS,
    LATER,
    LINES,
    MAX_INTEGRATION_ID,
    NEVER_ASSIGNED,
    NOW,
    a_definition,
    an_esp_field,
    an_integration_draft,
    delete_integration,
    permit_integration,
    permit_organization,
    records_of,
    renaming,
    reporting,
    run_sync,
    unchanged,
)
from .field_changes import add_field, delete_field, restore_field, update_field
from .revisions import NO_CHANGES

HistoryCall: TypeAlias = Callable[[HistoryRepository, OrganizationId], object]

AUTHORS: Final = {
    "an anonymous client": Author(API),
    "a key of another validator": Author(API, id="0000-4f1c", name="CI", request_id="r-1"),
    "an administrator": Author(ADMINISTRATOR, id=3, name="dana@straße.example"),
    "the operator": Author(ADMINISTRATOR, name="operator"),
    "an integration": Author(sync_channel(MAX_INTEGRATION_ID), name="Main list"),
    **{name: Author(API, id=line, name=line, request_id=line) for name, line in LINES.items()},
}

DEFINITIONS: Final = {
    **{name: a_definition(custom_insertion_code=code) for name, code in INSERTION_CODES.items()},
    **{
        name: a_definition(data_type=allowed.data_type, allowed_values=allowed)
        for name, allowed in ALLOWED_VALUES.items()
    },
    **{at.isoformat(): evolve(a_definition(), created_at=at) for at in INSTANTS[:-1]},
    "all members": a_definition(
        name="Größe",
        by=sync_channel(MAX_INTEGRATION_ID),
        esp_field_name="GRÖSSE",
        insertable=False,
        custom_value_expression="{{ size }}",
    ),
}

READS: Final[dict[str, HistoryCall]] = {
    "select": lambda history, organization: history.select(organization, HistoryQuery()),
    "publish": lambda history, organization: history.publish(organization, HistoryQuery()),
    "catalog_at": lambda history, organization: history.catalog_at(organization, LATER),
    "select_at": lambda history, organization: history.select_at(
        organization, LATER, FieldQuery(limit=1)
    ),
    "size": lambda history, organization: history.size(organization),
    "prune_to_size": lambda history, organization: history.prune_to_size(organization, 0),
    "prune": lambda history, organization: history.prune(organization, LATER),
}
"""Every method of the history."""

QUERIES: Final = {
    "all": HistoryQuery(),
    "newest first": HistoryQuery(descending=True),
    "after": HistoryQuery(after=2),
    "before": HistoryQuery(after=4, descending=True),
    "a part": HistoryQuery(limit=2),
    "a part after": HistoryQuery(limit=2, after=1),
    "a part, newest first": HistoryQuery(limit=2, descending=True),
    "exactly all": HistoryQuery(limit=7),
    "after the last": HistoryQuery(after=7),
    "after a number that is too great for a column": HistoryQuery(after=2**53 - 1),
    "before the first": HistoryQuery(after=1, descending=True),
    "before a negative number": HistoryQuery(after=-(2**53 - 1), descending=True),
    "a key": HistoryQuery(keys=["city"]),
    "two keys": HistoryQuery(keys=["city", "town"]),
    "an unknown key": HistoryQuery(keys=["unknown"]),
    "no key": HistoryQuery(keys=[]),
    "a source": HistoryQuery(sources=[Source.API]),
    "two sources": HistoryQuery(sources=["manual", "integration"]),
    "no source": HistoryQuery(sources=[]),
    "an operation": HistoryQuery(operations=["updated"]),
    "three operations": HistoryQuery(operations=["created", "deleted", "restored"]),
    "no operation": HistoryQuery(operations=[]),
    "no field": HistoryQuery(field_ids=[]),
    "all filters": HistoryQuery(
        keys=["city"], sources=["api"], operations=["updated", "deleted"], limit=1
    ),
}
"""Queries for a history with seven records."""

PAST_QUERIES: Final = (
    FieldQuery(),
    FieldQuery(limit=1),
    FieldQuery(limit=2, sort="name", descending=True),
    FieldQuery(limit=1, after=Position(1, FieldId(1))),
    FieldQuery(limit=2, text="CIT", sources=["api"]),
    FieldQuery(limit=1, keys=["unknown"]),
)
"""Queries for past catalogs."""


def replay(records: Iterable[HistoryRecord]) -> tuple[RecipientField, ...]:
    """Apply the records to an empty catalog. Return its fields by ascending id."""
    fields: dict[FieldId, RecipientField] = {}
    for record in records:
        assert fields.get(record.field_id) == record.before
        if record.after is None:
            del fields[record.field_id]
        else:
            fields[record.field_id] = record.after
    return tuple(fields[field_id] for field_id in sorted(fields))


class HistoryCases:
    """Cases for the records of changes."""

    def test_each_operation_is_recorded_with_the_field_before_and_after(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        created = add_field(fields, ours, a_definition())
        updated = update_field(fields, ours, created.id, renaming("Town"))
        delete_field(fields, ours, created.key)
        restored = restore_field(fields, ours, created.id)
        assert [(r.operation.value, r.before, r.after) for r in records_of(history, ours)] == [
            ("created", None, created),
            ("updated", created, updated),
            ("deleted", updated, None),
            ("restored", None, restored),
        ]

    def test_records_are_numbered_from_1_in_each_organization(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        for key in ("city", "town", "age"):
            for organization_id in (ours, theirs):
                add_field(fields, organization_id, a_definition(key))
        for organization_id in (ours, theirs):
            records = records_of(history, organization_id)
            assert [(r.organization_id, r.sequence, r.key) for r in records] == [
                (organization_id, 1, "city"),
                (organization_id, 2, "town"),
                (organization_id, 3, "age"),
            ]

    @pytest.mark.parametrize("author", AUTHORS.values(), ids=AUTHORS)
    def test_the_author_is_recorded(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        author: Author,
    ) -> None:
        field = add_field(fields, ours, a_definition(), author=author)
        update_field(fields, ours, field.id, renaming("Town"), author=author)
        delete_field(fields, ours, field.id, author=author)
        restore_field(fields, ours, field.id, author=author)
        for record in records_of(history, ours):
            assert exact(record.author) == exact(author)
        _assert_published(history, ours)

    def test_a_record_is_not_earlier_than_its_field(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        later = evolve(field, name=FieldName("Town"), version=2, updated_at=LATER)
        updates = CatalogChanges.of(updated=(Change(RecordedOperation.UPDATED, field, later),))
        fields.change(ours, lambda _: updates, author=AUTHOR, at=NOW)
        fields.change(ours, lambda _: CatalogChanges.of(deleted=(later,)), author=AUTHOR, at=NOW)
        latest = evolve(later, version=3, updated_at=LATER + 5 * MILLISECOND)
        fields.change(ours, lambda _: CatalogChanges.of(restored=(latest,)), author=AUTHOR, at=NOW)

        times = [record.occurred_at for record in records_of(history, ours)]
        assert times[1:] == [LATER, LATER + MILLISECOND, LATER + 5 * MILLISECOND]

    @pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
    def test_every_field_is_recorded_and_restored_unchanged(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        definition: FieldDefinition,
    ) -> None:
        field = add_field(fields, ours, definition)
        (record,) = records_of(history, ours)
        assert exact(record.after) == exact(field)
        assert record.occurred_at == definition.created_at
        _assert_published(history, ours)
        delete_field(fields, ours, field.id, at=field.updated_at)
        received: list[tuple[object, ...]] = []
        restored = restore_field(fields, ours, field.id, recording(received, unchanged))
        assert exact(received[-1]) == exact((restored,)) == exact((field,))
        assert exact(fields.get(ours, field.id)) == exact(field)

    @pytest.mark.parametrize("call", NO_CHANGES.values(), ids=NO_CHANGES)
    def test_a_call_without_effect_is_not_recorded(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        call: Callable[[FieldRepository, OrganizationId], object],
    ) -> None:
        add_field(fields, ours, a_definition())
        before = records_of(history, ours)
        with suppress(KeyTaken, FieldLimitReached, FieldNotFound, OperationForbidden):
            call(fields, ours)
        assert records_of(history, ours) == before
        add_field(fields, ours, a_definition("town"))
        assert records_of(history, ours)[-1].sequence == 2

    def test_each_change_occurs_later_than_the_last_one_even_if_the_clock_is_behind(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        times = [LATER, LATER, NOW, LATER + 2 * MILLISECOND, LATER + timedelta(days=1)]
        for number, at in enumerate(times):
            definition = evolve(a_definition(f"field_{number}"), created_at=at)
            assert add_field(fields, ours, definition).created_at == at
        delete_field(fields, ours, FieldKey("field_0"), at=NOW)
        passed = [r.occurred_at - LATER for r in records_of(history, ours)]
        day = timedelta(days=1)
        milliseconds = [n * MILLISECOND for n in range(4)]
        assert passed == [*milliseconds, day, day + MILLISECOND]

    def test_deleting_an_organization_deletes_its_history(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        organizations: OrganizationRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        for organization_id in (ours, theirs):
            add_field(fields, organization_id, a_definition())
        organizations.delete(ours, permit_organization)
        for read in READS.values():
            with pytest.raises(OrganizationNotFound):
                read(history, ours)
        assert len(records_of(history, theirs)) == 1

    @pytest.mark.parametrize("read", READS.values(), ids=READS)
    def test_the_history_requires_an_organization(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        read: HistoryCall,
    ) -> None:
        add_field(fields, ours, a_definition())
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(OrganizationNotFound):
                read(history, OrganizationId(never_assigned))

    def test_an_organization_without_changes_has_no_history(
        self, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        assert records_of(history, ours) == ()
        assert history.prune(ours, LATER) == 0

    @pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
    def test_a_query_selects_the_records_that_the_domain_defines(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        query: HistoryQuery,
    ) -> None:
        for organization_id in (ours, theirs):
            city, town, _ = (
                add_field(fields, organization_id, a_definition(key, by=by))
                for key, by in (
                    ("city", API),
                    ("town", ADMINISTRATOR),
                    ("age", sync_channel(IntegrationId(1))),
                )
            )
            update_field(fields, organization_id, city.id, renaming("Big city"))
            for field in (city, town):
                delete_field(fields, organization_id, field.id)
            restore_field(fields, organization_id, town.id)
        records = records_of(history, ours)
        assert len(records) == 7
        for each in (query, query.of_field(city.id), query.of_field(records[0].field_id)):
            page = history.select(ours, each)
            assert exact(page) == exact(each.select(records))
            assert_published_page(history.publish(ours, each), page)
            while page.next is not None:
                each = evolve(each, after=page.next)
                page = history.select(ours, each)
                assert page.records
                assert exact(page) == exact(each.select(records))


class SyncHistoryCases:
    """Cases for the records of sync runs and of deleted integrations."""

    def test_a_sync_run_records_deletions_then_updates_then_creations(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        integrations: IntegrationRepository,
        ours: OrganizationId,
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        author = Author(integration.channel, name=integration.name)
        for at, report in (
            (NOW, [an_esp_field("CITY"), an_esp_field("AGE"), an_esp_field("ZIP")]),
            (LATER, [an_esp_field("AGE", label="Age"), an_esp_field("B"), an_esp_field("A")]),
        ):
            planner = reporting(*report, at=at)
            integrations.sync(ours, integration.id, planner, author=author, at=at + MILLISECOND)
        records = records_of(history, ours)
        assert [(r.sequence, r.operation.value, r.key) for r in records] == [
            (1, "created", "age"),
            (2, "created", "city"),
            (3, "created", "zip"),
            (4, "deleted", "city"),
            (5, "deleted", "zip"),
            (6, "updated", "age"),
            (7, "created", "a"),
            (8, "created", "b"),
        ]
        assert [r.occurred_at for r in records] == [NOW + MILLISECOND] * 3 + [
            LATER + MILLISECOND
        ] * 5
        assert {r.author for r in records} == {author}
        assert replay(records) == fields.all(ours).fields

    def test_the_deletion_of_an_integration_records_the_deletion_of_its_fields(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        integrations: IntegrationRepository,
        ours: OrganizationId,
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        planner = reporting(an_esp_field("CITY"), an_esp_field("AGE"), at=NOW)
        integrations.sync(ours, integration.id, planner, author=AUTHOR, at=NOW)
        add_field(fields, ours, a_definition("zip"))
        author = Author(ADMINISTRATOR, id=3, name="dana@acme.example")
        deleted = integrations.delete(
            ours, integration.id, permit_integration, author=author, at=LATER
        )
        records = records_of(history, ours)[3:]
        assert tuple(r.before for r in records) == deleted
        assert [(r.sequence, r.operation, r.occurred_at, r.author) for r in records] == [
            (number, RecordedOperation.DELETED, LATER, author) for number in (4, 5)
        ]

    def test_changes_of_an_integration_without_fields_are_not_recorded(
        self, history: HistoryRepository, integrations: IntegrationRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        run_sync(integrations, integration, reporting())
        delete_integration(integrations, integration)
        assert records_of(history, ours) == ()


class PastCatalogCases:
    """Cases for past catalogs and pruning."""

    def test_the_catalog_at_the_time_of_each_record_is_the_one_that_was_read_then(
        self,
        storage: Storage,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        """With a sync and the deletion of an integration, if the storage has integrations."""
        sync: list[Callable[[], object]] = []
        deletion: list[Callable[[], object]] = []
        if isinstance(storage, IntegrationStorage):
            integration = storage.integrations.add(ours, an_integration_draft())
            report = reporting(an_esp_field("A"), an_esp_field("B"))
            sync.append(partial(run_sync, storage.integrations, integration, report))
            delete = partial(storage.integrations.delete, ours, integration.id, permit_integration)
            deletion.append(partial(delete, author=AUTHOR, at=LATER + timedelta(days=1)))
        city = a_definition("city")
        calls: tuple[Callable[[], object], ...] = (
            lambda: add_field(fields, ours, city),
            lambda: add_field(fields, theirs, city),
            lambda: add_field(fields, ours, a_definition("town", by=ADMINISTRATOR)),
            lambda: update_field(fields, ours, city.key, renaming("City 2")),
            *sync,
            lambda: delete_field(fields, ours, city.key),
            lambda: add_field(fields, ours, city),
            lambda: delete_field(fields, ours, city.key),
            lambda: restore_field(fields, ours, fields_by_key[city.key]),
            *deletion,
        )
        read: dict[datetime, tuple[RecipientField, ...]] = {}
        fields_by_key: dict[str, FieldId] = {}
        for call in calls:
            call()
            catalog = fields.all(ours)
            fields_by_key.update({field.key: field.id for field in catalog.fields})
            read[records_of(history, ours)[-1].occurred_at] = catalog.fields
        assert len(read) == len(calls) - 1
        times = [*read, max(read) + timedelta(days=1)]
        for at, later in pairwise(times):
            expected = Catalog(ours, epoch_milliseconds(at), read[at])
            assert exact(history.catalog_at(ours, at)) == exact(expected)
            assert history.catalog_at(ours, later - MILLISECOND) == expected
            for query in PAST_QUERIES:
                page = history.select_at(ours, at, query)
                assert exact(page) == exact(query.select(expected))

    def test_there_is_no_catalog_before_the_first_record(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        add_field(fields, theirs, a_definition())
        for at in (*INSTANTS, LATER):
            with pytest.raises(BeforeHistory):
                history.catalog_at(ours, at)
            with pytest.raises(BeforeHistory):
                history.select_at(ours, at, FieldQuery(limit=1))
        add_field(fields, ours, a_definition())
        with pytest.raises(BeforeHistory):
            history.catalog_at(ours, NOW - MILLISECOND)
        for at in (NOW, INSTANTS[-1]):
            assert history.catalog_at(ours, at).fields == fields.all(ours).fields

    def test_pruning_deletes_the_records_before_the_time_only(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        for number in range(4):
            at = NOW + number * MILLISECOND
            definition = evolve(a_definition(f"field_{number}"), created_at=at)
            for organization_id in (ours, theirs):
                add_field(fields, organization_id, definition)
        catalog, records = fields.all(ours), records_of(history, ours)
        assert history.prune(ours, NOW) == 0
        assert history.prune(ours, NOW + 2 * MILLISECOND) == 2
        assert records_of(history, ours) == records[2:]
        assert fields.all(ours) == catalog
        assert len(records_of(history, theirs)) == 4

    def test_the_numbers_and_times_of_pruned_records_are_not_assigned_again(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition())
        assert history.prune(ours, LATER) == 1
        add_field(fields, ours, a_definition("town"))
        (record,) = records_of(history, ours)
        assert (record.sequence, record.occurred_at) == (2, NOW + MILLISECOND)

    def test_the_catalog_after_pruned_records_contains_their_fields(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        for key in ("city", "town"):
            add_field(fields, ours, a_definition(key))
        for number, key in enumerate(("city", "town", "age")):
            at = LATER + number * MILLISECOND
            if key != "age":
                delete_field(fields, ours, FieldKey(key), at=at)
            else:
                add_field(fields, ours, evolve(a_definition(key), created_at=at))
        before = history.catalog_at(ours, LATER)
        assert [field.key for field in before.fields] == ["town"]
        assert history.prune(ours, LATER) == 2
        assert history.catalog_at(ours, LATER) == before
        with pytest.raises(BeforeHistory):
            history.catalog_at(ours, LATER - MILLISECOND)

    def test_there_is_no_past_catalog_without_records(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition())
        assert history.prune(ours, LATER) == 1
        with pytest.raises(BeforeHistory):
            history.catalog_at(ours, LATER)


class FollowerCases(ConcurrentLoad):
    """Cases for readers that follow the history during concurrent writes.

    Each writer makes `rounds` changes.
    """

    def test_a_reader_that_follows_concurrent_writers_misses_nothing_and_sees_nothing_twice(
        self,
        storage: Storage,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
    ) -> None:
        """One of the writers is a sync, if the storage has integrations."""
        working = [Event() for _ in range(8)]

        def write(writer: int) -> None:
            try:
                for number in range(self.rounds // 4):
                    _change_four_times(fields, ours, FieldKey(f"field_{writer}_{number}"))
            finally:
                working[writer].set()

        def sync(integrations: IntegrationRepository, integration: Integration) -> None:
            try:
                for number in range(self.rounds // 4):
                    report = [an_esp_field("CITY", label=f"{number}"), an_esp_field(f"N{number}")]
                    retry_slow_call(run_sync, integrations, integration, reporting(*report))
            finally:
                working[7].set()

        def follow(limit: int) -> list[HistoryRecord]:
            seen: list[HistoryRecord] = []
            is_done = False
            while True:
                after = seen[-1].sequence if seen else 0
                page = history.select(ours, HistoryQuery(after=after, limit=limit))
                assert all(record.sequence > after for record in page.records)
                seen += page.records
                if not page.records and is_done:
                    return seen
                is_done = all(event.is_set() for event in working)

        writers = [partial(write, writer) for writer in range(8)]
        if isinstance(storage, IntegrationStorage):
            integration = storage.integrations.add(ours, an_integration_draft())
            writers[7] = partial(sync, storage.integrations, integration)
        *written, one, other = race(*writers, partial(follow, 3), partial(follow, 1_000))
        assert written == [None] * 8
        assert one == other
        assert [record.sequence for record in one] == list(range(1, len(one) + 1))
        assert replay(one) == fields.all(ours).fields
        times = [record.occurred_at for record in one]
        assert times == sorted(times)


def _change_four_times(
    fields: FieldRepository, organization_id: OrganizationId, key: FieldKey
) -> None:
    """Create, update, delete and restore a field."""
    field = retry_slow_call(add_field, fields, organization_id, a_definition(key))
    retry_slow_call(update_field, fields, organization_id, key, renaming("Town"))
    retry_slow_call(delete_field, fields, organization_id, key)
    retry_slow_call(restore_field, fields, organization_id, field.id)


def _assert_published(history: HistoryRepository, organization_id: OrganizationId) -> None:
    every = HistoryQuery()
    page = history.select(organization_id, every)
    assert_published_page(history.publish(organization_id, every), page)
