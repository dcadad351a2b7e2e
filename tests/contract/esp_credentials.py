"""Cases for the credentials of integrations."""

from __future__ import annotations

import pytest

from recipient_fields.application import (
    EspCredentialRepository,
    IntegrationRepository,
    IntegrationStorage,
    OrganizationRepository,
)
from recipient_fields.domain import IntegrationId, OrganizationId
from recipient_fields.domain.esp import Integration, IntegrationNotFound

from .examples import (
    AUTHOR,
    LATER,
    NEVER_ASSIGNED,
    an_integration_draft,
    permit_integration,
    permit_organization,
)


class EspCredentialCases:
    """Cases for the credentials of integrations."""

    @pytest.fixture
    def credentials(self, storage: IntegrationStorage) -> EspCredentialRepository:
        """Return the credentials of the storage."""
        return storage.esp_credentials

    @pytest.fixture
    def main(self, integrations: IntegrationRepository, ours: OrganizationId) -> Integration:
        """Return an integration of our organization."""
        return integrations.add(ours, an_integration_draft())

    def test_a_credential_is_stored_replaced_and_deleted(
        self,
        credentials: EspCredentialRepository,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        main: Integration,
    ) -> None:
        other = integrations.add(ours, an_integration_draft())
        assert credentials.get(ours, main.id) is None
        assert not credentials.delete(ours, main.id)
        credentials.put(ours, other.id, "other")
        for credential in ("", "key-1", "Größe \U0001f511 " * 1_000):
            credentials.put(ours, main.id, credential)
            assert credentials.get(ours, main.id) == credential
        assert credentials.delete(ours, main.id)
        assert credentials.get(ours, main.id) is None
        assert credentials.get(ours, other.id) == "other"

    def test_other_organizations_have_no_access(
        self,
        credentials: EspCredentialRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        main: Integration,
    ) -> None:
        credentials.put(ours, main.id, "key")
        for other in (theirs, *map(OrganizationId, NEVER_ASSIGNED)):
            with pytest.raises(IntegrationNotFound):
                credentials.put(other, main.id, "theirs")
            assert credentials.get(other, main.id) is None
            assert not credentials.delete(other, main.id)
        assert credentials.get(ours, main.id) == "key"
        with pytest.raises(IntegrationNotFound):
            credentials.put(ours, IntegrationId(NEVER_ASSIGNED[0]), "key")

    def test_a_credential_is_deleted_with_its_integration(
        self,
        credentials: EspCredentialRepository,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        main: Integration,
    ) -> None:
        credentials.put(ours, main.id, "key")
        integrations.delete(ours, main.id, permit_integration, author=AUTHOR, at=LATER)
        assert credentials.get(ours, main.id) is None
        assert not credentials.delete(ours, main.id)

    def test_a_credential_is_deleted_with_its_organization(
        self,
        credentials: EspCredentialRepository,
        organizations: OrganizationRepository,
        ours: OrganizationId,
        main: Integration,
    ) -> None:
        credentials.put(ours, main.id, "key")
        organizations.delete(ours, permit_organization)
        assert credentials.get(ours, main.id) is None
