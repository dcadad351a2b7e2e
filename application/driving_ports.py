"""What the core offers to those who drive it, wherever it runs."""

from __future__ import annotations

from typing import Protocol

from recipient_fields.domain import (
    UNCONDITIONAL,
    Catalog,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldPage,
    FieldQuery,
    FieldReference,
    FieldReplacement,
    OrganizationId,
    Precondition,
    RecipientField,
)

from .publication import PublishedCatalog


class RecipientFields(Protocol):
    """What can be done with an organization's fields: in this process, or with a remote service.

    Every method can raise StorageUnavailable; that alone can follow a change that was stored. A
    remote service asks for an API key and can also raise KeyRefused, InsufficientAccess and
    KeyValidationUnavailable, in whose case nothing has changed. All methods may be called from
    several threads at once.

    Every method raises TypeError if an object is passed in place of its id, such as an
    Organization for `organization_id`.
    """

    def list_fields(self, organization_id: OrganizationId) -> Catalog:
        """Every field of the organization, whatever its origin. OrganizationNotFound."""

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        """Every field of the organization as a JSON document. OrganizationNotFound."""

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """The fields the query asks for, whatever their origin. OrganizationNotFound."""

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        """One field by id or key. FieldNotFound."""

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        """Make a field. InvalidField, OrganizationNotFound, KeyTaken, FieldLimitReached."""

    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """Change a field; where nothing changes, it keeps its version.

        FieldNotFound, OperationForbidden, VersionConflict, InvalidField.
        """

    def replace_or_create_field(
        self,
        organization_id: OrganizationId,
        key: FieldKey,
        replacement: FieldReplacement,
        precondition: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        """Make the field of that key what `replacement` says; True where it was created.

        Raises what `update_field` raises for a field that exists, and for a free key
        VersionConflict, InvalidField and what `create_field` raises.
        """

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        precondition: Precondition = UNCONDITIONAL,
    ) -> None:
        """Remove a field. FieldNotFound, OperationForbidden, VersionConflict."""
