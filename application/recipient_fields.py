"""The use cases of recipient fields."""

from __future__ import annotations

from attrs import evolve, frozen

from recipient_fields.domain import (
    API,
    UNCONDITIONAL,
    Catalog,
    Channel,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    FieldReplacement,
    KeyTaken,
    OrganizationId,
    Precondition,
    RecipientField,
    Source,
)

from .clock import system_clock
from .driving_ports import RecipientFields
from .identifiers import require_ids, require_reference
from .ports import Clock, FieldRepository
from .publication import PublishedCatalog

DEFAULT_FIELD_LIMIT = 1_000
"""The default maximum of API-managed fields per organization."""


@frozen(kw_only=True)
class RecipientFieldService(RecipientFields):
    """The use cases of recipient fields, for one channel.

    `limit` is the maximum of API-managed fields per organization. `create_field` sets the channel
    as the origin of the field. The rules of the channel decide which fields it can change.
    """

    fields: FieldRepository
    clock: Clock = system_clock
    channel: Channel = API
    limit: int = DEFAULT_FIELD_LIMIT

    def through(self, channel: Channel) -> RecipientFieldService:
        """Return this service for another channel."""
        return evolve(self, channel=channel)

    def list_fields(self, organization_id: OrganizationId) -> Catalog:
        require_ids(organization_id=organization_id)
        return self.fields.all(organization_id)

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        require_ids(organization_id=organization_id)
        return self.fields.publish(organization_id)

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        require_ids(organization_id=organization_id)
        return self.fields.select(organization_id, query)

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        require_ids(organization_id=organization_id)
        require_reference(reference)
        return self.fields.get(organization_id, reference)

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        require_ids(organization_id=organization_id)
        definition = draft.define(by=self.channel, at=self.clock())
        limit = self.limit if self.channel.source is Source.API else None
        return self.fields.add(organization_id, definition, limit=limit)

    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        require_ids(organization_id=organization_id)
        require_reference(reference)
        return self.fields.update(
            organization_id,
            reference,
            lambda field: field.with_changes(
                changes, by=self.channel, at=self.clock(), precondition=precondition
            ),
        )

    def replace_or_create_field(
        self,
        organization_id: OrganizationId,
        key: FieldKey,
        replacement: FieldReplacement,
        precondition: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        require_ids(organization_id=organization_id)
        while True:
            try:
                changes = replacement.changes()
                return self.update_field(organization_id, key, changes, precondition), False
            except FieldNotFound:
                precondition.require(None)
            draft = replacement.draft(key, by=self.channel)
            try:
                return self.create_field(organization_id, draft), True
            except KeyTaken:
                continue  # Another caller has created the field in the meantime: replace it.

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        precondition: Precondition = UNCONDITIONAL,
    ) -> None:
        require_ids(organization_id=organization_id)
        require_reference(reference)
        self.fields.delete(
            organization_id,
            reference,
            lambda field: field.require_deletable(by=self.channel, precondition=precondition),
        )
