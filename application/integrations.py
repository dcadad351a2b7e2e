"""The use cases of integrations: connections to email service providers, and their sync runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from attrs import frozen

from recipient_fields.domain import (
    Author,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.esp import (
    Esp,
    Integration,
    IntegrationChanged,
    IntegrationDraft,
    ReportedField,
    SyncPlan,
    SyncRun,
)

from .audit import OPERATOR_AUTHOR
from .clock import system_clock
from .identifiers import require_ids
from .ports import Clock, FieldRepository, IntegrationRepository
from .recipient_fields import DEFAULT_CATALOG_SIZE


@frozen(kw_only=True)
class IntegrationService:
    """The use cases of integrations.

    `size_limit` is the maximum of the bytes of the list of all fields of an organization as JSON.

    Every method raises StorageUnavailable if the storage fails or does not respond in time.
    """

    integrations: IntegrationRepository
    fields: FieldRepository
    clock: Clock = system_clock
    size_limit: int = DEFAULT_CATALOG_SIZE

    def create_integration(
        self, organization_id: OrganizationId, *, esp: Esp, name: str
    ) -> Integration:
        """Create an integration without fields.

        Raises: InvalidIntegration if the name is not one line of 1 to 255 characters,
        OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        draft = IntegrationDraft(esp=esp, name=name, created_at=self.clock())
        return self.integrations.add(organization_id, draft)

    def list_integrations(self, organization_id: OrganizationId) -> tuple[Integration, ...]:
        """Return the organization's integrations by ascending id.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self.integrations.all(organization_id)

    def count_fields(self, organization_id: OrganizationId) -> Mapping[IntegrationId, int]:
        """Return the number of fields of each of the organization's integrations that has any.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self.integrations.count_fields(organization_id)

    def get_integration(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> Integration:
        """Return the integration.

        Raises: IntegrationNotFound if the organization has no such integration.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        return self.integrations.get(organization_id, integration_id)

    def rename_integration(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str
    ) -> Integration:
        """Rename an integration.

        Raises: IntegrationNotFound if the organization has no such integration, InvalidIntegration
        if the name is not one line of 1 to 255 characters.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        return self.integrations.rename(organization_id, integration_id, name)

    def delete_integration(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        *,
        expected: Collection[FieldId] | None = None,
        by: Author = OPERATOR_AUTHOR,
    ) -> tuple[RecipientField, ...]:
        """Delete an integration and its fields, and return these fields by ascending id.

        The history records the deletion of each field, by this author.
        Raises: IntegrationNotFound if the organization has no such integration, IntegrationChanged
        if `expected` is passed and is not the set of the ids of its fields.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)

        def check(fields: Collection[RecipientField]) -> None:
            if expected is not None and {field.id for field in fields} != set(expected):
                raise IntegrationChanged

        return self.integrations.delete(
            organization_id, integration_id, check, author=by, at=self.clock()
        )

    def sync_fields(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        reported: Iterable[ReportedField],
        *,
        dry_run: bool = False,
        request_id: str | None = None,
    ) -> SyncPlan:
        """Replace the integration's fields with those that its ESP reports. Return the changes.

        All changes are stored in one transaction. If the iteration over `reported` raises, nothing
        is stored and the exception is raised. A dry run stores nothing; it returns what a run would
        change. A second run with the same report changes only `last_synced_at` of the integration.
        The history records the integration as the author, with the `request_id`.
        Raises: IntegrationNotFound if the organization has no such integration, SyncOvertaken if a
        run that began later has been stored, CatalogTooLarge if the run increases the size of the
        list of all fields beyond its limit.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        integration = self.integrations.get(organization_id, integration_id)
        run = SyncRun.from_report(integration, reported, at=self.clock())
        if dry_run:
            integration = self.integrations.get(organization_id, integration_id)
            catalog = self.fields.all(organization_id)
            return run.plan(integration, catalog.fields, size_limit=self.size_limit)

        def plan(integration: Integration, fields: tuple[RecipientField, ...]) -> SyncPlan:
            return run.plan(integration, fields, size_limit=self.size_limit)

        author = Author(integration.channel, name=integration.name, request_id=request_id)
        return self.integrations.sync(
            organization_id, integration_id, plan, author=author, at=self.clock()
        )
