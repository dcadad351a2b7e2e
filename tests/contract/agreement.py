"""Comparison of two storages: the same calls have the same results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from attrs import evolve, frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from recipient_fields.application import (
    ApiKeyRepository,
    IntegrationCheck,
    IntegrationRepository,
    IntegrationStorage,
    Storage,
    StorageGroup,
    SyncPlanner,
)
from recipient_fields.domain import (
    MAX_GRACE_PERIOD,
    ApiKey,
    ApiKeyId,
    Catalog,
    CatalogChanges,
    Change,
    Channel,
    DataType,
    FieldChanges,
    FieldDefinition,
    FieldId,
    FieldKey,
    FieldPage,
    FieldReference,
    FoundKey,
    HistoryPage,
    HistoryQuery,
    IntegrationId,
    KeyTaken,
    Organization,
    OrganizationChanged,
    OrganizationContents,
    OrganizationId,
    PlainKey,
    RecipientField,
    RecipientFieldsError,
    plan_creation,
)
from recipient_fields.domain.esp import EspName
from recipient_fields.domain.integrations import (
    Integration,
    IntegrationChanged,
    NamedField,
    SetName,
    SyncPlan,
)

from .assertions import attempt, exact
from .examples import (
    AUTHOR,
    LATER,
    NEVER_ASSIGNED,
    NOW,
    a_grant,
    channel_of,
    naming,
    naming_created,
    permit_integration,
    permit_organization,
)
from .field_changes import add_field, delete_field, restore_field, update_field
from .strategies import (
    changes,
    channels,
    definitions,
    history_queries,
    instants,
    integration_drafts,
    keys,
    names,
    organization_names,
    queries,
    runs,
)

T = TypeVar("T")
D = TypeVar("D", bound=FieldDefinition)


Kind: TypeAlias = Literal["organization", "field", "api key", "integration"]
"""What has an id that a storage assigns."""


@frozen
class Nth:
    """The n-th id of a kind that a storage has assigned, counted from 0, modulo their number."""

    kind: Kind
    number: int


@frozen
class Call:
    """A call, such as `fields.all`. Its arguments have the same meaning for every storage.

    A method of `_Side` makes it if it has one with this name: a planner can't be an argument.
    """

    method: str
    arguments: tuple[Any, ...] = ()


def assert_storages_agree(one: Storage, other: Storage, calls: Sequence[Call]) -> None:
    """Assert that each call has the same result, or raises the same error, on both storages.

    Both storages must be empty. They may assign different ids and revisions. Calls for the history,
    and for API keys and integrations, are left out unless both storages have them.
    """
    here, there = _Side(one), _Side(other)
    for call in calls:
        if here.has(call) and there.has(call):
            assert here.result(call) == there.result(call), call


@st.composite
def port_calls(draw: st.DrawFn, *, max_calls: int = 40) -> list[Call]:
    """Return a strategy for sequences of calls of every method.

    Each sequence begins with organizations and an integration. At most `max_calls` others follow.
    """
    organization, field, key, integration = (_ids(kind) for kind in get_args(Kind))
    shared = st.sampled_from((FieldKey("city"), FieldKey("zip_code"), FieldKey("age")))
    references = field | shared | keys()
    first, synced_first = Nth("organization", 0), Nth("integration", 0)
    channel = st.none() | channels()
    changed = st.sampled_from(DataType).flatmap(changes)
    limits = st.none() | st.integers(-1, 3)
    graces = st.timedeltas(timedelta(), MAX_GRACE_PERIOD)
    calls = st.one_of(
        _calls("organizations.add", organization_names(), instants()),
        _calls("organizations.all"),
        _calls("organizations.get", organization),
        _calls("organizations.rename", organization, organization_names()),
        _calls(
            "organizations.delete",
            organization,
            st.sampled_from((permit_organization, _reject_organization_with_fields)),
        ),
        _calls("fields.all", organization),
        _calls("fields.select", organization, queries(keyed=shared)),
        _calls("fields.get", organization, references),
        _calls("fields.create", organization, definitions(keyed=shared), st.none()),
        _calls("fields.create", organization, definitions(), limits),
        _calls("fields.update", organization, references, changed, channel, instants()),
        _calls("fields.update", organization, shared, changed, channel, instants()),
        _calls("fields.delete", organization, references, channel),
        _calls("history.restore", organization, field, channel, limits, instants()),
        _calls(
            "history.restore",
            st.just(first),
            st.integers(0, 8).map(partial(Nth, "field")),
            st.none(),
            st.none(),
            instants(),
        ),
        _calls("history.select", organization, history_queries(keyed=shared)),
        _calls("history.catalog_at", organization, instants()),
        _calls("history.prune", organization, instants()),
        _calls("api_keys.all", organization),
        _calls("api_keys.find", st.integers(0, 8)),
        _calls("api_keys.add", organization, instants()),
        _calls("api_keys.get", organization, key),
        _calls("api_keys.revoke", organization, key, instants()),
        _calls("api_keys.rotate", organization, key, instants(), graces),
        _calls("api_keys.record_use", organization, key, instants()),
        _calls("integrations.all", organization),
        _calls("integrations.get", organization, integration),
        _calls("integrations.add", organization, integration_drafts()),
        _calls("integrations.rename", organization, integration, names()),
        _calls(
            "integrations.change_names",
            organization,
            integration,
            field,
            names().map(str),
            st.booleans(),
        ),
        _calls(
            "integrations.change_with_names",
            organization,
            definitions(keyed=shared),
            names().map(str),
        ),
        _calls("integrations.read_catalog", organization),
        _calls(
            "integrations.delete",
            organization,
            integration,
            st.sampled_from((permit_integration, _reject_fields)),
        ),
        _calls("integrations.sync", organization, integration, runs()),
        _calls("integrations.sync", st.just(first), st.just(synced_first), runs()),
    )
    added = Call("organizations.add", ("ACME", NOW))
    connected = Call("integrations.add", (first, draw(integration_drafts())))
    synced = Call("integrations.sync", (first, synced_first, draw(runs())))
    drawn = draw(st.lists(calls, min_size=1, max_size=max_calls))
    final = (
        Call(method, (Nth("organization", number), *arguments))
        for number in range(2)
        for method, *arguments in (("fields.all",), ("history.select", HistoryQuery()))
    )
    return [added, added, connected, synced, *drawn, *final]


def _ids(kind: Kind) -> SearchStrategy[Nth | int]:
    """Return a strategy for ids, most of which have been assigned."""
    assigned = st.integers(0, 8).map(partial(Nth, kind))
    return st.one_of(assigned, assigned, assigned, st.sampled_from(NEVER_ASSIGNED))


def _calls(method: str, *arguments: SearchStrategy[Any]) -> SearchStrategy[Call]:
    return st.builds(Call, st.just(method), st.tuples(*arguments))


def _reject_fields(fields: tuple[RecipientField, ...]) -> None:
    if fields:
        raise IntegrationChanged


def _reject_organization_with_fields(contents: OrganizationContents) -> None:
    if contents.fields:
        raise OrganizationChanged


class _Side:
    """One storage, and the ids that it has assigned."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._ids: dict[Kind, list[int]] = {kind: [] for kind in get_args(Kind)}
        self._revisions: list[tuple[int, int]] = []
        self._plain_key_count = 0

    def result(self, call: Call) -> object:
        """Return the result of the call, with ids and revisions replaced by their numbers."""
        arguments = [self._resolved(each) for each in call.arguments]
        method = getattr(self, call.method.replace(".", "_"), None)
        method = method or attrgetter(call.method)(self._storage)
        result = attempt(lambda: method(*arguments))
        if isinstance(result, KeyTaken):
            return KeyTaken, _number(self._ids["field"], result.existing_id)
        if isinstance(result, RecipientFieldsError):
            return type(result)
        return exact(self._numbered(result))

    def _resolved(self, argument: Any) -> Any:
        """Return the id that this storage has assigned, or the argument if it is no `Nth`."""
        if not isinstance(argument, Nth):
            return argument
        ids = self._ids[argument.kind]
        return ids[argument.number % len(ids)] if ids else 0

    def has(self, call: Call) -> bool:
        """Return whether the storage has the group of the call."""
        repository, _, _ = call.method.partition(".")
        groups = [each for each in StorageGroup if repository in each.repositories]
        return all(each.is_in(self._storage) for each in groups)

    def fields_create(
        self, organization: OrganizationId, definition: FieldDefinition, limit: int | None
    ) -> RecipientField:
        return add_field(self._storage.fields, organization, definition, limit=limit)

    def fields_update(
        self,
        organization: OrganizationId,
        reference: FieldReference,
        changes: FieldChanges,
        channel: Channel | None,
        at: datetime,
    ) -> RecipientField:
        return update_field(
            self._storage.fields,
            organization,
            reference,
            lambda field: field.with_changes(changes, by=channel or channel_of(field), at=at),
            at=at,
        )

    def fields_delete(
        self, organization: OrganizationId, reference: FieldReference, channel: Channel | None
    ) -> None:
        delete_field(
            self._storage.fields,
            organization,
            reference,
            lambda field: field.require_deletable(by=channel or channel_of(field)),
        )

    def history_restore(
        self,
        organization: OrganizationId,
        field: FieldId,
        channel: Channel | None,
        limit: int | None,
        at: datetime,
    ) -> RecipientField:
        return restore_field(
            self._storage.fields,
            organization,
            field,
            lambda deleted: deleted.restored(by=channel or channel_of(deleted), at=at),
            limit=limit,
            at=at,
        )

    def api_keys_find(self, number: int) -> FoundKey | None:
        found = self._api_keys.find(_plain_key(number).digest)
        return found and evolve(found, catalog_revision=0)

    def api_keys_add(self, organization: OrganizationId, at: datetime) -> ApiKey:
        return self._api_keys.add(a_grant(organization, key=self._next_plain_key(), at=at))

    def api_keys_revoke(self, organization: OrganizationId, key: ApiKeyId, at: datetime) -> ApiKey:
        return self._api_keys.update(organization, key, lambda current: current.revoked(at))

    def api_keys_rotate(
        self, organization: OrganizationId, key: ApiKeyId, at: datetime, grace: timedelta
    ) -> tuple[ApiKey, ApiKey]:
        plain = self._next_plain_key()
        return self._api_keys.rotate(
            organization, key, lambda current: current.rotated(plain, at=at, grace=grace)
        )

    def integrations_change_names(
        self,
        organization: OrganizationId,
        integration: IntegrationId,
        field: FieldId,
        name: str,
        custom: bool,  # noqa: FBT001 (drawn by position)
    ) -> Integration:
        names = naming({field: SetName(name, custom)})
        return self._integrations.change_names(organization, integration, names)

    def integrations_change_with_names(
        self, organization: OrganizationId, definition: FieldDefinition, name: str
    ) -> RecipientField:
        """Create a field, and set its name at all integrations of the organization."""
        names = {IntegrationId(each): SetName(name) for each in self._ids["integration"]}
        applied = self._integrations.change_with_names(
            organization,
            lambda catalog: plan_creation(catalog, definition),
            naming_created(names),
            author=AUTHOR,
            at=LATER,
        )
        return applied.created[0]

    def integrations_delete(
        self, organization: OrganizationId, integration: IntegrationId, check: IntegrationCheck
    ) -> tuple[RecipientField, ...]:
        return self._integrations.delete(organization, integration, check, author=AUTHOR, at=LATER)

    def integrations_sync(
        self, organization: OrganizationId, integration: IntegrationId, planner: SyncPlanner
    ) -> SyncPlan:
        return self._integrations.sync(organization, integration, planner, author=AUTHOR, at=LATER)

    def _next_plain_key(self) -> PlainKey:
        self._plain_key_count += 1
        return _plain_key(self._plain_key_count)

    @property
    def _api_keys(self) -> ApiKeyRepository:
        assert isinstance(self._storage, IntegrationStorage)
        return self._storage.api_keys

    @property
    def _integrations(self) -> IntegrationRepository:
        assert isinstance(self._storage, IntegrationStorage)
        return self._storage.integrations

    def _numbered(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(self._numbered(part) for part in result)
        if isinstance(result, Organization):
            number = _number(self._ids["organization"], result.id)
            return evolve(result, id=OrganizationId(number))
        if isinstance(result, RecipientField):
            return self._numbered_for(self._of_numbered_origin(result), self._ids["field"])
        if isinstance(result, FieldDefinition):
            return self._of_numbered_origin(result)
        if isinstance(result, Integration):
            names = {
                FieldId(_number(self._ids["field"], each)): name
                for each, name in result.names.items()
            }
            return self._numbered_for(evolve(result, names=names), self._ids["integration"])
        if isinstance(result, SyncPlan):
            return self._with_numbered(result, "integration", "changes", "name_changes")
        if isinstance(result, NamedField):
            return self._with_numbered(result, "field", "integration", "esp_name")
        if isinstance(result, EspName):
            return self._with_numbered(result, "counterpart")
        if isinstance(result, CatalogChanges):
            return self._with_numbered(result, "changes")
        if isinstance(result, Change):
            return self._with_numbered(result, "before", "after")
        if isinstance(result, HistoryPage):
            return self._with_numbered(result, "records")
        if isinstance(result, ApiKey | FoundKey):
            return self._numbered_for(result, self._ids["api key"])
        if isinstance(result, Catalog):
            organization = _number(self._ids["organization"], result.organization_id)
            revision = _number(self._revisions, (organization, result.revision))
            return Catalog(OrganizationId(organization), revision, self._numbered(result.fields))
        if isinstance(result, FieldPage):
            catalog = Catalog(result.organization_id, result.revision, result.fields)
            return self._numbered(catalog), result.total, result.next is None
        return result

    def _with_numbered(self, result: Any, *members: str) -> Any:
        return evolve(result, **{each: self._numbered(getattr(result, each)) for each in members})

    def _of_numbered_origin(self, field: D) -> D:
        """Return the field with the integration's number in place of its id, also in the key."""
        integration_id = field.origin.integration_id
        if integration_id not in self._ids["integration"]:
            return field
        number = IntegrationId(_number(self._ids["integration"], integration_id) + 1)
        stem = field.key.removesuffix(f"_{integration_id}")
        key = field.key if stem == field.key else FieldKey(f"{stem}_{number}")
        return evolve(field, key=key, origin=evolve(field.origin, integration_id=number))

    def _numbered_for(self, result: Any, ids: list[int]) -> Any:
        organization = _number(self._ids["organization"], result.organization_id)
        return evolve(result, id=_number(ids, result.id), organization_id=organization)


def _number(known: list[T], one: T) -> int:
    if one not in known:
        known.append(one)
    return known.index(one)


def _plain_key(number: int) -> PlainKey:
    return PlainKey(f"rfk_{number:038}")
