"""Cases for the size of a history, for large values that it shares, and for removed records."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import pairwise
from threading import Event
from typing import Final

import pytest
from attrs import evolve

from recipient_fields.application import (
    FieldRepository,
    HistoryRepository,
    OrganizationRepository,
)
from recipient_fields.domain import (
    API,
    MILLISECOND,
    AllowedValues,
    BeforeHistory,
    CatalogChanges,
    CatalogView,
    Change,
    DataType,
    FieldDefinition,
    FieldId,
    FieldKey,
    FieldNotFound,
    HistoryQuery,
    HistoryRecord,
    HistoryRemoved,
    InsertionCode,
    OrganizationId,
    RecipientField,
    RecordedOperation,
    ValueExpression,
    plan_restoration,
)

from .assertions import exact, retry_slow_call
from .concurrency import race
from .examples import (
    AUTHOR,
    LATER,
    NOW,
    a_definition,
    changing,
    permit_organization,
    records_of,
    renaming,
)
from .field_changes import add_field, delete_field, update_field

LARGE: Final = 60_000
"""Bytes of the allowed values of a large field."""

MAX_SMALL: Final = 5_000
"""No record of a field is larger, without its shared values."""


def large_values(text: str = "x") -> AllowedValues:
    """Return allowed values of 60 kB that contain this text."""
    values = [f"{text}{number:04}".ljust(200, "x") for number in range(LARGE // 200)]
    return AllowedValues(DataType.TEXT, values)


def large_definition(key: str = "city", text: str = "x") -> FieldDefinition:
    """Return a field whose allowed values and codes are large."""
    return a_definition(
        key,
        allowed_values=large_values(text),
        custom_insertion_code=InsertionCode(f'{{"sha256":"{"0" * 64}"}} {text * 9_000}'[:9_000]),
        custom_value_expression=ValueExpression('\\ " é 😀 ' * 200),
    )


def toggled(field: RecipientField) -> RecipientField:
    """Return the field with the other value of `insertable`, as one change does it."""
    return changing(insertable=not field.insertable)(field)


class HistorySizeCases:
    """Cases for the size of a history and the removal of its oldest records."""

    def test_a_new_organization_has_a_history_without_bytes(
        self, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        size = history.size(ours)
        assert (size.bytes, size.inherited) == (0, 0)

    def test_each_record_increases_the_size_of_its_organization_only(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        sizes = [history.size(ours).bytes]
        field = add_field(fields, ours, a_definition())
        sizes.append(history.size(ours).bytes)
        update_field(fields, ours, field.id, renaming("Town"))
        sizes.append(history.size(ours).bytes)
        delete_field(fields, ours, field.id)
        sizes.append(history.size(ours).bytes)
        grown = [after - before for before, after in pairwise(sizes)]
        assert all(200 < each < MAX_SMALL for each in grown)
        assert grown[1] > max(grown[0], grown[2])  # It has the field before and after the change.
        assert history.size(theirs).bytes == 0

    def test_a_large_value_counts_once_regardless_of_the_number_of_records(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, large_definition())
        first = history.size(ours).bytes
        assert first > LARGE
        for _ in range(3):
            update_field(fields, ours, field.id, toggled)
        delete_field(fields, ours, field.id)
        add_field(fields, ours, large_definition())
        assert history.size(ours).bytes - first < 5 * MAX_SMALL

    def test_large_values_are_read_as_they_were_stored(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, large_definition())
        off = update_field(fields, ours, field.id, toggled)
        other = changing(allowed_values=large_values("y").values)
        changed = update_field(fields, ours, field.id, other)
        delete_field(fields, ours, field.id)
        records = records_of(history, ours)
        assert exact([each.before for each in records]) == exact([None, field, off, changed])
        assert exact([each.after for each in records]) == exact([field, off, changed, None])
        for record, expected in zip(records, (field, off, changed), strict=False):
            assert exact(history.catalog_at(ours, record.occurred_at).fields) == exact((expected,))

    def test_a_batch_shares_its_large_values(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        definitions = [large_definition(f"field_{number}") for number in range(5)]
        changes = CatalogChanges.of(created=tuple(definitions))
        fields.change(ours, lambda _: changes, author=AUTHOR, at=NOW)
        size = history.size(ours).bytes
        assert size < 2 * LARGE

        def toggle_all(view: CatalogView) -> CatalogChanges[FieldDefinition]:
            catalog = view.all().fields
            return CatalogChanges.of(
                updated=tuple(Change(RecordedOperation.UPDATED, f, toggled(f)) for f in catalog)
            )

        fields.change(ours, toggle_all, author=AUTHOR, at=LATER)
        assert history.size(ours).bytes - size < 5 * MAX_SMALL
        last = records_of(history, ours)[5:]
        assert exact(tuple(each.after for each in last)) == exact(fields.all(ours).fields)

    def test_the_oldest_records_are_removed_and_no_more_than_necessary(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        sizes = [0]
        for number in range(6):
            add_field(fields, ours, a_definition(f"field_{number}"))
            sizes.append(history.size(ours).bytes)
        records, total = records_of(history, ours), sizes[-1]
        assert history.prune_to_size(ours, total) == 0
        assert history.prune_to_size(ours, total - sizes[2]) == 2
        assert history.size(ours).bytes == total - sizes[2]
        assert records_of(history, ours) == records[2:]
        assert history.prune_to_size(ours, total - sizes[3] - 1) == 2
        assert history.size(ours).bytes == total - sizes[4]
        assert records_of(history, ours) == records[4:]
        assert len(fields.all(ours).fields) == 6

    @pytest.mark.parametrize("by", ["size", "time"])
    def test_a_removal_keeps_the_large_values_that_later_records_use(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId, by: str
    ) -> None:
        field = add_field(fields, ours, large_definition())
        update_field(fields, ours, field.id, toggled, at=LATER)
        other = changing(allowed_values=large_values("y").values)
        update_field(fields, ours, field.id, other, at=LATER)
        records, size = records_of(history, ours), history.size(ours).bytes
        for removed, records_left in enumerate((records[1:], records[2:], ()), start=1):
            if by == "size":
                assert history.prune_to_size(ours, history.size(ours).bytes - 1) == 1
            else:
                at = records[removed - 1].occurred_at + MILLISECOND
                assert history.prune(ours, at) == 1
            assert exact(records_of(history, ours)) == exact(records_left)
            freed = size - history.size(ours).bytes
            size -= freed
            assert (freed < MAX_SMALL) is (removed == 1 or removed == 2)
        assert size == 0
        assert exact(fields.all(ours).fields[0].allowed_values) == exact(large_values("y"))

    def test_a_value_can_be_stored_again_after_its_removal(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, large_definition())
        size = history.size(ours).bytes
        assert history.prune_to_size(ours, 0) == 1
        changed = update_field(fields, ours, field.id, toggled)
        (record,) = records_of(history, ours)
        assert exact((record.before, record.after)) == exact((field, changed))
        assert size <= history.size(ours).bytes < size + MAX_SMALL

    def test_deleting_an_organization_deletes_its_large_values(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        organizations: OrganizationRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        for organization_id in (ours, theirs):
            add_field(fields, organization_id, large_definition())
        organizations.delete(ours, permit_organization)
        (record,) = records_of(history, theirs)
        assert exact(record.after) == exact(fields.all(theirs).fields[0])


class RemovedRecordsCases:
    """Cases for readers and plans that need records which were removed."""

    def removed(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> tuple[HistoryRecord, ...]:
        """Remove two of four records, and return the others."""
        for number in range(4):
            at = NOW + number * MILLISECOND
            definition = evolve(a_definition(f"field_{number}"), created_at=at)
            add_field(fields, ours, definition)
        assert history.prune(ours, NOW + 2 * MILLISECOND) == 2
        return records_of(history, ours)

    def test_a_reader_whose_next_records_were_removed_is_told(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        left = self.removed(fields, history, ours)
        for after in (0, 1):
            for query in (HistoryQuery(after=after), HistoryQuery(after=after, keys=["field_3"])):
                with pytest.raises(BeforeHistory) as raised:
                    history.select(ours, query)
                assert str(raised.value) == (
                    "The records up to 2 were removed from the history, so a reader that continues"
                    f" after {after} would miss some. List the current fields, and continue after"
                    " 2."
                )
        assert history.select(ours, HistoryQuery(after=2)).records == left
        assert history.select(ours, HistoryQuery(after=3)).records == left[1:]
        assert history.select(ours, HistoryQuery(after=4)).records == ()
        assert history.select(ours, HistoryQuery()).records == left
        backwards = HistoryQuery(after=4, descending=True)
        assert history.select(ours, backwards).records == left[:1]

    def test_a_reader_is_told_also_if_no_record_is_left(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        self.removed(fields, history, ours)
        assert history.prune(ours, LATER) == 2
        with pytest.raises(BeforeHistory):
            history.select(ours, HistoryQuery(after=3))
        assert history.select(ours, HistoryQuery(after=4)).records == ()
        add_field(fields, ours, a_definition("town"))
        with pytest.raises(BeforeHistory):
            history.select(ours, HistoryQuery(after=3))
        (record,) = history.select(ours, HistoryQuery(after=4)).records
        assert record.sequence == 5

    def test_a_reader_from_the_beginning_misses_nothing_while_nothing_is_removed(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        assert history.select(ours, HistoryQuery(after=0)).records == ()
        add_field(fields, ours, a_definition())
        assert len(history.select(ours, HistoryQuery(after=0)).records) == 1

    def test_a_plan_sees_how_many_records_were_removed(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        add_field(fields, theirs, a_definition())
        self.removed(fields, history, ours)
        seen: list[int] = []

        def look(view: CatalogView) -> CatalogChanges[FieldDefinition]:
            seen.append(view.removed_records())
            return CatalogChanges()

        never_assigned = OrganizationId(2**53)
        for organization_id in (ours, theirs, never_assigned):
            fields.change(organization_id, look, author=AUTHOR, at=LATER)
        assert seen == [2, 0, 0]

    def test_a_field_whose_deletion_was_removed_is_not_restored(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        field = add_field(fields, ours, large_definition())
        delete_field(fields, ours, field.id)

        def restore(organization_id: OrganizationId, field_id: FieldId) -> None:
            fields.change(
                organization_id,
                lambda catalog: plan_restoration(catalog, field_id, by=API, at=LATER),
                author=AUTHOR,
                at=LATER,
            )

        assert history.prune_to_size(ours, history.size(ours).bytes - 1) == 1
        restore(ours, field.id)
        delete_field(fields, ours, field.id)
        history.prune_to_size(ours, 0)
        with pytest.raises(HistoryRemoved):
            restore(ours, field.id)
        with pytest.raises(FieldNotFound):
            restore(theirs, field.id)
        assert fields.all(ours).fields == ()


class PruningCases:
    """Cases for histories that are pruned while they are written and read."""

    pruned_changes: int = 20
    """The number of changes that each writer makes."""

    def test_concurrent_changes_and_removals_keep_the_size_and_all_values_that_are_used(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> None:
        working = [Event() for _ in range(3)]

        def write(writer: int) -> None:
            key = FieldKey(f"field_{writer}")
            try:
                add = partial(add_field, fields, ours, large_definition(key, "same"))
                retry_slow_call(add)
                for number in range(self.pruned_changes):
                    values = large_values(f"{writer} {number}").values
                    change = changing(allowed_values=values) if number % 5 == 4 else toggled
                    retry_slow_call(update_field, fields, ours, key, change)
            finally:
                working[writer].set()

        def prune() -> int:
            removed = 0
            while not all(event.is_set() for event in working):
                removed += retry_slow_call(history.prune_to_size, ours, 3 * LARGE)
            return removed

        def follow() -> int:
            """Read each record, and return the number of gaps that were reported."""
            after, gaps = 0, 0
            while True:
                is_done = all(event.is_set() for event in working)
                try:
                    page = history.select(ours, HistoryQuery(after=after, limit=7))
                except BeforeHistory:
                    after, gaps = after + 1, gaps + 1
                    continue
                numbers = [record.sequence for record in page.records]
                assert numbers == list(range(after + 1, after + 1 + len(numbers)))
                for record in page.records:
                    assert record.field.allowed_values is not None
                after += len(numbers)
                if is_done and not numbers:
                    return gaps

        writers = [partial(write, writer) for writer in range(3)]
        *written, one, other, gaps = race(*writers, prune, prune, follow)
        assert written == [None, None, None]
        total = 3 * (self.pruned_changes + 1)
        left = records_of(history, ours)
        assert [each.sequence for each in left] == list(range(one + other + 1, total + 1))
        assert gaps <= one + other
        assert history.size(ours).bytes > 0
        assert history.prune_to_size(ours, 0) == len(left)
        assert history.size(ours).bytes == 0
        field = add_field(fields, ours, large_definition("last"))
        (record,) = records_of(history, ours)
        assert (record.sequence, exact(record.after)) == (total + 1, exact(field))
        assert record.occurred_at - NOW < timedelta(hours=2)
