"""Cases for the view of the catalog that a plan of `change` receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from recipient_fields.application import FieldRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Catalog,
    CatalogChanges,
    CatalogView,
    Change,
    FieldDefinition,
    FieldId,
    FieldKey,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    RecordedOperation,
    Source,
)

from .assertions import exact
from .examples import AUTHOR, LATER, NEVER_ASSIGNED, SYNC, a_definition, renaming
from .field_changes import add_field, update_field

T = TypeVar("T")


def look(
    fields: FieldRepository, organization_id: OrganizationId, read: Callable[[CatalogView], T]
) -> T:
    """Return what `read` reads in a plan that changes nothing."""
    seen: T

    def plan(view: CatalogView) -> CatalogChanges[FieldDefinition]:
        nonlocal seen
        seen = read(view)
        return CatalogChanges()

    fields.change(organization_id, plan, author=AUTHOR, at=LATER)
    return seen


def _find(
    fields: FieldRepository, organization_id: OrganizationId, reference: FieldReference
) -> RecipientField | None:
    """Return the field that a plan finds."""
    return look(fields, organization_id, lambda view: view.find(reference))


class CatalogViewCases:
    """Cases for each method of CatalogView, with two organizations that use the same keys."""

    @pytest.fixture
    def catalogs(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> tuple[Catalog, Catalog]:
        """Return our catalog with fields of each source, and theirs with other numbers of them."""
        for key, channel in (
            ("city", API),
            ("zip", API),
            ("town", API),
            ("age", ADMINISTRATOR),
            ("size", ADMINISTRATOR),
            ("first", SYNC),
        ):
            add_field(fields, ours, a_definition(key, by=channel))
        for key, channel in (("city", SYNC), ("zip", API)):
            add_field(fields, theirs, a_definition(key, by=channel))
        update_field(fields, ours, FieldKey("city"), renaming("Town"))
        return fields.all(ours), fields.all(theirs)

    def test_a_plan_sees_the_whole_catalog(
        self, fields: FieldRepository, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        for catalog in catalogs:
            seen = look(fields, catalog.organization_id, lambda view: view.all())
            assert exact(seen) == exact(catalog)

    def test_a_plan_finds_a_field_by_its_id_and_by_its_key(
        self, fields: FieldRepository, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        for catalog in catalogs:
            for field in catalog.fields:
                for reference in (field.id, field.key):
                    found = _find(fields, catalog.organization_id, reference)
                    assert exact(found) == exact(field)

    def test_a_plan_does_not_find_another_organizations_field(
        self, fields: FieldRepository, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        for one, other in (catalogs, catalogs[::-1]):
            for field in one.fields:
                assert _find(fields, other.organization_id, field.id) is None

    def test_a_plan_finds_no_field_that_does_not_exist(
        self, fields: FieldRepository, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            for catalog in catalogs:
                for reference in (FieldId(never_assigned), FieldKey("unknown")):
                    assert _find(fields, catalog.organization_id, reference) is None

    def test_a_plan_counts_the_fields_of_a_source(
        self, fields: FieldRepository, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        """Also after it has read a field: a storage may read the numbers together with it."""

        def count(view: CatalogView) -> list[int]:
            return [view.count(source) for source in Source]

        def find_and_count(view: CatalogView) -> list[int]:
            view.find(FieldKey("zip"))
            return count(view)

        for catalog in catalogs:
            sources = [field.origin.source for field in catalog.fields]
            for read in (count, find_and_count):
                counts = look(fields, catalog.organization_id, read)
                assert counts == [sources.count(source) for source in Source]

    def test_a_plan_that_stored_nothing_has_changed_nothing(
        self, fields: FieldRepository, ours: OrganizationId, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        _find(fields, ours, FieldKey("city"))
        assert fields.all(ours) == catalogs[0]

    def test_an_organization_that_does_not_exist_has_no_fields(
        self, fields: FieldRepository, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            missing = OrganizationId(never_assigned)
            for field in catalogs[0].fields:
                for reference in (field.id, field.key):
                    assert _find(fields, missing, reference) is None
            unreadable: tuple[Callable[[CatalogView], Any], ...] = (
                lambda view: view.all(),
                lambda view: view.count(Source.API),
            )
            for read in unreadable:
                with pytest.raises(OrganizationNotFound):
                    look(fields, missing, read)

    def test_changes_of_an_organization_that_does_not_exist_are_not_stored(
        self, fields: FieldRepository, catalogs: tuple[Catalog, Catalog]
    ) -> None:
        city = catalogs[0].fields[0]
        for never_assigned in NEVER_ASSIGNED:
            for changes in (
                CatalogChanges.of(created=(a_definition(),)),
                CatalogChanges.of(
                    updated=(Change(RecordedOperation.UPDATED, city, renaming("City 2")(city)),)
                ),
                CatalogChanges.of(deleted=(city,)),
                CatalogChanges.of(restored=(city,)),
            ):
                with pytest.raises(OrganizationNotFound):
                    fields.change(
                        OrganizationId(never_assigned),
                        lambda _: changes,  # noqa: B023
                        author=AUTHOR,
                        at=LATER,
                    )
            for catalog in catalogs:
                assert fields.all(catalog.organization_id) == catalog
