"""Cases for each method of OrganizationRepository."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import (
    ConsoleStorage,
    FieldRepository,
    IntegrationStorage,
    OrganizationRepository,
    Storage,
)
from recipient_fields.domain import (
    Catalog,
    EmailAddress,
    FieldKey,
    FieldNotFound,
    InvalidOrganization,
    Organization,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
)

from .assertions import exact, raises, raising
from .examples import (
    INSTANTS,
    LINES,
    NEVER_ASSIGNED,
    NOW,
    a_definition,
    a_digest,
    a_grant,
    an_esp_field,
    an_integration_draft,
    an_invitation_draft,
    grant,
    in_pairs,
    must_not_be_called,
    permit_organization,
    reporting,
    run_sync,
)
from .field_changes import add_field
from .fields import REFUSALS

Call: TypeAlias = Callable[[OrganizationRepository, OrganizationId], object]
Read: TypeAlias = Callable[[OrganizationId], object]

BY_ID: dict[str, Call] = {
    "get": lambda each, ours: each.get(ours),
    "rename": lambda each, ours: each.rename(ours, "Other"),
    "delete": lambda each, ours: each.delete(ours, must_not_be_called),
}
"""Every method that takes an organization's id."""

by_id: pytest.MarkDecorator = pytest.mark.parametrize("call", BY_ID.values(), ids=BY_ID)


class OrganizationCases:
    """Cases for adding, listing, renaming and deleting organizations."""

    @pytest.fixture
    def full(self, storage: Storage, ours: OrganizationId) -> OrganizationContents:
        """Return the contents of our organization: rows of each kind, and a synced field."""
        for key in ("city", "town"):
            add_field(storage.fields, ours, a_definition(key))
        full = OrganizationContents(fields=2, api_keys=0, integrations=0, administrators=0)
        if isinstance(storage, IntegrationStorage):
            for _ in range(2):
                storage.api_keys.add(a_grant(ours))
                storage.integrations.add(ours, an_integration_draft())
            revoked = storage.api_keys.all(ours)[0].id
            storage.api_keys.update(ours, revoked, lambda key: key.revoked(NOW))
            synced = storage.integrations.all(ours)[0]
            run_sync(storage.integrations, synced, reporting(an_esp_field("ZIP")))
            full = evolve(full, fields=3, api_keys=2, integrations=2)
        if isinstance(storage, ConsoleStorage):
            for name in ("dana", "eve"):
                grant(storage.administrators, ours, f"{name}@{ours}.example")
            email = EmailAddress(f"invited@{ours}.example")
            storage.administrators.invite(ours, an_invitation_draft(email))
            full = evolve(full, administrators=2)
        return full

    @in_pairs(name=LINES, created_at=INSTANTS)
    def test_an_organization_is_stored_unchanged_with_an_empty_catalog_at_its_first_revision(
        self,
        organizations: OrganizationRepository,
        fields: FieldRepository,
        name: str,
        created_at: datetime,
    ) -> None:
        added = organizations.add(name, created_at)
        expected = exact(Organization(id=added.id, name=name, created_at=created_at))
        assert exact(added) == expected
        assert expected in map(exact, organizations.all())
        assert fields.all(added.id) == Catalog(added.id, added.first_revision, ())

    def test_organizations_are_ordered_by_id(self, organizations: OrganizationRepository) -> None:
        before = organizations.all()
        added = {organizations.add(name, NOW) for name in ("Zenith", "ACME", "Moon")}
        after = organizations.all()
        assert [each.id for each in after] == sorted({each.id for each in after})
        assert set(after) == {*before, *added}

    def test_organization_names_need_not_be_unique(
        self, organizations: OrganizationRepository
    ) -> None:
        one, other = (organizations.add("ACME", NOW) for _ in range(2))
        assert one.id != other.id

    def test_an_organization_is_found_by_its_id(
        self, organizations: OrganizationRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        by_id = {each.id: exact(each) for each in organizations.all()}
        for organization_id in (ours, theirs):
            assert exact(organizations.get(organization_id)) == by_id[organization_id]

    @by_id
    @pytest.mark.usefixtures("ours")
    def test_an_id_that_was_never_assigned_has_no_organization(
        self, organizations: OrganizationRepository, call: Call
    ) -> None:
        before = organizations.all()
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(OrganizationNotFound):
                call(organizations, OrganizationId(never_assigned))
            assert organizations.all() == before

    @pytest.mark.parametrize("name", LINES.values(), ids=LINES)
    @pytest.mark.usefixtures("theirs")
    def test_a_rename_stores_the_name_and_nothing_else(
        self,
        organizations: OrganizationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        name: str,
    ) -> None:
        add_field(fields, ours, a_definition())
        catalog, before = fields.all(ours), {each.id: each for each in organizations.all()}
        expected = evolve(before[ours], name=name)
        assert exact(organizations.rename(ours, name)) == exact(expected)
        after = {**before, ours: expected}
        assert exact(organizations.all()) == exact(tuple(after.values()))
        assert fields.all(ours) == catalog

    def test_an_invalid_name_is_rejected_and_stores_nothing(
        self, organizations: OrganizationRepository, ours: OrganizationId
    ) -> None:
        before = organizations.all()
        for name in ("", " ", "two\nlines", "x" * 256):
            with pytest.raises(InvalidOrganization):
                organizations.add(name, NOW)
            with pytest.raises(InvalidOrganization):
                organizations.rename(ours, name)
            with pytest.raises(InvalidOrganization):
                organizations.rename(OrganizationId(NEVER_ASSIGNED[0]), name)
        assert organizations.all() == before

    def test_deleting_an_organization_deletes_its_rows_and_no_others(
        self,
        storage: Storage,
        ours: OrganizationId,
        theirs: OrganizationId,
        full: OrganizationContents,
    ) -> None:
        ids_of_new_rows(storage, theirs)
        before = everything_of(storage, theirs)
        api_keys = storage.api_keys if isinstance(storage, IntegrationStorage) else None
        digests = [] if api_keys is None else [key.digest for key in api_keys.all(ours)]
        passed: list[OrganizationContents] = []
        others = tuple(each for each in storage.organizations.all() if each.id != ours)
        assert exact(storage.organizations.delete(ours, passed.append)) == exact(full)
        assert set(map(exact, passed)) == {exact(full)}
        assert storage.organizations.all() == others
        assert_gone(storage, ours)
        if api_keys is not None:
            assert [api_keys.find(digest) for digest in digests] == [None, None]
        assert everything_of(storage, theirs) == before
        storage.check()

    def test_an_empty_organization_can_be_deleted(
        self, storage: Storage, ours: OrganizationId
    ) -> None:
        empty = OrganizationContents(fields=0, api_keys=0, integrations=0, administrators=0)
        assert storage.organizations.delete(ours, permit_organization) == empty
        assert_gone(storage, ours)

    @by_id
    def test_a_deleted_organization_is_not_found(
        self, organizations: OrganizationRepository, ours: OrganizationId, call: Call
    ) -> None:
        organizations.delete(ours, permit_organization)
        with pytest.raises(OrganizationNotFound):
            call(organizations, ours)

    @pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
    def test_a_check_that_raises_keeps_the_organization_and_its_rows(
        self,
        storage: Storage,
        ours: OrganizationId,
        full: OrganizationContents,
        refusal: BaseException,
    ) -> None:
        before = everything_of(storage, ours)

        with raises(refusal):
            storage.organizations.delete(ours, raising(refusal))
        assert everything_of(storage, ours) == before
        assert storage.organizations.delete(ours, permit_organization) == full

    def test_no_id_of_a_deleted_organization_is_assigned_again(self, storage: Storage) -> None:
        deleted = storage.organizations.add("ACME", NOW).id
        ids = ids_of_new_rows(storage, deleted)
        storage.organizations.delete(deleted, permit_organization)
        other = storage.organizations.add("ACME", NOW).id
        assert other > deleted
        pairs = zip(ids_of_new_rows(storage, other), ids, strict=True)
        assert all(new > old for new, old in pairs)


def ids_of_new_rows(storage: Storage, organization_id: OrganizationId) -> tuple[int, ...]:
    """Add a record of each kind to the organization, and return their ids."""
    field = add_field(storage.fields, organization_id, a_definition())
    ids: list[int] = [field.id]
    if isinstance(storage, IntegrationStorage):
        key = storage.api_keys.add(a_grant(organization_id))
        integration = storage.integrations.add(organization_id, an_integration_draft())
        ids += key.id, integration.id
    if isinstance(storage, ConsoleStorage):
        administrator = grant(storage.administrators, organization_id)
        email = EmailAddress(f"invited@{organization_id}.example")
        invitation = storage.administrators.invite(organization_id, an_invitation_draft(email))
        assert invitation is not None
        session = storage.sessions.add(administrator, a_digest(), NOW, "")
        ids += administrator.id, invitation.id, session.id
    return tuple(ids)


def everything_of(storage: Storage, organization_id: OrganizationId) -> tuple[object, ...]:
    """Return the organization and all its rows."""
    return tuple(read(organization_id) for read in _reads(storage))


def assert_gone(storage: Storage, organization_id: OrganizationId) -> None:
    """Assert that the storage has neither the organization nor any of its rows."""
    for read in (storage.fields.publish, *_reads(storage)):
        with pytest.raises(OrganizationNotFound):
            read(organization_id)
    with pytest.raises(FieldNotFound):
        storage.fields.get(organization_id, FieldKey("city"))
    with pytest.raises(OrganizationNotFound):
        add_field(storage.fields, organization_id, a_definition())


def _reads(storage: Storage) -> Iterator[Read]:
    """Yield the methods that read all rows of one kind."""
    yield storage.organizations.get
    yield storage.fields.all
    if isinstance(storage, IntegrationStorage):
        yield storage.api_keys.all
        yield storage.integrations.all
    if isinstance(storage, ConsoleStorage):
        yield storage.administrators.all
        yield storage.administrators.invitations
