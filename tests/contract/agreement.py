"""Comparison of two storages: the same calls have the same results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from attrs import evolve, frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from recipient_fields.application import (
    HistoryRepository,
    HistoryStorage,
    IntegrationCheck,
    IntegrationStorage,
    OrganizationCheck,
    Storage,
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
    FieldQuery,
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
    IntegrationDraft,
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


@frozen
class Nth:
    """The n-th id of a kind that a storage has assigned, counted from 0, modulo their number."""

    number: int


_OF_THE_HISTORY = {"restore_field", "select_history", "catalog_at", "prune_history"}
"""The methods of `_Side` that need the history."""


@frozen
class Call:
    """A call of a method of `_Side`. Its arguments have the same meaning for every storage."""

    method: str
    arguments: tuple[Any, ...] = ()


def assert_storages_agree(one: Storage, other: Storage, calls: Sequence[Call]) -> None:
    """Assert that each call has the same result, or raises the same error, on both storages.

    Both storages must be empty. They may assign different ids and revisions. Calls for the history,
    and for API keys and integrations, are left out unless both storages have them.
    """
    here, there = _Side(one), _Side(other)
    if isinstance(one, IntegrationStorage) and isinstance(other, IntegrationStorage):
        here, there = _IntegrationSide(one), _IntegrationSide(other)
    have_history = isinstance(one, HistoryStorage) and isinstance(other, HistoryStorage)
    for call in calls:
        if call.method in _OF_THE_HISTORY and not have_history:
            continue
        if hasattr(here, call.method):
            assert here.result(call) == there.result(call), call


@st.composite
def port_calls(draw: st.DrawFn, *, max_calls: int = 40) -> list[Call]:
    """Return a strategy for sequences of calls of every method.

    Each sequence begins with organizations and an integration. At most `max_calls` others follow.
    """
    assigned = st.integers(0, 8).map(Nth)
    ids = st.one_of(assigned, assigned, assigned, st.sampled_from(NEVER_ASSIGNED))
    shared = st.sampled_from((FieldKey("city"), FieldKey("zip_code"), FieldKey("age")))
    references = ids | shared | keys()
    channel = st.none() | channels()
    changed = st.sampled_from(DataType).flatmap(changes)
    limits = st.none() | st.integers(-1, 3)
    graces = st.timedeltas(timedelta(), MAX_GRACE_PERIOD)
    calls = st.one_of(
        _calls("add_organization", organization_names(), instants()),
        _calls("all_organizations"),
        _calls("get_organization", ids),
        _calls("rename_organization", ids, organization_names()),
        _calls(
            "delete_organization",
            ids,
            st.sampled_from((permit_organization, _reject_organization_with_fields)),
        ),
        _calls("all_fields", ids),
        _calls("select_fields", ids, queries(keyed=shared)),
        _calls("get_field", ids, references),
        _calls("add_field", ids, definitions(keyed=shared), st.none()),
        _calls("add_field", ids, definitions(), limits),
        _calls("update_field", ids, references, changed, channel, instants()),
        _calls("update_field", ids, shared, changed, channel, instants()),
        _calls("delete_field", ids, references, channel),
        _calls("restore_field", ids, ids, channel, limits, instants()),
        _calls("restore_field", st.just(Nth(0)), assigned, st.none(), st.none(), instants()),
        _calls("select_history", ids, history_queries(keyed=shared)),
        _calls("catalog_at", ids, instants()),
        _calls("prune_history", ids, instants()),
        _calls("all_keys", ids),
        _calls("find_key", st.integers(0, 8)),
        _calls("add_key", ids, instants()),
        _calls("get_key", ids, ids),
        _calls("revoke_key", ids, ids, instants()),
        _calls("rotate_key", ids, ids, instants(), graces),
        _calls("record_use", ids, ids, instants()),
        _calls("all_integrations", ids),
        _calls("get_integration", ids, ids),
        _calls("add_integration", ids, integration_drafts()),
        _calls("rename_integration", ids, ids, names()),
        _calls("change_names", ids, ids, ids, names().map(str), st.booleans()),
        _calls("change_with_names", ids, definitions(keyed=shared), names().map(str)),
        _calls("read_catalog", ids),
        _calls(
            "delete_integration", ids, ids, st.sampled_from((permit_integration, _reject_fields))
        ),
        _calls("sync", ids, ids, runs()),
        _calls("sync", st.just(Nth(0)), st.just(Nth(0)), runs()),
    )
    added = Call("add_organization", ("ACME", NOW))
    connected = Call("add_integration", (Nth(0), draw(integration_drafts())))
    synced = Call("sync", (Nth(0), Nth(0), draw(runs())))
    drawn = draw(st.lists(calls, min_size=1, max_size=max_calls))
    final = (
        Call(method, (Nth(number), *arguments))
        for number in range(2)
        for method, *arguments in (("all_fields",), ("select_history", HistoryQuery()))
    )
    return [added, added, connected, synced, *drawn, *final]


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
        self._organization_ids: list[int] = []
        self._field_ids: list[int] = []
        self._key_ids: list[int] = []
        self._integration_ids: list[int] = []
        self._revisions: list[tuple[int, int]] = []

    def result(self, call: Call) -> object:
        """Return the result of the call, with ids and revisions replaced by their numbers."""
        result = attempt(lambda: getattr(self, call.method)(*call.arguments))
        if isinstance(result, KeyTaken):
            return KeyTaken, _number(self._field_ids, result.existing_id)
        if isinstance(result, RecipientFieldsError):
            return type(result)
        return exact(self._numbered(result))

    def add_organization(self, name: str, at: datetime) -> Organization:
        return self._storage.organizations.add(name, at)

    def get_organization(self, organization: Nth | int) -> Organization:
        return self._storage.organizations.get(self._organization_id(organization))

    def rename_organization(self, organization: Nth | int, name: str) -> Organization:
        return self._storage.organizations.rename(self._organization_id(organization), name)

    def delete_organization(
        self, organization: Nth | int, check: OrganizationCheck
    ) -> OrganizationContents:
        return self._storage.organizations.delete(self._organization_id(organization), check)

    def all_organizations(self) -> tuple[Organization, ...]:
        return self._storage.organizations.all()

    def all_fields(self, organization: Nth | int) -> Catalog:
        return self._storage.fields.all(self._organization_id(organization))

    def select_fields(self, organization: Nth | int, query: FieldQuery) -> FieldPage:
        return self._storage.fields.select(self._organization_id(organization), query)

    def get_field(self, organization: Nth | int, reference: Nth | int | FieldKey) -> RecipientField:
        return self._storage.fields.get(
            self._organization_id(organization), self._reference(reference)
        )

    def add_field(
        self, organization: Nth | int, definition: FieldDefinition, limit: int | None
    ) -> RecipientField:
        return add_field(
            self._storage.fields,
            self._organization_id(organization),
            definition,
            limit=limit,
            author=AUTHOR,
        )

    def update_field(
        self,
        organization: Nth | int,
        reference: Nth | int | FieldKey,
        changes: FieldChanges,
        channel: Channel | None,
        at: datetime,
    ) -> RecipientField:
        return update_field(
            self._storage.fields,
            self._organization_id(organization),
            self._reference(reference),
            lambda field: field.with_changes(changes, by=channel or channel_of(field), at=at),
            author=AUTHOR,
            at=at,
        )

    def delete_field(
        self, organization: Nth | int, reference: Nth | int | FieldKey, channel: Channel | None
    ) -> None:
        delete_field(
            self._storage.fields,
            self._organization_id(organization),
            self._reference(reference),
            lambda field: field.require_deletable(by=channel or channel_of(field)),
            author=AUTHOR,
            at=LATER,
        )

    def restore_field(
        self,
        organization: Nth | int,
        field: Nth | int,
        channel: Channel | None,
        limit: int | None,
        at: datetime,
    ) -> RecipientField:
        return restore_field(
            self._storage.fields,
            self._organization_id(organization),
            FieldId(_resolved(self._field_ids, field)),
            lambda deleted: deleted.restored(by=channel or channel_of(deleted), at=at),
            limit=limit,
            author=AUTHOR,
            at=at,
        )

    def select_history(self, organization: Nth | int, query: HistoryQuery) -> HistoryPage:
        return self._history.select(self._organization_id(organization), query)

    def catalog_at(self, organization: Nth | int, at: datetime) -> Catalog:
        return self._history.catalog_at(self._organization_id(organization), at)

    def prune_history(self, organization: Nth | int, before: datetime) -> int:
        return self._history.prune(self._organization_id(organization), before)

    @property
    def _history(self) -> HistoryRepository:
        assert isinstance(self._storage, HistoryStorage)
        return self._storage.history

    def _organization_id(self, organization: Nth | int) -> OrganizationId:
        return OrganizationId(_resolved(self._organization_ids, organization))

    def _reference(self, reference: Nth | int | FieldKey) -> FieldReference:
        if isinstance(reference, FieldKey):
            return reference
        return FieldId(_resolved(self._field_ids, reference))

    def _numbered(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(self._numbered(part) for part in result)
        if isinstance(result, Organization):
            number = _number(self._organization_ids, result.id)
            return evolve(result, id=OrganizationId(number))
        if isinstance(result, RecipientField):
            return self._numbered_for(self._of_numbered_origin(result), self._field_ids)
        if isinstance(result, FieldDefinition):
            return self._of_numbered_origin(result)
        if isinstance(result, Integration):
            names = {
                FieldId(_number(self._field_ids, each)): name for each, name in result.names.items()
            }
            return self._numbered_for(evolve(result, names=names), self._integration_ids)
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
            return self._numbered_for(result, self._key_ids)
        if isinstance(result, Catalog):
            organization = _number(self._organization_ids, result.organization_id)
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
        if integration_id not in self._integration_ids:
            return field
        number = IntegrationId(_number(self._integration_ids, integration_id) + 1)
        stem = field.key.removesuffix(f"_{integration_id}")
        key = field.key if stem == field.key else FieldKey(f"{stem}_{number}")
        return evolve(field, key=key, origin=evolve(field.origin, integration_id=number))

    def _numbered_for(self, result: Any, ids: list[int]) -> Any:
        organization = _number(self._organization_ids, result.organization_id)
        return evolve(result, id=_number(ids, result.id), organization_id=organization)


class _IntegrationSide(_Side):
    """One storage with API keys and integrations."""

    def __init__(self, storage: IntegrationStorage) -> None:
        super().__init__(storage)
        self._with_keys = storage
        self._plain_key_count = 0

    def all_keys(self, organization: Nth | int) -> tuple[ApiKey, ...]:
        return self._with_keys.api_keys.all(self._organization_id(organization))

    def find_key(self, number: int) -> FoundKey | None:
        found = self._with_keys.api_keys.find(_plain_key(number).digest)
        return found and evolve(found, catalog_revision=0)

    def add_key(self, organization: Nth | int, at: datetime) -> ApiKey:
        grant = a_grant(self._organization_id(organization), key=self._next_plain_key(), at=at)
        return self._with_keys.api_keys.add(grant)

    def get_key(self, organization: Nth | int, key: Nth | int) -> ApiKey:
        return self._with_keys.api_keys.get(*self._key(organization, key))

    def revoke_key(self, organization: Nth | int, key: Nth | int, at: datetime) -> ApiKey:
        return self._with_keys.api_keys.update(
            *self._key(organization, key), lambda current: current.revoked(at)
        )

    def rotate_key(
        self, organization: Nth | int, key: Nth | int, at: datetime, grace: timedelta
    ) -> tuple[ApiKey, ApiKey]:
        plain = self._next_plain_key()
        return self._with_keys.api_keys.rotate(
            *self._key(organization, key),
            lambda current: current.rotated(plain, at=at, grace=grace),
        )

    def record_use(self, organization: Nth | int, key: Nth | int, at: datetime) -> None:
        self._with_keys.api_keys.record_use(*self._key(organization, key), at)

    def all_integrations(self, organization: Nth | int) -> tuple[Integration, ...]:
        return self._with_keys.integrations.all(self._organization_id(organization))

    def get_integration(self, organization: Nth | int, integration: Nth | int) -> Integration:
        return self._with_keys.integrations.get(*self._integration(organization, integration))

    def add_integration(self, organization: Nth | int, draft: IntegrationDraft) -> Integration:
        return self._with_keys.integrations.add(self._organization_id(organization), draft)

    def rename_integration(
        self, organization: Nth | int, integration: Nth | int, name: str
    ) -> Integration:
        return self._with_keys.integrations.rename(
            *self._integration(organization, integration), name
        )

    def change_names(
        self,
        organization: Nth | int,
        integration: Nth | int,
        field: Nth | int,
        name: str,
        custom: bool,  # noqa: FBT001 (drawn by position)
    ) -> Integration:
        field_id = FieldId(_resolved(self._field_ids, field))
        return self._with_keys.integrations.change_names(
            *self._integration(organization, integration),
            naming({field_id: SetName(name, custom)}),
        )

    def change_with_names(
        self, organization: Nth | int, definition: FieldDefinition, name: str
    ) -> RecipientField:
        """Create a field, and set its name at all integrations of the organization."""
        names = {IntegrationId(each): SetName(name) for each in self._integration_ids}
        applied = self._with_keys.integrations.change_with_names(
            self._organization_id(organization),
            lambda catalog: plan_creation(catalog, definition),
            naming_created(names),
            author=AUTHOR,
            at=LATER,
        )
        return applied.created[0]

    def read_catalog(self, organization: Nth | int) -> tuple[Catalog, tuple[Integration, ...]]:
        return self._with_keys.integrations.read_catalog(self._organization_id(organization))

    def delete_integration(
        self, organization: Nth | int, integration: Nth | int, check: IntegrationCheck
    ) -> tuple[RecipientField, ...]:
        return self._with_keys.integrations.delete(
            *self._integration(organization, integration), check, author=AUTHOR, at=LATER
        )

    def sync(
        self, organization: Nth | int, integration: Nth | int, planner: SyncPlanner
    ) -> SyncPlan:
        return self._with_keys.integrations.sync(
            *self._integration(organization, integration), planner, author=AUTHOR, at=LATER
        )

    def _next_plain_key(self) -> PlainKey:
        self._plain_key_count += 1
        return _plain_key(self._plain_key_count)

    def _key(self, organization: Nth | int, key: Nth | int) -> tuple[OrganizationId, ApiKeyId]:
        return self._organization_id(organization), ApiKeyId(_resolved(self._key_ids, key))

    def _integration(
        self, organization: Nth | int, integration: Nth | int
    ) -> tuple[OrganizationId, IntegrationId]:
        return self._organization_id(organization), IntegrationId(
            _resolved(self._integration_ids, integration)
        )


def _resolved(ids: Sequence[int], wanted: Nth | int) -> int:
    if isinstance(wanted, int):
        return wanted
    return ids[wanted.number % len(ids)] if ids else 0


def _number(known: list[T], one: T) -> int:
    if one not in known:
        known.append(one)
    return known.index(one)


def _plain_key(number: int) -> PlainKey:
    return PlainKey(f"rfk_{number:038}")
