"""The ports of integrations with ESPs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from attrs import frozen

from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    IntegrationId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import (
    EspConnection,
    Integration,
    IntegrationDraft,
    NamesQuery,
    ReportedField,
    SyncPlan,
)

from .fields import CatalogPlanner

__all__ = [
    "AccountParameter",
    "ConnectionPlanner",
    "EspAccounts",
    "EspConnectionRepository",
    "EspFieldSource",
    "IntegrationCheck",
    "IntegrationRepository",
    "NamePlanner",
    "NamedAccount",
    "NamesPlanner",
    "SecretCipher",
    "SyncPlanner",
]

IntegrationCheck: TypeAlias = Callable[[tuple[RecipientField, ...]], None]
"""Raise if an integration with these fields may not be deleted."""


SyncPlanner: TypeAlias = Callable[
    [Integration, tuple[RecipientField, ...], tuple[Integration, ...]], SyncPlan
]
"""Return the changes of a sync run to the integration and all fields of its organization.

The third argument is the tuple of all integrations of the organization.
It has no side effects: a storage may call it several times."""


NamePlanner: TypeAlias = Callable[[Integration, tuple[RecipientField, ...]], Integration]
"""Return the integration with other names, from it and all fields of its organization.

It has no side effects: a storage may call it several times."""


NamesPlanner: TypeAlias = Callable[
    [tuple[Integration, ...], tuple[RecipientField, ...]], Iterable[Integration]
]
"""Return integrations with other names, from all integrations and fields of their organization.

It has no side effects: a storage may call it several times."""


ConnectionPlanner: TypeAlias = Callable[[EspConnection], EspConnection]
"""Return another state of a connection.

It has no side effects: a storage may call it several times."""


class IntegrationRepository(Protocol):
    """The integrations of all organizations. Their sync runs create, change and delete fields.

    For each organization, the integrations of other organizations do not exist. Every change to an
    integration that can change a code of a field increases the revision of its organization's
    catalog: its creation, its deletion, another ESP name, and its own name, which the codes show.
    """

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        """Return the organization's integrations by ascending id.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        """Return all fields of the organization and its integrations, each by ascending id.

        One transaction reads both, so they are those of the catalog's revision.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def select(
        self, organization_id: OrganizationId, query: NamesQuery, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        """Return the fields and the integrations that the query selects, each by ascending id.

        It is equal to `query.select(*self.read_catalog(organization_id))`. It is a separate method
        because a storage can find the fields with an index.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        """Return the number of fields of each of the organization's integrations that has any.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        """Return the integration.

        Raises: IntegrationNotFound if the organization has no such integration.
        """

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        """Store a new integration, and return it.

        Its id is greater than any that the storage has assigned to an integration before.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        """Store the integration's new name, and return the integration.

        Raises: IntegrationNotFound if the organization has no such integration; then
        InvalidIntegration if the name is not one line of 1 to 255 characters.
        """

    def change_names(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: NamePlanner,
        /,
    ) -> Integration:
        """Store the names of the integration that `planner` returns, and return the integration.

        `planner` receives the integration and all fields of its organization by ascending id. These
        do not change between its last call and the commit. If it raises, nothing is stored and the
        exception is raised. Only the names are stored.
        Raises: IntegrationNotFound if the organization has no such integration.
        """

    def change_with_names(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        name: NamesPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        """Do what `FieldRepository.change` does with `plan`, and then store names, or do neither.

        `name` receives all integrations of the organization and, after the changes, all its fields,
        each by ascending id. These do not change between its last call and the commit. Of the
        integrations that it returns, only the names are stored. If it raises, nothing is stored and
        the exception is raised.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def delete(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        check: IntegrationCheck,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> tuple[RecipientField, ...]:
        """Delete the integration and its fields at this time, unless `check` raises.

        Return these fields by ascending id, as `check` receives them. They do not change between
        the call of `check` and the commit. The history records each deletion.
        Raises: IntegrationNotFound if the organization has no such integration.
        """

    def sync(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: SyncPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> SyncPlan:
        """Store the plan that `planner` returns, and return the plan.

        `planner` receives the integration, and all fields and integrations of its organization by
        ascending id. These do not change between its last call and the commit: a storage may call
        it again with the newest state, and stores the result of the last call. If it raises,
        nothing is stored and the exception is raised.

        The changes of the plan are stored and recorded as `FieldRepository.change` does. Only
        `last_synced_at` and `refused_names` of the integration are stored. The revision of the
        catalog increases if `changes_catalog` of the plan is true. `at` is the time of the change;
        the run can have begun long before.
        Raises: IntegrationNotFound if the organization has no such integration.
        """


class EspConnectionRepository(Protocol):
    """The connections of integrations: their credential, and the schedule of their syncs.

    An integration has one connection, which is deleted with it.
    """

    def all(self) -> tuple[EspConnection, ...]:
        """Return the stored connections of all organizations by ascending ids."""

    def get(
        self, organization_id: OrganizationId, integration_id: IntegrationId, /
    ) -> EspConnection:
        """Return the connection, or one without a credential if none was stored.

        Raises: IntegrationNotFound if the organization has no such integration.
        """

    def change(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        plan: ConnectionPlanner,
        /,
    ) -> EspConnection:
        """Store the connection that `plan` returns, and return it.

        `plan` receives what `get` returns. This does not change between its last call and the
        commit. If it raises, nothing is stored and the exception is raised.
        Raises: IntegrationNotFound if the organization has no such integration.
        """


class EspFieldSource(Protocol):
    """The fields of one account of an ESP."""

    def fields(self) -> Iterator[ReportedField]:
        """Return an iterator over all fields that the ESP lists, in the ESP's order.

        Pages are requested as the iterator advances; a list is complete only if the iteration ends
        without an error. A field whose type no recipient field can have is reported as refused.

        Raises: EspUnavailable, during the iteration, if the ESP fails, limits the request rate or
        does not respond in time, after several attempts; EspRefused if it rejects the request or
        its response has no fields.
        """


@runtime_checkable
class NamedAccount(EspFieldSource, Protocol):
    """The fields of an account whose API has a name for it."""

    def account_name(self) -> str:
        """Return a name that no other account of the ESP has.

        Raises: EspUnavailable; EspRefused, also if the credentials may not read the name.
        """


@frozen(kw_only=True)
class AccountParameter:
    """One of the values that connect to an account of an ESP.

    A value is `secret`, or it selects the host to which the secrets are sent (`is_address`), or a
    part of the account. `label` is what people call it, and `variable` its environment variable.
    """

    name: str
    label: str
    variable: str
    secret: bool
    required: bool
    is_address: bool


class EspAccounts(Protocol):
    """The accounts of ESPs from which this installation can read fields."""

    def parameters(self, esp: Esp, /) -> tuple[AccountParameter, ...]:
        """Return the values of an account, the required ones first. Without an API, none."""

    def advice(self, esp: Esp, /) -> str:
        """Return where a person finds the credentials, and which permissions they need."""

    def open(
        self, esp: Esp, values: Mapping[str, str], /, *, is_test: bool = False
    ) -> EspFieldSource:
        """Return the source of the fields of the account with these values.

        `is_test`: only the first fields are read, so the source sends one request, without retries.

        Its messages call the values by their labels.
        Raises: EspRefused if a value can't be used, or the host is not one of the ESP's API.
        """


class SecretCipher(Protocol):
    """The encryption of the secrets in a storage."""

    def encrypt(self, text: str, /) -> str:
        """Return the text, encrypted with the first key."""

    def decrypt(self, encrypted: str, /) -> str:
        """Return the text. Raises: CredentialUnreadable if no key has encrypted it."""
