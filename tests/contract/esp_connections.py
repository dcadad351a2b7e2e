"""Cases for the connections of integrations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from attrs import evolve

from recipient_fields.application import (
    EspConnectionRepository,
    IntegrationRepository,
    IntegrationStorage,
    OrganizationRepository,
)
from recipient_fields.domain import FieldId, IntegrationId, OrganizationId
from recipient_fields.domain.integrations import (
    EspConnection,
    Integration,
    IntegrationNotFound,
    Interval,
)

from .examples import (
    LATER,
    NEVER_ASSIGNED,
    NOW,
    an_integration_draft,
    delete_integration,
    permit_organization,
)


def _same(stored: EspConnection, _before: EspConnection) -> EspConnection:
    return stored


class EspConnectionCases:
    """Cases for the connections of integrations."""

    @pytest.fixture
    def connections(self, storage: IntegrationStorage) -> EspConnectionRepository:
        """Return the connections of the storage."""
        return storage.esp_connections

    @pytest.fixture
    def main(self, integrations: IntegrationRepository, ours: OrganizationId) -> Integration:
        """Return an integration of our organization."""
        return integrations.add(ours, an_integration_draft())

    def test_a_connection_is_stored_and_replaced(
        self,
        connections: EspConnectionRepository,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        main: Integration,
    ) -> None:
        other = integrations.add(ours, an_integration_draft())
        new = EspConnection(id=main.id, organization_id=ours)
        assert connections.get(ours, main.id) == new
        assert not [each for each in connections.all() if each.organization_id == ours]
        complete = EspConnection(
            id=main.id,
            organization_id=ours,
            credential="Größe \U0001f511 " * 1_000,
            interval=Interval.DAILY,
            due_at=LATER,
            lease="lease-1",
            failures=3,
            last_error="The ESP failed.",
            last_run_at=NOW,
            last_result="1 created",
            waiting="digest",
            waiting_fields=(FieldId(7), FieldId(8)),
        )
        simple = evolve(new, credential="")
        for stored in (complete, simple, complete):
            assert connections.change(ours, main.id, partial(_same, stored)) == stored
            assert connections.get(ours, main.id) == stored
        second = connections.change(ours, other.id, lambda each: evolve(each, credential="other"))
        listed = [each for each in connections.all() if each.organization_id == ours]
        assert listed == [complete, second]

    def test_a_connection_whose_plan_raises_stays_as_it_is(
        self, connections: EspConnectionRepository, ours: OrganizationId, main: Integration
    ) -> None:
        stored = connections.change(ours, main.id, lambda each: evolve(each, credential="key"))

        def plan(connection: EspConnection) -> EspConnection:
            assert connection == stored
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            connections.change(ours, main.id, plan)
        assert connections.get(ours, main.id) == stored

    def test_concurrent_changes_lose_nothing(
        self, connections: EspConnectionRepository, ours: OrganizationId, main: Integration
    ) -> None:
        def count(_: int) -> None:
            connections.change(ours, main.id, lambda each: evolve(each, failures=each.failures + 1))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count, range(20)))
        assert connections.get(ours, main.id).failures == 20

    def test_other_organizations_have_no_access(
        self,
        connections: EspConnectionRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        main: Integration,
    ) -> None:
        stored = connections.change(ours, main.id, lambda each: evolve(each, credential="key"))
        for other in (theirs, *map(OrganizationId, NEVER_ASSIGNED)):
            with pytest.raises(IntegrationNotFound):
                connections.change(other, main.id, lambda each: evolve(each, credential="x"))
            with pytest.raises(IntegrationNotFound):
                connections.get(other, main.id)
        with pytest.raises(IntegrationNotFound):
            connections.get(ours, IntegrationId(NEVER_ASSIGNED[0]))
        assert connections.get(ours, main.id) == stored

    def test_a_connection_is_deleted_with_its_integration(
        self,
        connections: EspConnectionRepository,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        main: Integration,
    ) -> None:
        connections.change(ours, main.id, lambda each: evolve(each, credential="key"))
        delete_integration(integrations, main)
        with pytest.raises(IntegrationNotFound):
            connections.get(ours, main.id)
        assert not [each for each in connections.all() if each.organization_id == ours]

    def test_a_connection_is_deleted_with_its_organization(
        self,
        connections: EspConnectionRepository,
        organizations: OrganizationRepository,
        ours: OrganizationId,
        main: Integration,
    ) -> None:
        connections.change(ours, main.id, lambda each: evolve(each, credential="key"))
        organizations.delete(ours, permit_organization)
        assert not [each for each in connections.all() if each.organization_id == ours]
