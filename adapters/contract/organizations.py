"""What each method of an OrganizationRepository does."""

from __future__ import annotations

from datetime import datetime

import pytest

from recipient_fields.application import FieldRepository, OrganizationRepository
from recipient_fields.domain import Catalog, InvalidOrganization, Organization

from .examples import INSTANTS, LINES, NOW
from .outcomes import exact


class OrganizationCases:
    """Making organizations and listing them."""

    @pytest.mark.parametrize("name", LINES.values(), ids=LINES)
    def test_organization_names_come_back(
        self, organizations: OrganizationRepository, name: str
    ) -> None:
        added = organizations.add(name, NOW)
        expected = exact(Organization(id=added.id, name=name, created_at=NOW))
        assert exact(added) == expected
        assert expected in map(exact, organizations.all())

    @pytest.mark.parametrize("created_at", INSTANTS)
    def test_times_of_organizations_come_back_to_the_millisecond(
        self, organizations: OrganizationRepository, created_at: datetime
    ) -> None:
        added = organizations.add("ACME", created_at)
        assert added.created_at == created_at
        assert exact(added) in map(exact, organizations.all())

    def test_organizations_come_by_ascending_id(
        self, organizations: OrganizationRepository
    ) -> None:
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

    def test_an_invalid_name_is_refused_and_stores_nothing(
        self, organizations: OrganizationRepository
    ) -> None:
        before = organizations.all()
        for name in ("", " ", "two\nlines", "x" * 256):
            with pytest.raises(InvalidOrganization):
                organizations.add(name, NOW)
        assert organizations.all() == before

    @pytest.mark.parametrize("created_at", INSTANTS)
    def test_a_new_organization_has_an_empty_catalog_at_its_first_revision(
        self,
        organizations: OrganizationRepository,
        fields: FieldRepository,
        created_at: datetime,
    ) -> None:
        made = organizations.add("ACME", created_at)
        assert fields.all(made.id) == Catalog(made.id, made.first_revision, ())
