"""The driving port: the use cases that entrypoints call and that a client implements remotely."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recipient_fields.domain import (
    UNCONDITIONAL,
    Batch,
    Catalog,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldIdentity,
    FieldPage,
    FieldQuery,
    FieldReference,
    HistoryPage,
    HistoryQuery,
    OrganizationId,
    Precondition,
    RecipientField,
)

from .fields import PublishedCatalog

__all__ = ["RecipientFields"]


class RecipientFields(Protocol):
    """The use cases of recipient fields, in this process or in a remote service.

    All methods are thread-safe. Every method raises

    - StorageUnavailable if the storage or the remote service fails or does not respond in time. Of
      all errors, only this one can follow a change that was stored.
    - TypeError if an object is passed in place of its id, such as an Organization for
      `organization_id`, or another object in place of a draft, a query or another argument.
    - with a remote service, KeyRefused if it does not accept the API key, InsufficientAccess if the
      key may only read and the method writes, and KeyValidationUnavailable if the service can't
      validate the key at the moment.

    For each organization, the fields of other organizations do not exist.
    """

    def list_fields(self, organization_id: OrganizationId) -> Catalog:
        """Return all fields of the organization by ascending id, and the revision of the catalog.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        """Return the same catalog as `list_fields`, as JSON.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """Return the page of fields that the query selects, in the query's order.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        """Return the field with this id or key.

        Raises: FieldNotFound if the organization has no such field, or does not exist.
        """

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        """Create a field.

        Raises: InvalidField if the draft is invalid, OrganizationNotFound if the organization does
        not exist, KeyTaken if it has a field with this key, of any origin, FieldLimitReached if it
        has the maximum number of API-managed fields.
        """

    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """Change a field, and return it. A change to equal values keeps the field's version.

        Raises: FieldNotFound if the organization has no such field, OperationForbidden if the
        channel may not update a field of this origin, VersionConflict if the precondition does not
        hold, InvalidField if the changed field would be invalid.
        """

    def replace_or_create_field(
        self,
        organization_id: OrganizationId,
        draft: FieldDraft,
        precondition: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        """Replace the field with the key of the draft, or create it.

        Return the field, and whether it was created.

        Raises: the errors of `update_field` if the field exists, except FieldNotFound; InvalidField
        if it has another data type. Otherwise VersionConflict if the precondition requires a field,
        OrganizationNotFound, and FieldLimitReached as `create_field` does.
        """

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        precondition: Precondition = UNCONDITIONAL,
    ) -> None:
        """Delete a field.

        Raises: FieldNotFound if the organization has no such field, OperationForbidden if the
        channel may not delete a field of this origin, VersionConflict if the precondition does not
        hold.
        """

    def apply_batch(
        self, organization_id: OrganizationId, batch: Batch
    ) -> tuple[RecipientField | None, ...]:
        """Perform the operations of a batch, all or none. Return the field of each one after it.

        The field of an operation is None if it does not exist after the batch.

        Raises: OrganizationNotFound if the organization does not exist; CatalogChanged if its
        catalog does not have the expected version; BatchRejected if an operation fails.
        """

    def apply_batch_minimally(
        self, organization_id: OrganizationId, batch: Batch
    ) -> tuple[FieldIdentity | None, ...]:
        """Perform a batch as `apply_batch` does. Return only the id and the key of each field."""

    def restore_field(self, organization_id: OrganizationId, field_id: FieldId) -> RecipientField:
        """Restore a deleted field with its id and its members, and return it.

        Raises: FieldNotFound if the organization has no such field and no record of its deletion,
        or does not exist; HistoryRemoved if the record can have been removed; OperationForbidden if
        the channel may not create fields of this origin; KeyTaken if a field has its key, or if the
        field is not deleted; FieldLimitReached if the organization has the maximum number of
        API-managed fields.
        """

    def list_changes(self, organization_id: OrganizationId, query: HistoryQuery) -> HistoryPage:
        """Return the page of the history that the query selects.

        To follow the history, continue after the sequence number of the last record. This misses no
        record and returns none twice, even if changes are stored at the same time.

        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory if records
        after `query.after` were removed, unless the order is descending.
        """

    def list_field_changes(
        self, organization_id: OrganizationId, reference: FieldReference, query: HistoryQuery
    ) -> HistoryPage:
        """Return the page of the history of the field with this id, or of all fields with this key.

        The fields can be deleted ones.

        Raises: FieldNotFound if the organization has no such field and no record of one, or does
        not exist; BeforeHistory as `list_changes` does, for records of any field.
        """

    def list_fields_as_of(self, organization_id: OrganizationId, at: datetime) -> Catalog:
        """Return the catalog as it was at this time, after all changes that occurred until then.

        `at` is aware. Its revision identifies this state among those of the history, and is no
        revision of the current catalog.

        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory if its
        history has no record that occurred until then; ValueError if `at` has no time zone.
        """
