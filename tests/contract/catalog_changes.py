"""Cases for several changes in one transaction."""

from __future__ import annotations

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository, HistoryRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    AppliedChanges,
    Catalog,
    CatalogChanges,
    FieldKey,
    FieldUpdate,
    OperationForbidden,
    OrganizationId,
    OrganizationNotFound,
)

from .assertions import exact
from .examples import (
    AUTHOR,
    LATER,
    NEVER_ASSIGNED,
    a_definition,
    must_not_be_called,
    records_of,
    renaming,
)
from .history import replay
from .sync_runs import Interrupted


def change_everything(catalog: Catalog) -> CatalogChanges:
    """Delete `city`, rename `age`, and create `town` and another `city`."""
    city, age = (catalog.get(FieldKey(key)) for key in ("city", "age"))
    return CatalogChanges(
        deleted=(city,),
        updated=(FieldUpdate(age, renaming("Years")(age)),),
        created=(a_definition("town"), a_definition("city", by=ADMINISTRATOR)),
    )


class CatalogChangesCases:
    """Cases for changes that a planner derives from the catalog."""

    @pytest.fixture
    def catalog(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> Catalog:
        """Return the catalog with three fields; another organization has the same."""
        for organization_id in (ours, theirs):
            for key in ("city", "age", "zip"):
                fields.add(organization_id, a_definition(key), author=AUTHOR)
        return fields.all(ours)

    def test_all_changes_are_stored_and_recorded_in_one_transaction(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        catalog: Catalog,
    ) -> None:
        received: list[Catalog] = []

        def planner(found: Catalog) -> CatalogChanges:
            received.append(found)
            return change_everything(found)

        others = fields.all(theirs)
        applied = fields.apply(ours, planner, author=AUTHOR, at=LATER)
        assert exact(received[-1]) == exact(catalog)
        changes, (town, city) = change_everything(catalog), applied.created
        assert exact(applied.changes) == exact(changes)
        zip_code, age = catalog.get(FieldKey("zip")), changes.updated[0].after
        assert zip_code.id < town.id < city.id
        for field, definition in zip((town, city), changes.created, strict=True):
            assert exact(field) == exact(definition.with_id(field.id, ours))
        after = fields.all(ours)
        assert exact(after.fields) == exact((age, zip_code, town, city))
        assert after.revision > catalog.revision
        assert fields.all(theirs) == others
        records = records_of(history, ours)
        assert replay(records) == after.fields
        assert [(r.sequence, r.operation.value, r.key) for r in records[3:]] == [
            (4, "deleted", "city"),
            (5, "updated", "age"),
            (6, "created", "town"),
            (7, "created", "city"),
        ]
        assert {(r.occurred_at, r.author) for r in records[3:]} == {(LATER, AUTHOR)}

    def test_no_changes_keep_the_revision_and_are_not_recorded(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        catalog: Catalog,
    ) -> None:
        applied = fields.apply(ours, lambda _: CatalogChanges(), author=AUTHOR, at=LATER)
        assert applied == AppliedChanges(CatalogChanges(), ())
        assert fields.all(ours) == catalog
        assert len(records_of(history, ours)) == 3

    def test_a_planner_of_changes_that_raises_stores_nothing(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        catalog: Catalog,
    ) -> None:
        refusal = OperationForbidden("not these")

        def planner(_: Catalog) -> CatalogChanges:
            raise refusal

        with pytest.raises(OperationForbidden) as raised:
            fields.apply(ours, planner, author=AUTHOR, at=LATER)
        assert raised.value is refusal
        assert fields.all(ours) == catalog
        assert len(records_of(history, ours)) == 3

    @pytest.mark.parametrize("member", ["deleted", "updated", "created"])
    def test_interrupted_changes_are_not_stored(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        catalog: Catalog,
        member: str,
    ) -> None:
        def planner(found: Catalog) -> CatalogChanges:
            changes = change_everything(found)
            return evolve(changes, **{member: Interrupted(getattr(changes, member))})

        with pytest.raises(KeyboardInterrupt):
            fields.apply(ours, planner, author=AUTHOR, at=LATER)
        assert fields.all(ours) == catalog
        assert len(records_of(history, ours)) == 3

    def test_thousands_of_fields_are_created_in_order(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        created = tuple(a_definition(f"field_{number}") for number in range(2_500))
        applied = fields.apply(
            ours, lambda _: CatalogChanges(created=created), author=AUTHOR, at=LATER
        )
        assert [field.key for field in applied.created] == [each.key for each in created]
        assert fields.all(ours).fields == applied.created

    @pytest.mark.parametrize("never_assigned", NEVER_ASSIGNED)
    def test_changes_require_an_organization(
        self, fields: FieldRepository, catalog: Catalog, never_assigned: int
    ) -> None:
        with pytest.raises(OrganizationNotFound):
            fields.apply(
                OrganizationId(never_assigned), must_not_be_called, author=AUTHOR, at=LATER
            )
        assert fields.all(catalog.organization_id) == catalog
