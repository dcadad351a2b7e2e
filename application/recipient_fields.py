"""The use cases of recipient fields."""

from __future__ import annotations

from datetime import datetime, timedelta

from attrs import evolve, frozen

from recipient_fields.domain import (
    API,
    UNCONDITIONAL,
    Author,
    Batch,
    Catalog,
    CatalogChanges,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    FieldReplacement,
    HistoryPage,
    HistoryQuery,
    KeyTaken,
    OrganizationId,
    OrganizationNotFound,
    Precondition,
    RecipientField,
    Source,
    StagedBatch,
    format_instant,
    whole_milliseconds,
)

from .audit import OPERATOR, audit
from .clock import system_clock
from .driving_ports import RecipientFields
from .identifiers import require_ids, require_reference
from .ports import Clock, FieldRepository, HistoryRepository
from .publication import PublishedCatalog

DEFAULT_FIELD_LIMIT = 1_000
"""The default maximum of API-managed fields per organization."""

_API_CLIENT = Author(API)


@frozen(kw_only=True)
class RecipientFieldService(RecipientFields):
    """The use cases of recipient fields, for one author.

    `limit` is the maximum of API-managed fields per organization. `create_field` sets the author's
    channel as the origin of the field. The rules of the channel decide which fields it can change.
    The history records the author of each change.
    """

    fields: FieldRepository
    history: HistoryRepository
    clock: Clock = system_clock
    author: Author = _API_CLIENT
    limit: int = DEFAULT_FIELD_LIMIT

    def by(self, author: Author) -> RecipientFieldService:
        """Return this service for another author."""
        return evolve(self, author=author)

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
        definition = draft.define(by=self.author.channel, at=self.clock())
        return self.fields.add(organization_id, definition, limit=self._limit(), author=self.author)

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
                changes, by=self.author.channel, at=self.clock(), precondition=precondition
            ),
            author=self.author,
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
            draft = replacement.draft(key, by=self.author.channel)
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
            lambda field: field.require_deletable(
                by=self.author.channel, precondition=precondition
            ),
            author=self.author,
            at=self.clock(),
        )

    def apply_batch(
        self, organization_id: OrganizationId, batch: Batch
    ) -> tuple[RecipientField | None, ...]:
        require_ids(organization_id=organization_id)
        for operation in batch.operations:
            require_reference(operation.reference)
        at = self.clock()
        staged: list[StagedBatch] = []  # of the last call of `plan`

        def plan(catalog: Catalog) -> CatalogChanges:
            staged[:] = [batch.stage(catalog, by=self.author.channel, at=at, limit=self.limit)]
            return staged[0].changes()

        applied = self.fields.apply(organization_id, plan, author=self.author, at=at)
        return staged[0].results(applied.created)

    def restore_field(self, organization_id: OrganizationId, field_id: FieldId) -> RecipientField:
        require_ids(organization_id=organization_id, field_id=field_id)
        try:
            return self.fields.restore(
                organization_id,
                field_id,
                lambda field: field.restored(by=self.author.channel, at=self.clock()),
                limit=self._limit(),
                author=self.author,
            )
        except KeyTaken as taken:  # The caller can't choose another key.
            holder = taken.existing_id
            message = (
                f"Field {field_id} is not deleted."
                if holder == field_id
                else f"Field {holder} has the key of field {field_id}. Delete field {holder} first."
            )
            raise KeyTaken(taken.key, holder, message) from None

    def list_changes(self, organization_id: OrganizationId, query: HistoryQuery) -> HistoryPage:
        require_ids(organization_id=organization_id)
        return self.history.select(organization_id, query)

    def list_field_changes(
        self, organization_id: OrganizationId, reference: FieldReference, query: HistoryQuery
    ) -> HistoryPage:
        require_ids(organization_id=organization_id)
        require_reference(reference)
        try:
            page = self.history.select(organization_id, query.of_field(reference))
        except OrganizationNotFound:
            raise FieldNotFound from None
        if not page.records:
            any_record = HistoryQuery(limit=1).of_field(reference)
            if not self.history.select(organization_id, any_record).records:
                self.fields.get(organization_id, reference)
        return page

    def list_fields_as_of(self, organization_id: OrganizationId, at: datetime) -> Catalog:
        require_ids(organization_id=organization_id)
        return self.history.catalog_at(organization_id, whole_milliseconds(at))

    def prune_history(self, organization_id: OrganizationId, *, older_than: timedelta) -> int:
        """Delete the records that are older, and return their number. The audit log has a record.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        before = self.clock() - older_than
        records = self.history.prune(organization_id, before)
        if records:
            facts = {"organization": organization_id, "records": records}
            audit("History", "pruned", by=OPERATOR, **facts, before=format_instant(before))
        return records

    def _limit(self) -> int | None:
        return self.limit if self.author.channel.source is Source.API else None
