"""The use cases of recipient fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar, cast

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    API,
    UNCONDITIONAL,
    Author,
    Batch,
    Catalog,
    CatalogChanges,
    CatalogView,
    Decision,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldId,
    FieldIdentity,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    HistoryPage,
    HistoryQuery,
    InvalidQuery,
    Operation,
    OrganizationId,
    OrganizationNotFound,
    Origin,
    Precondition,
    RecipientField,
    Rule,
    Source,
    StagedBatch,
    Violation,
    decide,
    format_instant,
    plan_creation,
    plan_restoration,
    whole_milliseconds,
)
from recipient_fields.domain.arguments import require_ids, require_reference, require_type
from recipient_fields.domain.esp import BUILT_IN, Profiles

from .accounts.administration import OPERATOR, audit
from .clock import Clock, system_clock
from .fields.default_limits import DEFAULT_CATALOG_SIZE, DEFAULT_FIELD_LIMIT
from .fields.history_limits import ignore_change
from .ports.driving import RecipientFields
from .ports.fields import (
    CatalogPlanner,
    FieldCreator,
    FieldRepository,
    HistoryRepository,
    PublishedCatalog,
    PublishedHistoryPage,
)
from .ports.integrations import IntegrationRepository
from .ports.storage import require_history

__all__ = ["RecipientFieldService"]

_API_CLIENT = Author(API)
_Page = TypeVar("_Page", HistoryPage, PublishedHistoryPage)


@frozen(kw_only=True)
class RecipientFieldService(RecipientFields):
    """The use cases of recipient fields, for one author.

    `limit` is the maximum of API-managed fields per organization, and `size_limit` that of the
    bytes of the list of all its fields as JSON. `history` and `integrations` are None if the
    storage has none: then the methods that need the history raise MissingGroup, and there are no
    counterparts. `create_field` sets the author's channel as the origin of the field. The rules of
    the channel decide which fields it can change. The history records the author of each change.
    """

    # pyright does not know that attrs removes the underscore from the names of arguments.
    _fields: FieldRepository = field(alias="fields")
    _history: HistoryRepository | None = field(alias="history")
    _integrations: IntegrationRepository | None = field(default=None, alias="integrations")
    _clock: Clock = field(default=system_clock, alias="clock")
    _profiles: Profiles = field(default=BUILT_IN, alias="profiles")
    author: Author = _API_CLIENT
    _limit: int = field(default=DEFAULT_FIELD_LIMIT, alias="limit")
    size_limit: int = DEFAULT_CATALOG_SIZE
    _note_change: Callable[[OrganizationId], None] = field(
        default=ignore_change, alias="note_change"
    )
    """Called after each call that can have changed fields."""

    def by(self, author: Author) -> RecipientFieldService:
        """Return this service for another author."""
        require_type(Author, author=author)
        return evolve(self, author=author)

    def decide(self, operation: Operation, origin: Origin) -> Decision:
        """Return whether the author may perform the operation on a field of this origin."""
        require_type(Operation, operation=operation)
        require_type(Origin, origin=origin)
        return decide(self.author.channel, operation, origin)

    def list_fields(self, organization_id: OrganizationId) -> Catalog:
        require_ids(organization_id=organization_id)
        return self._fields.all(organization_id)

    def publish_fields(self, organization_id: OrganizationId) -> PublishedCatalog:
        require_ids(organization_id=organization_id)
        return self._fields.publish(organization_id)

    def find_fields(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        require_ids(organization_id=organization_id)
        require_type(FieldQuery, query=query)
        if query.counterparts or self._integrations is None:
            return self._fields.select(organization_id, query)
        catalog, integrations = self._integrations.read_catalog(organization_id)
        if integrations:
            # Imported here because most processes of this service need no ESP names.
            from recipient_fields.domain.integrations import without_counterparts

            catalog = without_counterparts(catalog, integrations, self._profiles)
        return query.select(catalog)

    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> RecipientField:
        require_ids(organization_id=organization_id)
        require_reference(reference)
        return self._fields.get(organization_id, reference)

    def create_field(self, organization_id: OrganizationId, draft: FieldDraft) -> RecipientField:
        require_ids(organization_id=organization_id)
        require_type(FieldDraft, draft=draft)
        definition = draft.define(by=self.author.channel, at=self._clock())
        limit, size_limit, author = self._limit_of_source(), self.size_limit, self.author
        # Like isinstance(self._fields, FieldCreator), which takes as long as a creation in memory.
        if hasattr(self._fields, "create"):
            creator = cast(FieldCreator, self._fields)
            field = creator.create(
                organization_id, definition, limit=limit, size_limit=size_limit, author=author
            )
            self._note_change(organization_id)
            return field
        applied = self._store(
            organization_id,
            lambda catalog: plan_creation(catalog, definition, limit=limit, size_limit=size_limit),
            at=definition.created_at,
        )
        return applied.created[0]

    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        require_ids(organization_id=organization_id)
        require_reference(reference)
        require_type(FieldChanges, changes=changes)
        require_type(Precondition, precondition=precondition)
        field, _ = self._change(
            organization_id, lambda staged: staged.update(reference, changes, precondition)
        )
        return field

    def replace_or_create_field(
        self,
        organization_id: OrganizationId,
        draft: FieldDraft,
        precondition: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        require_ids(organization_id=organization_id)
        require_type(FieldDraft, draft=draft)
        return self.replace_field(organization_id, draft.key, draft.changes(), precondition)

    def replace_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> tuple[RecipientField, bool]:
        """Replace a field, or create it if the reference is a free key, as `ReplaceField` does.

        Return the field, and whether it was created. Only the stored field decides whether such
        changes are valid, so they can be no valid draft: for example, if the data type that they
        repeat does not permit the allowed values.

        Raises: the errors of `replace_or_create_field`; InvalidField if the changes define no new
        field; FieldNotFound if the organization has no field with this id.
        """
        require_ids(organization_id=organization_id)
        require_reference(reference)
        require_type(FieldChanges, changes=changes)
        require_type(Precondition, precondition=precondition)
        field, applied = self._change(
            organization_id, lambda staged: staged.replace(reference, changes, precondition)
        )
        return (applied.created[0], True) if applied.created else (field, False)

    def delete_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        precondition: Precondition = UNCONDITIONAL,
    ) -> None:
        require_ids(organization_id=organization_id)
        require_reference(reference)
        require_type(Precondition, precondition=precondition)
        self._change(organization_id, lambda staged: staged.delete(reference, precondition))

    def apply_batch(
        self,
        organization_id: OrganizationId,
        batch: Batch,
        *,
        accept: Callable[[Iterable[RecipientField | None]], None] | None = None,
    ) -> tuple[RecipientField | None, ...]:
        """Perform the operations, as `RecipientFields.apply_batch` says.

        If there is `accept`, it is called with the results before anything is stored. New fields
        have provisional ids in them. Nothing is stored if it raises. It may be called several
        times.
        """
        require_ids(organization_id=organization_id)
        require_type(Batch, batch=batch)
        for operation in batch.operations:
            require_reference(operation.reference)
        at = self._clock()
        staged: StagedBatch

        def plan(catalog: CatalogView) -> CatalogChanges[FieldDefinition]:
            nonlocal staged
            staged = batch.stage(
                catalog,
                by=self.author.channel,
                at=at,
                limit=self._limit,
                size_limit=self.size_limit,
            )
            if accept is not None:
                accept(staged.provisional_results())
            return staged.changes()

        applied = self._store(organization_id, plan, at=at)
        return staged.results(applied.created)

    def apply_batch_minimally(
        self, organization_id: OrganizationId, batch: Batch
    ) -> tuple[FieldIdentity | None, ...]:
        fields = self.apply_batch(organization_id, batch)
        return tuple(None if each is None else FieldIdentity(each.id, each.key) for each in fields)

    def restore_field(self, organization_id: OrganizationId, field_id: FieldId) -> RecipientField:
        require_ids(organization_id=organization_id, field_id=field_id)
        require_history(self._history)
        at = self._clock()

        plan = partial(
            plan_restoration,
            field_id=field_id,
            by=self.author.channel,
            at=at,
            limit=self._limit_of_source(),
            size_limit=self.size_limit,
        )
        return self._store(organization_id, plan, at=at).restored[0]

    def list_changes(self, organization_id: OrganizationId, query: HistoryQuery) -> HistoryPage:
        return self._read_changes(lambda history: history.select, organization_id, query)

    def list_field_changes(
        self, organization_id: OrganizationId, reference: FieldReference, query: HistoryQuery
    ) -> HistoryPage:
        require_reference(reference)
        return self._read_changes(lambda history: history.select, organization_id, query, reference)

    def publish_changes(
        self,
        organization_id: OrganizationId,
        query: HistoryQuery,
        reference: FieldReference | None = None,
    ) -> PublishedHistoryPage:
        """Return the page of `list_changes`, or of `list_field_changes` of a field, as JSON.

        Raises: the errors of that method.
        """
        return self._read_changes(
            lambda history: history.publish, organization_id, query, reference
        )

    def list_fields_as_of(self, organization_id: OrganizationId, at: datetime) -> Catalog:
        require_ids(organization_id=organization_id)
        return require_history(self._history).catalog_at(organization_id, whole_milliseconds(at))

    def find_fields_as_of(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery
    ) -> FieldPage:
        """Return the page of fields that the query selects in `list_fields_as_of`.

        Raises: the errors of `list_fields_as_of`; InvalidQuery if the query leaves out
        counterparts, because earlier ESP names are not stored.
        """
        require_ids(organization_id=organization_id)
        if not query.counterparts:
            message = "Earlier ESP names are not stored, so counterparts are not known."
            raise InvalidQuery([Violation(Rule.NOT_APPLICABLE, message, ("counterparts",))])
        history = require_history(self._history)
        return history.select_at(organization_id, whole_milliseconds(at), query)

    def prune_history(self, organization_id: OrganizationId, *, older_than: timedelta) -> int:
        """Delete the records that are older, and return their number. The audit log has a record.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        before = self._clock() - older_than
        records = require_history(self._history).prune(organization_id, before)
        if records:
            facts: dict[str, object] = {"organization": organization_id, "records": records}
            facts["before"] = format_instant(before)
            audit("History", "pruned", by=self.author.name or OPERATOR, **facts)
        return records

    def _read_changes(
        self,
        reader: Callable[[HistoryRepository], Callable[[OrganizationId, HistoryQuery], _Page]],
        organization_id: OrganizationId,
        query: HistoryQuery,
        reference: FieldReference | None = None,
    ) -> _Page:
        """Return the page that the reader of the history returns, of all fields or of one."""
        require_ids(organization_id=organization_id)
        require_type(HistoryQuery, query=query)
        read = reader(require_history(self._history))
        if reference is None:
            return read(organization_id, query)
        require_reference(reference)
        try:
            page = read(organization_id, query.of_field(reference))
        except OrganizationNotFound:
            raise FieldNotFound from None
        if not page.records:
            any_record = HistoryQuery(limit=1).of_field(reference)
            if not read(organization_id, any_record).records:
                self._fields.get(organization_id, reference)
        return page

    def _change(
        self, organization_id: OrganizationId, change: Callable[[StagedBatch], RecipientField]
    ) -> tuple[RecipientField, CatalogChanges[RecipientField]]:
        """Store what `change` does to the catalog, and return its result with what was stored."""
        at = self._clock()
        changed: RecipientField  # by the last call of `plan`

        def plan(catalog: CatalogView) -> CatalogChanges[FieldDefinition]:
            nonlocal changed
            staged = StagedBatch(
                catalog,
                organization_id,
                by=self.author.channel,
                at=at,
                limit=self._limit,
                size_limit=self.size_limit,
            )
            changed = change(staged)
            return staged.changes()

        applied = self._store(organization_id, plan, at=at)
        return changed, applied

    def _store(
        self, organization_id: OrganizationId, plan: CatalogPlanner, *, at: datetime
    ) -> CatalogChanges[RecipientField]:
        applied = self._fields.change(organization_id, plan, author=self.author, at=at)
        self._note_change(organization_id)
        return applied

    def _limit_of_source(self) -> int | None:
        return self._limit if self.author.channel.source is Source.API else None
