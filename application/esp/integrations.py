"""The use cases of integrations: connections to email service providers, and their sync runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from operator import attrgetter

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    Author,
    Batch,
    BeforeHistory,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldId,
    FieldKey,
    FieldName,
    FieldNotFound,
    HistoryQuery,
    HistoryRecord,
    HistoryRemoved,
    IntegrationId,
    OrganizationId,
    RecipientField,
    RecordedOperation,
    Source,
)
from recipient_fields.domain.arguments import require_ids, require_type
from recipient_fields.domain.esp import BUILT_IN, Esp, Profiles
from recipient_fields.domain.integrations import (
    EspNames,
    Integration,
    IntegrationChanged,
    IntegrationDraft,
    IntegrationNotFound,
    NameMatch,
    ReportedField,
    SetName,
    SyncPlan,
    SyncRun,
    plan_restorations,
)
from recipient_fields.domain.integrations.matching import match_names
from recipient_fields.domain.integrations.setting import (
    NameChange,
    NamesToSet,
    name_changes,
    set_names,
)

from ..accounts.administration import OPERATOR_AUTHOR, audit
from ..clock import Clock, system_clock
from ..fields.default_limits import DEFAULT_CATALOG_SIZE, DEFAULT_FIELD_LIMIT
from ..fields.history_limits import ignore_change
from ..ports.fields import FieldRepository, HistoryRepository
from ..ports.integrations import IntegrationRepository
from ..ports.storage import require_history

__all__ = ["IntegrationService", "Removal"]

_MAX_REMOVALS = 10_000
"""Deletions that `list_removals` reads. An account of an ESP has at most some thousand fields."""
_PAGE = 100
"""Records of the history that are in memory at a time. A field can have many allowed values."""


@frozen(kw_only=True)
class Removal:
    """A field that a sync has removed, and when."""

    field_id: FieldId
    key: FieldKey
    name: FieldName
    occurred_at: datetime


@frozen(kw_only=True)
class IntegrationService:
    """The use cases of integrations, for one author. The author of a sync run is its integration.

    `field_limit` is the maximum of API-managed fields of an organization, and `size_limit` that of
    the bytes of the list of all its fields as JSON.

    Every method raises StorageUnavailable if the storage fails or does not respond in time.
    """

    _integrations: IntegrationRepository = field(alias="integrations")
    _fields: FieldRepository = field(alias="fields")
    _history: HistoryRepository | None = field(alias="history")
    _clock: Clock = field(default=system_clock, alias="clock")
    _profiles: Profiles = field(default=BUILT_IN, alias="profiles")
    _field_limit: int = field(default=DEFAULT_FIELD_LIMIT, alias="field_limit")
    _size_limit: int = field(default=DEFAULT_CATALOG_SIZE, alias="size_limit")
    _note_change: Callable[[OrganizationId], None] = field(
        default=ignore_change, alias="note_change"
    )
    """Called after each call that can have changed fields."""
    author: Author = OPERATOR_AUTHOR

    def by(self, author: Author) -> IntegrationService:
        """Return this service for another author."""
        require_type(Author, author=author)
        return evolve(self, author=author)

    def create_integration(
        self, organization_id: OrganizationId, *, esp: Esp | str, name: str
    ) -> Integration:
        """Create an integration without fields. `esp` can be a text, such as "braze".

        Raises: InvalidIntegration if the name is not one line of 1 to 255 characters, ValueError if
        `esp` is the text of no ESP, OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        esp = self._profiles.parse_name(esp)
        draft = IntegrationDraft(esp=esp, name=name, created_at=self._clock())
        return self._integrations.add(organization_id, draft)

    def list_integrations(self, organization_id: OrganizationId) -> tuple[Integration, ...]:
        """Return the organization's integrations by ascending id.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self._integrations.all(organization_id)

    def count_fields(self, organization_id: OrganizationId) -> Mapping[IntegrationId, int]:
        """Return the number of fields of each of the organization's integrations that has any.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self._integrations.count_fields(organization_id)

    def get_integration(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> Integration:
        """Return the integration.

        Raises: IntegrationNotFound if the organization has no such integration.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        return self._integrations.get(organization_id, integration_id)

    def list_fields(self, integration: Integration) -> tuple[RecipientField, ...]:
        """Return the fields that syncs of the integration have created, by ascending id."""
        return integration.filter_fields(self._fields.all(integration.organization_id).fields)

    def rename_integration(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str
    ) -> Integration:
        """Rename an integration.

        Raises: IntegrationNotFound if the organization has no such integration, InvalidIntegration
        if the name is not one line of 1 to 255 characters.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        return self._integrations.rename(organization_id, integration_id, name)

    def set_names(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        changes: Mapping[str, SetName | None],
    ) -> Integration:
        """Set what fields are called at the integration, by their keys. None removes a set name.

        All changes are stored, or none. The audit log has a record of each, with the author.
        Raises: IntegrationNotFound if the organization has no such integration; InvalidNames, with
        all violations at their keys, and MissingProfile, if `set_names` of the domain raises them.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        renamed: tuple[NameChange, ...] = ()

        def plan(integration: Integration, fields: Collection[RecipientField]) -> Integration:
            nonlocal renamed
            after = set_names(integration, fields, changes, self._profiles)
            renamed = name_changes(integration, after, fields)
            return after

        changed = self._integrations.change_names(organization_id, integration_id, plan)
        _audit_names(renamed, by=self.author.name)
        self._note_change(organization_id)
        return changed

    def match_names(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> tuple[NameMatch, ...]:
        """Return a proposal for each field for which people set names, the best first.

        `set_names` stores those that a person accepts.
        Raises: IntegrationNotFound if the organization has no such integration, MissingProfile if
        its ESP has no profile.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        catalog, integrations = self._integrations.read_catalog(organization_id)
        return match_names(EspNames(catalog.fields, integrations, self._profiles), integration_id)

    def apply_with_names(
        self, organization_id: OrganizationId, batch: Batch, names: NamesToSet
    ) -> None:
        """Perform the batch, and set the names at integrations, or do neither.

        The channel of the author decides which fields the batch can change. The audit log has a
        record of each name, with the author.
        Raises: OrganizationNotFound if the organization does not exist; the errors of
        `RecipientFields.apply_batch` and, for the fields after the batch, those of `set_names`.
        """
        require_ids(organization_id=organization_id)
        require_type(Batch, batch=batch)
        require_type(Mapping, names=names)
        at = self._clock()
        renamed: list[NameChange] = []

        def change(catalog: CatalogView) -> CatalogChanges[FieldDefinition]:
            staged = batch.stage(
                catalog,
                by=self.author.channel,
                at=at,
                limit=self._field_limit,
                size_limit=self._size_limit,
            )
            return staged.changes()

        def name(
            integrations: Collection[Integration], fields: Collection[RecipientField]
        ) -> tuple[Integration, ...]:
            renamed.clear()
            by_id = {each.id: each for each in integrations}
            if not names.keys() <= by_id.keys():
                raise IntegrationNotFound
            named = []
            for integration_id, changes in names.items():
                integration = by_id[integration_id]
                named.append(set_names(integration, fields, changes, self._profiles))
                renamed.extend(name_changes(integration, named[-1], fields))
            return tuple(named)

        self._integrations.change_with_names(
            organization_id, change, name, author=self.author, at=at
        )
        _audit_names(renamed, by=self.author.name)
        self._note_change(organization_id)

    def delete_integration(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        *,
        expected: Collection[FieldId] | None = None,
    ) -> tuple[RecipientField, ...]:
        """Delete an integration and its fields, and return these fields by ascending id.

        The history records the author of the deletion of each field.
        Raises: IntegrationNotFound if the organization has no such integration, IntegrationChanged
        if `expected` is passed and is not the set of the ids of its fields.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)

        def check(fields: Collection[RecipientField]) -> None:
            if expected is not None and {field.id for field in fields} != set(expected):
                raise IntegrationChanged

        deleted = self._integrations.delete(
            organization_id, integration_id, check, author=self.author, at=self._clock()
        )
        self._note_change(organization_id)
        return deleted

    def sync_fields(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        reported: Iterable[ReportedField],
        *,
        dry_run: bool = False,
        began_at: datetime | None = None,
        allow_empty: bool = True,
        max_removals: int | None = None,
        confirmed: str | None = None,
        keep_missing: bool = False,
        request_id: str | None = None,
    ) -> SyncPlan:
        """Replace the integration's fields with those that its ESP reports. Return the changes.

        All changes are stored in one transaction. If the iteration over `reported` raises, nothing
        is stored and the exception is raised. A dry run stores nothing; it returns what a run would
        change. A second run with the same report changes only `last_synced_at` of the integration.
        The history records the integration as the author, with the `request_id`.

        By default, a run may remove any number of fields. A caller that asks a person passes
        `max_removals`, the number of fields that it may remove, and `confirmed`, the digest of the
        plan that the person has confirmed. The plan is checked in the transaction that stores it.
        `began_at` is the time at which the report was requested, if it was read before the call.
        `keep_missing`: the run removes no fields.

        Raises: IntegrationNotFound if the organization has no such integration, EmptyReport if the
        report has no fields and `allow_empty` is false, MissingProfile if the ESP has no profile,
        SyncOvertaken if a run that began later has
        been stored, CatalogTooLarge if the run increases the size of the list of all fields beyond
        its limit, SyncPlanChanged if `confirmed` is the digest of another plan, and
        RemovalsNotConfirmed if the plan removes more fields than `max_removals`. The last two are
        SyncNotConfirmed and contain the plan.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        integration = self._integrations.get(organization_id, integration_id)
        at = self._clock() if began_at is None else began_at
        run = SyncRun.from_report(
            integration, reported, at=at, allow_empty=allow_empty, profiles=self._profiles
        )
        plan_run = partial(run.plan, size_limit=self._size_limit, keep_missing=keep_missing)
        if dry_run:
            catalog, integrations = self._integrations.read_catalog(organization_id)
            by_id = {each.id: each for each in integrations}
            if integration_id not in by_id:
                raise IntegrationNotFound
            return plan_run(by_id[integration_id], catalog.fields, integrations=integrations)

        def plan(
            integration: Integration,
            fields: Collection[RecipientField],
            integrations: Collection[Integration],
        ) -> SyncPlan:
            planned = plan_run(integration, fields, integrations=integrations)
            planned.require_confirmed(confirmed, max_removals=max_removals)
            return planned

        author = Author(integration.channel, name=integration.name, request_id=request_id)
        stored = self._integrations.sync(
            organization_id, integration_id, plan, author=author, at=self._clock()
        )
        self._note_change(organization_id)
        return stored

    def list_removals(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> tuple[tuple[Removal, ...], ...]:
        """Return the removed fields that are not restored: one tuple per sync, the newest first.

        The fields of a sync have the order of their removal. A field that was removed several times
        belongs to the last of these syncs. The search ends after the last 10,000 deletions of
        synced fields in the organization; older ones can be restored, too.
        Raises: IntegrationNotFound if the organization has no such integration.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        integration = self._integrations.get(organization_id, integration_id)
        seen = {field.id for field in self._fields.all(organization_id).fields}

        def removals() -> Iterator[Removal]:
            deletions = self._deletions(organization_id, HistoryQuery())
            for record in islice(deletions, _MAX_REMOVALS):
                if integration.channel.owns(record.field.origin) and record.field_id not in seen:
                    seen.add(record.field_id)
                    yield Removal(
                        field_id=record.field_id,
                        key=record.key,
                        name=record.field.name,
                        occurred_at=record.occurred_at,
                    )

        by_sync = groupby(removals(), attrgetter("occurred_at"))
        return tuple(tuple(removed)[::-1] for _, removed in by_sync)

    def restore_fields(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        field_ids: Collection[FieldId],
    ) -> tuple[RecipientField, ...]:
        """Restore all these fields, which syncs have removed, or none of them.

        They get their ids, keys and other members back. The history records the author. The next
        sync removes them again if the ESP still does not report them.
        Raises: IntegrationNotFound if the organization has no such integration, FieldNotFound if
        the history has no removal of a field from it, HistoryRemoved if that can have been removed
        from the history, KeyTaken if a field is not removed or another
        field has its key, EspFieldTaken if another field of the integration is for the same field
        of the ESP, CatalogTooLarge if the list of all fields would exceed its limit.
        """
        require_ids(organization_id=organization_id, integration_id=integration_id)
        integration = self._integrations.get(organization_id, integration_id)
        removed: dict[FieldId, RecipientField] = {}
        for record in self._deletions(organization_id, HistoryQuery(field_ids=field_ids)):
            if integration.channel.owns(record.field.origin):
                removed.setdefault(record.field_id, record.field)
        for field_id in set(field_ids).difference(removed):
            removed[field_id] = self._get_stored(organization_id, field_id)
        fields, at = [removed[field_id] for field_id in sorted(removed)], self._clock()
        plan = self._integrations.sync(
            organization_id,
            integration_id,
            lambda integration, catalog, _: plan_restorations(
                integration,
                catalog,
                fields,
                at=at,
                size_limit=self._size_limit,
                profiles=self._profiles,
            ),
            author=self.author,
            at=at,
        )
        self._note_change(organization_id)
        return plan.changes.restored

    def _get_stored(self, organization_id: OrganizationId, field_id: FieldId) -> RecipientField:
        """Return a field whose removal the history does not have.

        Raises: FieldNotFound if it does not exist, or HistoryRemoved if its removal can have been
        removed from the history.
        """
        try:
            return self._fields.get(organization_id, field_id)
        except FieldNotFound:
            try:
                require_history(self._history).select(
                    organization_id, HistoryQuery(after=0, limit=1)
                )
            except BeforeHistory:
                raise HistoryRemoved from None
            raise

    def _deletions(
        self, organization_id: OrganizationId, query: HistoryQuery
    ) -> Iterator[HistoryRecord]:
        """Yield the deletions of synced fields that the query matches, the newest first."""
        query = evolve(
            query,
            sources=[Source.INTEGRATION],
            operations=[RecordedOperation.DELETED],
            descending=True,
            limit=_PAGE,
        )
        while True:
            page = require_history(self._history).select(organization_id, query)
            yield from page.records
            if page.next is None:
                return
            query = evolve(query, after=page.next)


def _audit_names(changes: Iterable[NameChange], *, by: str | None) -> None:
    """Write a record of each changed name to the audit log."""
    for each in changes:
        subject = f"Name of {each.field.key} at integration {each.field.integration.id}"
        old, new = (named and named.esp_name.name for named in (each.before, each.after))
        if new is None:
            audit(subject, "removed", by=by, name=old)
        else:
            before = {} if old is None else {"before": old}
            audit(subject, "set", by=by, name=new, **before)
