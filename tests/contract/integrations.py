"""Cases for each method of IntegrationRepository except `sync`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository, IntegrationRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Catalog,
    IntegrationId,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
)
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import (
    Integration,
    IntegrationNotFound,
    InvalidIntegration,
)

from .assertions import exact, raises, raising
from .examples import (
    AUTHOR,
    INSTANTS,
    LATER,
    LINES,
    NEVER_ASSIGNED,
    a_definition,
    an_esp_field,
    an_integration_draft,
    delete_integration,
    in_pairs,
    must_not_be_called,
    reporting,
    run_sync,
)
from .field_changes import add_field
from .fields import REFUSALS

Call: TypeAlias = Callable[[IntegrationRepository, OrganizationId, IntegrationId], object]

BY_ID: dict[str, Call] = {
    "get": lambda each, ours, which: each.get(ours, which),
    "rename": lambda each, ours, which: each.rename(ours, which, ""),
    "change_names": lambda each, ours, which: each.change_names(ours, which, must_not_be_called),
    "delete": lambda each, ours, which: each.delete(
        ours, which, must_not_be_called, author=AUTHOR, at=LATER
    ),
    "sync": lambda each, ours, which: each.sync(
        ours, which, must_not_be_called, author=AUTHOR, at=LATER
    ),
}
"""Every method with the ids of an organization and of an integration."""

by_id: pytest.MarkDecorator = pytest.mark.parametrize("call", BY_ID.values(), ids=BY_ID)


class IntegrationCases:
    """Cases for adding, reading, renaming and deleting integrations."""

    @pytest.fixture
    def integration(self, integrations: IntegrationRepository, ours: OrganizationId) -> Integration:
        """Return an integration of our organization, without fields."""
        return integrations.add(ours, an_integration_draft())

    @pytest.fixture
    def synced(self, integrations: IntegrationRepository, integration: Integration) -> Integration:
        """Return an integration of our organization, with two fields."""
        report = reporting(an_esp_field("CITY"), an_esp_field("AGE"))
        return run_sync(integrations, integration, report).integration

    @pytest.fixture
    def their_integration(
        self, integrations: IntegrationRepository, theirs: OrganizationId
    ) -> Integration:
        """Return an integration of the other organization, with one field."""
        added = integrations.add(theirs, an_integration_draft())
        return run_sync(integrations, added, reporting(an_esp_field())).integration

    @in_pairs(esp=BUILT_IN.esps, name=LINES, at=INSTANTS)
    def test_an_integration_is_stored_unchanged_and_with_its_times_to_the_millisecond(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        esp: Esp,
        name: str,
        at: datetime,
    ) -> None:
        draft = an_integration_draft(esp, name=name, created_at=at)
        added = integrations.add(ours, draft)
        expected = draft.with_id(added.id, ours)
        assert exact(added) == exact(expected)
        assert exact(integrations.get(ours, added.id)) == exact(expected)
        assert exact(integrations.all(ours)) == (exact(expected),)
        run_sync(integrations, added, reporting(at=at))
        expected = evolve(added, last_synced_at=at)
        assert exact(integrations.get(ours, added.id)) == exact(expected)
        assert exact(integrations.all(ours)) == (exact(expected),)

    def test_a_new_organization_has_no_integrations(
        self, integrations: IntegrationRepository, ours: OrganizationId
    ) -> None:
        assert integrations.all(ours) == ()

    def test_integrations_are_ordered_by_id_after_changes_too(
        self, integrations: IntegrationRepository, ours: OrganizationId
    ) -> None:
        names = ("Zenith", "Main list", "Archive")
        first, second, third = (
            integrations.add(ours, an_integration_draft(name=name)) for name in names
        )
        first = integrations.rename(ours, first.id, "First")
        second = run_sync(integrations, second, reporting()).integration
        assert integrations.all(ours) == (first, second, third)
        assert first.id < second.id < third.id

    def test_every_integration_id_is_greater_than_all_earlier_ones(
        self, integrations: IntegrationRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        ids = [
            integrations.add(organization, an_integration_draft()).id
            for _ in range(3)
            for organization in (ours, theirs)
        ]
        assert ids[0] > 0
        assert ids == sorted(set(ids))

    def test_the_id_of_a_deleted_integration_is_never_reused(
        self, integrations: IntegrationRepository, ours: OrganizationId
    ) -> None:
        deleted = integrations.add(ours, an_integration_draft())
        delete_integration(integrations, deleted)
        assert integrations.add(ours, an_integration_draft()).id > deleted.id

    def test_a_new_integration_increases_only_the_revision_of_the_catalog(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        add_field(fields, ours, a_definition())
        before, their_catalog = fields.all(ours), fields.all(theirs)
        integrations.add(ours, an_integration_draft())
        assert_only_revision_increased(before, fields.all(ours))
        assert fields.all(theirs) == their_catalog

    @by_id
    def test_another_organizations_integration_is_not_found(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        their_integration: Integration,
        call: Call,
    ) -> None:
        theirs = their_integration.organization_id
        before = fields.all(theirs)
        for _ in range(2):
            with pytest.raises(IntegrationNotFound):
                call(integrations, ours, their_integration.id)
            integrations.add(ours, an_integration_draft())  # The result must not change.
        assert integrations.all(theirs) == (their_integration,)
        assert fields.all(theirs) == before

    def test_each_organization_lists_its_own_integrations(
        self,
        integrations: IntegrationRepository,
        integration: Integration,
        their_integration: Integration,
    ) -> None:
        for each in (integration, their_integration):
            assert integrations.all(each.organization_id) == (each,)

    @by_id
    def test_an_id_that_was_never_assigned_has_no_integration(
        self, integrations: IntegrationRepository, integration: Integration, call: Call
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(IntegrationNotFound):
                call(integrations, integration.organization_id, IntegrationId(never_assigned))
            with pytest.raises(IntegrationNotFound):
                call(integrations, OrganizationId(never_assigned), integration.id)

    def test_listing_and_adding_integrations_require_an_organization(
        self, integrations: IntegrationRepository, integration: Integration
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(OrganizationNotFound):
                integrations.all(OrganizationId(never_assigned))
            with pytest.raises(OrganizationNotFound):
                integrations.count_fields(OrganizationId(never_assigned))
            with pytest.raises(OrganizationNotFound):
                integrations.read_catalog(OrganizationId(never_assigned))
            with pytest.raises(OrganizationNotFound):
                integrations.add(OrganizationId(never_assigned), an_integration_draft())
            assert integrations.all(integration.organization_id) == (integration,)

    def test_the_fields_of_every_integration_are_counted(
        self,
        fields: FieldRepository,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        synced: Integration,
        their_integration: Integration,
    ) -> None:
        other = integrations.add(ours, an_integration_draft())
        integrations.add(ours, an_integration_draft())
        report = reporting(an_esp_field("ZIP"))
        run_sync(integrations, other, report)
        add_field(fields, ours, a_definition("of_no_integration"))
        assert integrations.count_fields(ours) == {synced.id: 2, other.id: 1}
        assert integrations.count_fields(theirs) == {their_integration.id: 1}

    @pytest.mark.parametrize("name", LINES.values(), ids=LINES)
    def test_a_rename_stores_the_name(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        synced: Integration,
        name: str,
    ) -> None:
        other = integrations.add(ours, an_integration_draft())
        expected = evolve(synced, name=name)
        assert exact(integrations.rename(ours, synced.id, name)) == exact(expected)
        assert exact(integrations.all(ours)) == (exact(expected), exact(other))

    def test_a_rename_increases_only_the_revision_of_the_catalog(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        synced: Integration,
    ) -> None:
        before, their_catalog = fields.all(ours), fields.all(theirs)
        assert integrations.rename(ours, synced.id, "Other") == evolve(synced, name="Other")
        renamed = fields.all(ours)
        assert_only_revision_increased(before, renamed)
        integrations.rename(ours, synced.id, "Other")
        assert fields.all(ours) == renamed
        assert fields.all(theirs) == their_catalog

    def test_an_invalid_name_is_not_stored(
        self, integrations: IntegrationRepository, ours: OrganizationId, integration: Integration
    ) -> None:
        with pytest.raises(InvalidIntegration):
            integrations.rename(ours, integration.id, "two\nlines")
        assert integrations.all(ours) == (integration,)
        assert integrations.rename(ours, integration.id, "Other").name == "Other"

    def test_a_deletion_removes_the_integration_and_exactly_its_fields(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        synced: Integration,
        their_integration: Integration,
    ) -> None:
        theirs = their_integration.organization_id
        their_catalog = fields.all(theirs)
        other = integrations.add(ours, an_integration_draft())
        other = run_sync(integrations, other, reporting(an_esp_field())).integration
        for key, channel in (("town", API), ("zip", ADMINISTRATOR)):
            add_field(fields, ours, a_definition(key, by=channel))
        run_sync(integrations, synced, reporting(*map(an_esp_field, ("ZIP_CODE", "CITY", "AGE"))))
        before = fields.all(ours)
        deleted = tuple(f for f in before.fields if synced.channel.owns(f.origin))
        assert len(deleted) == 3
        received: list[tuple[RecipientField, ...]] = []
        assert exact(delete_integration(integrations, synced, received.append)) == exact(deleted)
        assert set(map(exact, received)) == {exact(deleted)}
        assert integrations.all(ours) == (other,)
        after = fields.all(ours)
        assert after.fields == tuple(f for f in before.fields if f not in deleted)
        assert after.revision > before.revision
        assert fields.all(theirs) == their_catalog
        assert integrations.all(theirs) == (their_integration,)

    def test_deleting_an_integration_without_fields_increases_only_the_revision(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        integration: Integration,
    ) -> None:
        add_field(fields, ours, a_definition())
        before = fields.all(ours)
        assert delete_integration(integrations, integration) == ()
        assert integrations.all(ours) == ()
        assert_only_revision_increased(before, fields.all(ours))

    @pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
    def test_a_check_that_raises_keeps_the_integration_and_its_fields(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        synced: Integration,
        refusal: BaseException,
    ) -> None:
        before = fields.all(ours)

        with raises(refusal):
            delete_integration(integrations, synced, raising(refusal))
        assert integrations.all(ours) == (synced,)
        assert fields.all(ours) == before
        assert delete_integration(integrations, synced) == before.fields

    @by_id
    def test_a_deleted_integration_is_not_found(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        synced: Integration,
        call: Call,
    ) -> None:
        delete_integration(integrations, synced)
        with pytest.raises(IntegrationNotFound):
            call(integrations, ours, synced.id)
        assert integrations.all(ours) == ()

    def test_the_keys_of_the_fields_of_a_deleted_integration_are_free_at_once(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        synced: Integration,
    ) -> None:
        deleted = delete_integration(integrations, synced)
        added = add_field(fields, ours, a_definition(deleted[0].key))
        assert added.id > max(field.id for field in deleted)


def assert_only_revision_increased(before: Catalog, after: Catalog) -> None:
    """Assert that the catalog has a greater revision, and the same fields."""
    assert after.revision > before.revision
    assert exact(after) == exact(evolve(before, revision=after.revision))
