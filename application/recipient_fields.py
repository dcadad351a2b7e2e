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
from .inbound import RecipientFields
from .ports import Clock, FieldRepository
from .publication import PublishedCatalog

DEFAULT_FIELD_LIMIT = 1_000
"""How many API-managed fields an organization may have unless told otherwise."""


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
        """Every field of the organization, whatever its origin. OrganizationNotFound."""
        return self.fields.all(organization_id)

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        """Every field of the organization as a JSON document. OrganizationNotFound."""
        return self.fields.publish(organization_id)

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """The fields the query asks for, whatever their origin. OrganizationNotFound."""
        return self.fields.select(organization_id, query)

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        """One field by id or key. FieldNotFound."""
        return self.fields.get(organization_id, reference)

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        """Make a field of this channel's origin. KeyTaken, FieldLimitReached."""
        definition = draft.defined(by=self.channel, at=self.clock())
        limit = self.limit if self.channel.source is Source.API else None
        return self.fields.add(organization_id, definition, limit=limit)

    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        given: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """Change a field of this channel.

        FieldNotFound, OperationForbidden, VersionConflict, InvalidField, in this order.
        """
        return self.fields.update(
            organization_id,
            reference,
            lambda field: field.revised(changes, by=self.channel, at=self.clock(), given=given),
        )

    def replace_or_create_field(
        self,
        organization_id: OrganizationId,
        key: FieldKey,
        replacement: FieldReplacement,
        given: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        """Make the field of that key what `replacement` says; True where it was created.

        Raises what `update_field` raises for a field that exists, and for a free key
        VersionConflict, InvalidField and what `create_field` raises.
        """
        while True:
            try:
                changes = replacement.changes()
                return self.update_field(organization_id, key, changes, given), False
            except FieldNotFound:
                given.require(None)
            draft = replacement.draft(key, by=self.channel)
            try:
                return self.create_field(organization_id, draft), True
            except KeyTaken:
                continue  # Another caller took the key in between: replace what they made.

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        given: Precondition = UNCONDITIONAL,
    ) -> None:
        """Remove a field of this channel. FieldNotFound, OperationForbidden, VersionConflict."""
        self.fields.delete(
            organization_id,
            reference,
            lambda field: field.require_deletable(by=self.channel, given=given),
        )
