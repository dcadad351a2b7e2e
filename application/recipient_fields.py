"""The use cases of recipient fields, for whichever channel asks."""

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
from .identifiers import checks_identifiers
from .ports import Clock, FieldRepository
from .publication import PublishedCatalog

DEFAULT_FIELD_LIMIT = 1_000
"""How many API-managed fields an organization may have unless told otherwise."""


@checks_identifiers
@frozen(kw_only=True)
class RecipientFieldService(RecipientFields):
    """What can be done with an organization's fields through one channel.

    Every method can raise StorageUnavailable.
    """

    fields: FieldRepository
    clock: Clock = system_clock
    channel: Channel = API
    limit: int = DEFAULT_FIELD_LIMIT

    def through(self, channel: Channel) -> RecipientFieldService:
        """The same use cases for another channel."""
        return evolve(self, channel=channel)

    def list_fields(self, organization_id: OrganizationId) -> Catalog:
        """See RecipientFields."""
        return self.fields.all(organization_id)

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        """See RecipientFields."""
        return self.fields.publish(organization_id)

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """See RecipientFields."""
        return self.fields.select(organization_id, query)

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        """See RecipientFields."""
        return self.fields.get(organization_id, reference)

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        """See RecipientFields; the field is of this channel's origin."""
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
        """See RecipientFields; the field must be of this channel."""
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
        """See RecipientFields."""
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
                continue  # Another caller took the key in between: replace what they made.

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        precondition: Precondition = UNCONDITIONAL,
    ) -> None:
        """See RecipientFields; the field must be of this channel."""
        self.fields.delete(
            organization_id,
            reference,
            lambda field: field.require_deletable(by=self.channel, precondition=precondition),
        )
