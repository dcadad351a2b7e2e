"""Cases for several changes in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Final

import pytest

from recipient_fields.application import CatalogPlanner, FieldRepository, HistoryRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    Catalog,
    CatalogChanges,
    CatalogView,
    Change,
    FieldDefinition,
    FieldKey,
    OperationForbidden,
    OrganizationId,
    RecordedOperation,
)

from .assertions import exact, raises, raising
from .examples import (
    AUTHOR,
    LATER,
    a_definition,
    records_of,
    renaming,
)
from .field_changes import add_field
from .history import replay
from .sync_runs import interrupted


def change_everything(view: CatalogView) -> CatalogChanges[FieldDefinition]:
    """Delete `city`, rename `age`, and create `town` and another `city`."""
    return _changes_to(view.all())


def _changes_to(catalog: Catalog) -> CatalogChanges[FieldDefinition]:
    city, age = (catalog.get(FieldKey(key)) for key in ("city", "age"))
    return CatalogChanges.of(
        deleted=(city,),
        updated=(Change(RecordedOperation.UPDATED, age, renaming("Years")(age)),),
        created=(a_definition("town"), a_definition("city", by=ADMINISTRATOR)),
    )


def _interrupted(remaining: int, view: CatalogView) -> CatalogChanges[FieldDefinition]:
    """Change everything, with an interruption after so many complete reads of the changes."""
    return interrupted(change_everything(view), remaining)


UNSTORED: Final[Mapping[str, CatalogPlanner]] = {
    "no changes": lambda _: CatalogChanges(),
    "a planner that raises": raising(OperationForbidden("not these")),
    **{
        f"interrupted after {remaining} reads": partial(_interrupted, remaining)
        for remaining in (0, 1)
    },
}
"""Plans after which the catalog and its history are as before."""


class CatalogFixture:
    """The fixture of the cases for several changes."""

    @pytest.fixture
    def catalog(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> Catalog:
        """Return the catalog with three fields; another organization has the same."""
        for organization_id in (ours, theirs):
            for key in ("city", "age", "zip"):
                add_field(fields, organization_id, a_definition(key))
        return fields.all(ours)


class CatalogChangesCases(CatalogFixture):
    """Cases for changes that a planner derives from the catalog."""

    def test_all_changes_are_stored_in_one_transaction(
        self,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        catalog: Catalog,
    ) -> None:
        received: list[Catalog] = []

        def planner(view: CatalogView) -> CatalogChanges[FieldDefinition]:
            received.append(view.all())
            return change_everything(view)

        others = fields.all(theirs)
        applied = fields.change(ours, planner, author=AUTHOR, at=LATER)
        assert exact(received[-1]) == exact(catalog)
        changes, (town, city) = _changes_to(catalog), applied.created
        assert exact(applied) == exact(changes.with_ids((town, city)))
        zip_code, age = catalog.get(FieldKey("zip")), changes.updated[0].field
        assert zip_code.id < town.id < city.id
        for field, definition in zip((town, city), changes.created, strict=True):
            assert exact(field) == exact(definition.with_id(field.id, ours))
        after = fields.all(ours)
        assert exact(after.fields) == exact((age, zip_code, town, city))
        assert after.revision > catalog.revision
        assert fields.all(theirs) == others

    def test_no_changes_keep_the_revision(
        self, fields: FieldRepository, ours: OrganizationId, catalog: Catalog
    ) -> None:
        applied = fields.change(ours, lambda _: CatalogChanges(), author=AUTHOR, at=LATER)
        assert applied == CatalogChanges()
        assert fields.all(ours) == catalog

    def test_a_planner_of_changes_that_raises_stores_nothing(
        self, fields: FieldRepository, ours: OrganizationId, catalog: Catalog
    ) -> None:
        refusal = OperationForbidden("not these")

        with raises(refusal):
            fields.change(ours, raising(refusal), author=AUTHOR, at=LATER)
        assert fields.all(ours) == catalog

    def test_interrupted_changes_are_not_stored(
        self, fields: FieldRepository, ours: OrganizationId, catalog: Catalog
    ) -> None:
        """Each read of the changes is interrupted once, until none is."""
        for remaining in count():
            try:
                fields.change(ours, partial(_interrupted, remaining), author=AUTHOR, at=LATER)
            except KeyboardInterrupt:
                assert fields.all(ours) == catalog
            else:
                break
        assert remaining > 1

    def test_thousands_of_fields_are_created_in_order(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        created = tuple(a_definition(f"field_{number}") for number in range(2_500))
        applied = fields.change(
            ours, lambda _: CatalogChanges.of(created=created), author=AUTHOR, at=LATER
        )
        assert [field.key for field in applied.created] == [each.key for each in created]
        assert fields.all(ours).fields == applied.created


class RecordedChangesCases(CatalogFixture):
    """Cases for the records of several changes in one transaction."""

    def test_all_changes_of_one_transaction_are_recorded_in_their_order(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        catalog: Catalog,
    ) -> None:
        fields.change(ours, change_everything, author=AUTHOR, at=LATER)
        records = records_of(history, ours)
        assert replay(records[:3]) == catalog.fields
        assert replay(records) == fields.all(ours).fields
        assert [(r.sequence, r.operation.value, r.key) for r in records[3:]] == [
            (4, "deleted", "city"),
            (5, "updated", "age"),
            (6, "created", "town"),
            (7, "created", "city"),
        ]
        assert {(r.occurred_at, r.author) for r in records[3:]} == {(LATER, AUTHOR)}

    @pytest.mark.parametrize("plan", UNSTORED.values(), ids=UNSTORED)
    def test_changes_that_are_not_stored_are_not_recorded(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        catalog: Catalog,
        plan: CatalogPlanner,
    ) -> None:
        with suppress(OperationForbidden, KeyboardInterrupt):
            fields.change(ours, plan, author=AUTHOR, at=LATER)
        assert fields.all(ours) == catalog
        assert len(records_of(history, ours)) == 3
