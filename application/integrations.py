"""The use cases of integrations: connections to email service providers, and their sync runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import frozen

from recipient_fields.domain import FieldId, IntegrationId, OrganizationId, RecipientField
from recipient_fields.domain.esp import (
    Esp,
    Integration,
    IntegrationChanged,
    IntegrationDraft,
    ReportedField,
    SyncPlan,
    SyncRun,
)

from .clock import system_clock
from .identifiers import checks_identifiers
from .ports import Clock, FieldRepository, IntegrationRepository


@checks_identifiers
@frozen(kw_only=True)
class IntegrationService:
    """What can be done with an organization's integrations.

    Every method can raise StorageUnavailable; those that are given an integration's id,
    IntegrationNotFound.
    """

    integrations: IntegrationRepository
    fields: FieldRepository
    clock: Clock = system_clock

    def create_integration(
        self, organization_id: OrganizationId, *, esp: Esp, name: str
    ) -> Integration:
        """Make an integration without fields. InvalidIntegration, OrganizationNotFound."""
        draft = IntegrationDraft(esp=esp, name=name, created_at=self.clock())
        return self.integrations.add(organization_id, draft)

    def list_integrations(self, organization_id: OrganizationId) -> tuple[Integration, ...]:
        """The organization's integrations by ascending id. OrganizationNotFound."""
        return self.integrations.all(organization_id)

    def get_integration(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> Integration:
        """One integration of the organization."""
        return self.integrations.get(organization_id, integration_id)

    def rename_integration(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str
    ) -> Integration:
        """Give an integration another name. InvalidIntegration."""
        return self.integrations.rename(organization_id, integration_id, name)

    def delete_integration(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        *,
        expected: Collection[FieldId] | None = None,
    ) -> tuple[RecipientField, ...]:
        """Delete an integration and its fields, and return these fields.

        Raises: IntegrationChanged if `expected` is given and the fields are not these.
        """

        def check(fields: Collection[RecipientField]) -> None:
            if expected is not None and {field.id for field in fields} != set(expected):
                raise IntegrationChanged

        return self.integrations.delete(organization_id, integration_id, check)

    def sync_fields(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        reported: Iterable[ReportedField],
        *,
        dry_run: bool = False,
    ) -> SyncPlan:
        """Make the integration's fields equal to what its ESP reports; tells what that changed.

        All of it is stored, or nothing; nothing where reading `reported` raises, and nothing in a
        dry run, which tells what a run would do. A second run with the same report changes nothing
        but the integration's `last_synced_at`. SyncOvertaken where a run that began later has been
        stored meanwhile.
        """
        integration = self.integrations.get(organization_id, integration_id)
        run = SyncRun.from_report(integration, reported, at=self.clock())
        if dry_run:
            integration = self.integrations.get(organization_id, integration_id)
            return run.plan(integration, self.fields.all(organization_id).fields)
        return self.integrations.sync(organization_id, integration_id, run.plan)
