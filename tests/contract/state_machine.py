"""A state machine that compares a storage with a model after every call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import datetime, timedelta
from typing import ClassVar, Final, TypeAlias

from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from recipient_fields.application import (
    ApiKeyRepository,
    HistoryRepository,
    HistoryStorage,
    IntegrationStorage,
    KeyChange,
    KeySuccession,
    Storage,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_GRACE_PERIOD,
    MAX_LIFETIME,
    MILLISECOND,
    MIN_LIFETIME,
    Access,
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    Catalog,
    Channel,
    DataType,
    FieldChanges,
    FieldDefinition,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    FieldQuery,
    FieldReference,
    HistoryQuery,
    KeyGrant,
    KeyTaken,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    PlainKey,
    RecipientField,
    sync_channel,
)

from .assertions import assert_found, assert_published, attempt, exact
from .examples import (
    NOW,
    FieldChange,
    a_definition,
    a_grant,
    channel_of,
    permit_organization,
    records_of,
)
from .field_changes import FieldCheck, add_field, delete_field, restore_field, update_field
from .history import replay
from .strategies import OWN_INTEGRATION_IDS, changes, channels, definitions, instants, queries

OpenStorage: TypeAlias = Callable[[], AbstractContextManager[Storage]]
"""Returns a context manager that opens a storage. The storage may contain other rows."""

# Few keys, so that fields collide.
_KEYS: Final = (FieldKey("city"), FieldKey("zip_code"), FieldKey("age"), FieldKey("email"))
_SHARED_KEYS: Final = st.sampled_from(_KEYS)
_CHANNELS: Final = (API, ADMINISTRATOR, sync_channel(OWN_INTEGRATION_IDS[0]))


class Model:
    """The expected content of the storage, in dicts."""

    def __init__(self) -> None:
        self.fields: dict[OrganizationId, dict[FieldId, RecipientField]] = {}
        self.deleted: dict[OrganizationId, dict[FieldId, RecipientField]] = {}
        self.api_keys: dict[ApiKeyId, ApiKey] = {}

    def field(self, organization_id: OrganizationId, reference: FieldReference) -> RecipientField:
        """Return the field with this id or key.

        Raises: FieldNotFound if it does not exist.
        """
        for field in self.fields.get(organization_id, {}).values():
            if reference in (field.id, field.key):
                return field
        raise FieldNotFound

    def add(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        limit: int | None,
        field_id: FieldId,
    ) -> RecipientField:
        """Store the field with the id that a storage has assigned.

        Raises: OrganizationNotFound, KeyTaken or FieldLimitReached, in this order.
        """
        self.require_organization(organization_id)
        self.require_addable(organization_id, definition, limit)
        field = definition.with_id(field_id, organization_id)
        self.fields[organization_id][field_id] = field
        return field

    def update(
        self, organization_id: OrganizationId, reference: FieldReference, change: FieldChange
    ) -> RecipientField:
        """Store the result of the change.

        Raises: FieldNotFound if the field does not exist.
        """
        changed = change(self.field(organization_id, reference))
        self.fields[organization_id][changed.id] = changed
        return changed

    def delete(
        self, organization_id: OrganizationId, reference: FieldReference, check: FieldCheck
    ) -> None:
        """Delete the field if the check permits it.

        Raises: FieldNotFound if the field does not exist.
        """
        field = self.field(organization_id, reference)
        check(field)
        del self.fields[organization_id][field.id]
        self.deleted.setdefault(organization_id, {})[field.id] = field

    def restore(
        self,
        organization_id: OrganizationId,
        field_id: FieldId,
        restoration: FieldChange,
        limit: int | None,
    ) -> RecipientField:
        """Store the restored field.

        Raises: FieldNotFound if there was no such field; KeyTaken if another field has its key;
        FieldLimitReached if the source has reached the limit.
        """
        fields = self.fields.get(organization_id, {})
        field = {**self.deleted.get(organization_id, {}), **fields}.get(field_id)
        if field is None:
            raise FieldNotFound
        restored = restoration(field)
        self.require_addable(organization_id, restored, limit)
        self.fields[organization_id] = dict(sorted({**fields, field_id: restored}.items()))
        return restored

    def require_addable(
        self, organization_id: OrganizationId, definition: FieldDefinition, limit: int | None
    ) -> None:
        """Require a free key, and fewer fields of the source than the limit.

        Raises: KeyTaken or FieldLimitReached, in this order.
        """
        fields = self.fields[organization_id].values()
        for holder in fields:
            if holder.key == definition.key:
                is_synced = holder.origin.integration_id is not None
                raise KeyTaken(holder.key, holder.id, is_synced=is_synced)
        sources = [field.origin.source for field in fields]
        if limit is not None and sources.count(definition.origin.source) >= limit:
            raise FieldLimitReached(limit)

    def add_key(self, grant: KeyGrant, key_id: ApiKeyId) -> ApiKey:
        """Store the key with the id that a storage has assigned.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        self.require_organization(grant.organization_id)
        self.api_keys[key_id] = grant.with_id(key_id)
        return self.api_keys[key_id]

    def api_key(self, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey:
        """Return the organization's key with this id.

        Raises: ApiKeyNotFound if the organization does not have it.
        """
        key = self.api_keys.get(key_id)
        if key is None or key.organization_id != organization_id:
            raise ApiKeyNotFound
        return key

    def update_key(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange
    ) -> ApiKey:
        """Store the result of the change.

        Raises: ApiKeyNotFound if the organization does not have the key.
        """
        self.api_keys[key_id] = change(self.api_key(organization_id, key_id))
        return self.api_keys[key_id]

    def rotate(
        self,
        organization_id: OrganizationId,
        key_id: ApiKeyId,
        succession: KeySuccession,
        successor_id: ApiKeyId,
    ) -> tuple[ApiKey, ApiKey]:
        """Store the key, and its successor with the id that a storage has assigned.

        Raises: ApiKeyNotFound if the organization does not have the key.
        """
        self.api_keys[key_id], grant = succession(self.api_key(organization_id, key_id))
        self.api_keys[successor_id] = grant.with_id(successor_id)
        return self.api_keys[key_id], self.api_keys[successor_id]

    def delete_organization(self, organization_id: OrganizationId) -> tuple[ApiKey, ...]:
        """Delete the organization, its fields and its keys; return the keys.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        self.require_organization(organization_id)
        del self.fields[organization_id]
        self.deleted.pop(organization_id, None)
        keys = tuple(k for k in self.api_keys.values() if k.organization_id == organization_id)
        for key in keys:
            del self.api_keys[key.id]
        return keys

    def require_organization(self, organization_id: OrganizationId) -> None:
        """Require the organization.

        Raises: OrganizationNotFound if it does not exist.
        """
        if organization_id not in self.fields:
            raise OrganizationNotFound


class StorageMachine(RuleBasedStateMachine):
    """Makes the same calls to a storage and to the model. `machine_for` creates subclasses."""

    open_storage: ClassVar[OpenStorage]

    organizations: Bundle[OrganizationId] = Bundle("organizations")
    references: Bundle[FieldReference] = Bundle("references")
    key_ids: Bundle[ApiKeyId] = Bundle("key_ids")

    def __init__(self) -> None:
        super().__init__()
        self._opened = ExitStack()
        self.storage: Storage = self._opened.enter_context(type(self).open_storage())
        self.model: Model = Model()
        self.catalogs: dict[OrganizationId, Catalog] = {}
        self.past_catalogs: dict[OrganizationId, dict[datetime, tuple[RecipientField, ...]]] = {}
        self.assigned_ids: list[FieldId] = []

    def teardown(self) -> None:
        """Close the storage."""
        self._opened.close()

    @initialize(target=organizations, number=st.integers(2, 4))
    def add_organizations(self, number: int) -> MultipleResults[OrganizationId]:
        """Add two to four organizations with a field of each origin."""
        added_ids = [self.storage.organizations.add("ACME", NOW).id for _ in range(number)]
        self.model.fields = {organization_id: {} for organization_id in added_ids}
        for organization_id in added_ids:
            for key, channel in zip(_KEYS, _CHANNELS, strict=False):
                self.add_field(organization_id, a_definition(key, by=channel), None)
        return multiple(*added_ids)

    @initialize(target=references)
    def add_unknown_reference(self) -> FieldReference:
        """Define a reference without a field, so that calls use one before a field exists."""
        return FieldId(0)

    @rule(
        target=references,
        organization_id=organizations,
        definition=definitions(keyed=_SHARED_KEYS),
        limit=st.none() | st.integers(0, 2),
    )
    def add_field(
        self, organization_id: OrganizationId, definition: FieldDefinition, limit: int | None
    ) -> MultipleResults[FieldReference]:
        """Add a field; its id is greater than all earlier ones."""
        added = attempt(
            lambda: add_field(self.storage.fields, organization_id, definition, limit=limit)
        )
        field_id = added.id if isinstance(added, RecipientField) else FieldId(0)
        expected = attempt(lambda: self.model.add(organization_id, definition, limit, field_id))
        assert exact(added) == exact(expected)
        if field_id == 0:
            return multiple()
        assert field_id > max(self.assigned_ids, default=0)
        self.assigned_ids.append(field_id)
        return multiple(field_id)

    @rule(target=references, organization_id=organizations, reference=_SHARED_KEYS | references)
    def get_field(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> MultipleResults[FieldReference]:
        """Get a field of its own or another organization by id or key."""
        found = attempt(lambda: self.storage.fields.get(organization_id, reference))
        assert exact(found) == exact(attempt(lambda: self.model.field(organization_id, reference)))
        return multiple(found.id) if isinstance(found, RecipientField) else multiple()

    @rule(organization_id=organizations, query=queries(keyed=_SHARED_KEYS))
    def select_fields(self, organization_id: OrganizationId, query: FieldQuery) -> None:
        """Select all pages of a query."""
        if organization_id not in self.model.fields:
            missing = attempt(lambda: self.storage.fields.select(organization_id, query))
            assert isinstance(missing, OrganizationNotFound)
            return
        has_next = True
        while has_next:
            page = query.select(self.storage.fields.all(organization_id))
            assert exact(self.storage.fields.select(organization_id, query)) == exact(page)
            query, has_next = evolve(query, after=page.next), page.next is not None

    @rule(
        organization_id=organizations,
        reference=_SHARED_KEYS | references,
        changes=st.sampled_from(DataType).flatmap(changes),
        channel=st.none() | channels(),
        at=instants(),
    )
    def update_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        channel: Channel | None,
        at: datetime,
    ) -> None:
        """Update a field through its own channel (None) or another, with any values."""

        def change(field: RecipientField) -> RecipientField:
            return field.with_changes(changes, by=channel or channel_of(field), at=at)

        updated = attempt(
            lambda: update_field(self.storage.fields, organization_id, reference, change, at=at)
        )
        expected = attempt(lambda: self.model.update(organization_id, reference, change))
        assert exact(updated) == exact(expected)

    @rule(
        organization_id=organizations,
        reference=_SHARED_KEYS | references,
        channel=st.none() | channels(),
    )
    def delete_field(
        self, organization_id: OrganizationId, reference: FieldReference, channel: Channel | None
    ) -> None:
        """Delete a field through its own channel (None) or another."""

        def check(field: RecipientField) -> None:
            field.require_deletable(by=channel or channel_of(field))

        deleted = attempt(
            lambda: delete_field(self.storage.fields, organization_id, reference, check)
        )
        expected = attempt(lambda: self.model.delete(organization_id, reference, check))
        assert exact(deleted) == exact(expected)

    @precondition(lambda machine: isinstance(machine.storage, HistoryStorage))
    @rule(
        organization_id=organizations,
        reference=references,
        channel=st.none() | channels(),
        limit=st.none() | st.integers(0, 2),
        at=instants(),
    )
    def restore_field(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        channel: Channel | None,
        limit: int | None,
        at: datetime,
    ) -> None:
        """Restore a field through its own channel (None) or another, even if it is not deleted."""
        assert not isinstance(reference, str)
        field_id = reference

        def restoration(field: RecipientField) -> RecipientField:
            return field.restored(by=channel or channel_of(field), at=at)

        restored = attempt(
            lambda: restore_field(
                self.storage.fields, organization_id, field_id, restoration, limit=limit, at=at
            )
        )
        expected = attempt(
            lambda: self.model.restore(organization_id, field_id, restoration, limit)
        )
        assert exact(restored) == exact(expected)

    @precondition(lambda machine: isinstance(machine.storage, HistoryStorage))
    @rule(organization_id=organizations)
    def replay_history(self, organization_id: OrganizationId) -> None:
        """Replay all records from nothing. They are numbered without gaps."""
        if organization_id in self.model.fields:
            records = records_of(self._history, organization_id)
            assert [each.sequence for each in records] == list(range(1, len(records) + 1))
            assert replay(records) == tuple(self.model.fields[organization_id].values())

    @rule(organization_id=organizations, number=st.integers(0, 50))
    def read_past_catalog(self, organization_id: OrganizationId, number: int) -> None:
        """Read the catalog as of the time of one of its earlier records."""
        past = self.past_catalogs.get(organization_id)
        if past:
            at = list(past)[number % len(past)]
            assert self._history.catalog_at(organization_id, at).fields == past[at]

    @property
    def _history(self) -> HistoryRepository:
        assert isinstance(self.storage, HistoryStorage)
        return self.storage.history

    @property
    def _api_keys(self) -> ApiKeyRepository:
        assert isinstance(self.storage, IntegrationStorage)
        return self.storage.api_keys

    @precondition(lambda machine: isinstance(machine.storage, IntegrationStorage))
    @rule(
        target=key_ids,
        organization_id=organizations,
        access=st.sampled_from(Access),
        lifetime=st.none() | st.timedeltas(MIN_LIFETIME, MAX_LIFETIME),
        at=instants(),
    )
    def issue_key(
        self,
        organization_id: OrganizationId,
        access: Access,
        lifetime: timedelta | None,
        at: datetime,
    ) -> MultipleResults[ApiKeyId]:
        """Add a key, which is found by its digest from now on."""
        grant = a_grant(organization_id, access=access, lifetime=lifetime, at=at)
        added = attempt(lambda: self._api_keys.add(grant))
        key_id = added.id if isinstance(added, ApiKey) else ApiKeyId(0)
        assert key_id not in self.model.api_keys
        assert exact(added) == exact(attempt(lambda: self.model.add_key(grant, key_id)))
        return multiple(key_id) if key_id else multiple()

    @rule(organization_id=organizations, key_id=key_ids)
    def get_key(self, organization_id: OrganizationId, key_id: ApiKeyId) -> None:
        """Get a key; only its own organization finds it."""
        found = attempt(lambda: self._api_keys.get(organization_id, key_id))
        expected = attempt(lambda: self.model.api_key(organization_id, key_id))
        assert exact(found) == exact(expected)

    @rule(organization_id=organizations, key_id=key_ids, at=instants())
    def revoke_key(self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime) -> None:
        """Revoke a key; only the first revocation has an effect."""

        def change(key: ApiKey) -> ApiKey:
            return key.revoked(at)

        revoked = attempt(lambda: self._api_keys.update(organization_id, key_id, change))
        expected = attempt(lambda: self.model.update_key(organization_id, key_id, change))
        assert exact(revoked) == exact(expected)

    @rule(
        target=key_ids,
        organization_id=organizations,
        key_id=key_ids,
        at=instants(),
        grace=st.timedeltas(timedelta(), MAX_GRACE_PERIOD),
    )
    def rotate_key(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, grace: timedelta
    ) -> MultipleResults[ApiKeyId]:
        """Rotate a key; an inactive key does not change."""
        plain = PlainKey.generate()

        def succession(key: ApiKey) -> tuple[ApiKey, KeyGrant]:
            return key.rotated(plain, at=at, grace=grace)

        rotated = attempt(lambda: self._api_keys.rotate(organization_id, key_id, succession))
        successor_id = rotated[1].id if isinstance(rotated, tuple) else ApiKeyId(0)
        expected = attempt(
            lambda: self.model.rotate(organization_id, key_id, succession, successor_id)
        )
        assert exact(rotated) == exact(expected)
        return multiple(successor_id) if successor_id else multiple()

    @rule(organization_id=organizations, key_id=key_ids, at=instants())
    def record_use(self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime) -> None:
        """Record a use. Only the latest one of a key of the organization has an effect."""
        self._api_keys.record_use(organization_id, key_id, at)
        with suppress(ApiKeyNotFound):
            key = self.model.api_key(organization_id, key_id)
            if key.last_used_at is None or key.last_used_at < at:
                self.model.api_keys[key_id] = evolve(key, last_used_at=at)

    @precondition(lambda machine: len(machine.model.fields) > 1)
    @rule(organization_id=organizations)
    def delete_organization(self, organization_id: OrganizationId) -> None:
        """Delete an organization, unless it is the last one. Its keys are no longer found."""
        fields = self.model.fields.get(organization_id, {})
        deleted = attempt(
            lambda: self.storage.organizations.delete(organization_id, permit_organization)
        )
        keys = attempt(lambda: self.model.delete_organization(organization_id))
        self.past_catalogs.pop(organization_id, None)
        if isinstance(keys, OrganizationNotFound):
            assert isinstance(deleted, OrganizationNotFound)
            return
        assert isinstance(keys, tuple)
        contents = OrganizationContents(
            fields=len(fields), api_keys=len(keys), integrations=0, administrators=0
        )
        assert exact(deleted) == exact(contents)
        assert [self._api_keys.find(key.digest) for key in keys] == [None] * len(keys)

    @invariant()
    def every_catalog_equals_the_model(self) -> None:
        """Compare all fields. The revision has increased if and only if they have changed."""
        for organization_id, fields in self.model.fields.items():
            catalog = self.storage.fields.all(organization_id)
            assert catalog.fields == tuple(fields.values())
            before = self.catalogs.get(organization_id)
            if before is not None and catalog.fields == before.fields:
                assert catalog.revision == before.revision
            else:
                assert before is None or catalog.revision > before.revision
                self._remember(catalog)
            self.catalogs[organization_id] = catalog
            assert_published(self.storage.fields.publish(organization_id), catalog)

    def _remember(self, catalog: Catalog) -> None:
        """Store the fields by the time of the last record, which is later than all earlier ones.

        Without a history, there are no past catalogs.
        """
        if not isinstance(self.storage, HistoryStorage):
            return
        newest = HistoryQuery(limit=1, descending=True)
        (last,) = self._history.select(catalog.organization_id, newest).records
        past = self.past_catalogs.setdefault(catalog.organization_id, {})
        assert last.occurred_at > max(past, default=NOW - MILLISECOND)
        past[last.occurred_at] = catalog.fields

    @precondition(lambda machine: isinstance(machine.storage, IntegrationStorage))
    @invariant()
    def every_api_key_equals_the_model(self) -> None:
        """Compare all API keys, listed by organization and found by digest."""
        for organization_id in self.model.fields:
            keys = [
                key
                for _, key in sorted(self.model.api_keys.items())
                if key.organization_id == organization_id
            ]
            assert self._api_keys.all(organization_id) == tuple(keys)
        for key in self.model.api_keys.values():
            assert_found(self._api_keys, key)


def machine_for(open_storage: OpenStorage) -> type[StorageMachine]:
    """Return the machine for the storages that `open_storage` opens; pytest runs its `TestCase`."""

    class Machine(StorageMachine):
        pass

    Machine.open_storage = staticmethod(open_storage)
    # Shrinking one failure takes seconds; shrinking several takes minutes.
    Machine.TestCase.settings = settings(Machine.TestCase.settings, report_multiple_bugs=False)
    return Machine
