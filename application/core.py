"""All application services for one storage."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from attrs import field, frozen

from recipient_fields.domain import HistoryLimit, OrganizationId
from recipient_fields.domain.esp import BUILT_IN, Profiles

from .accounts.administration import AdministrationService
from .accounts.key_validation import StoredKeyValidator
from .clock import Clock, system_clock
from .extras import MissingExtra
from .fields.default_limits import DEFAULT_CATALOG_SIZE, DEFAULT_FIELD_LIMIT
from .fields.history_limits import DEFAULT_HISTORY_LIMIT, HistoryLimits, ignore_change
from .ports.accounts import KeyValidator, PasswordHasher
from .ports.integrations import EspAccounts, SecretCipher
from .ports.storage import (
    CallingThreadStorage,
    ConsoleStorage,
    IntegrationStorage,
    MissingGroup,
    Storage,
    StorageGroup,
    find_history,
)
from .recipient_fields import RecipientFieldService

if TYPE_CHECKING:
    from .accounts.administrators import AdministratorService
    from .content.content import ContentService
    from .esp.connections import ConnectionService
    from .esp.integrations import IntegrationService

__all__ = ["Core"]


@frozen(kw_only=True)
class Core:
    """The application services for one storage, and their key validator.

    `profiles` are those of the ESPs for which they write code.
    `integrations`, `administrators` and `validator` raise MissingGroup if the storage does not have
    the group that they require, and so do methods that need the history. The modules of services
    that many programs don't use are imported when the service is first used.
    """

    storage: Storage
    fields: RecipientFieldService
    administration: AdministrationService
    clock: Clock
    profiles: Profiles
    _validator: KeyValidator | None = field(alias="validator")
    _hasher: PasswordHasher | None = field(alias="hasher")
    _field_limit: int = field(alias="field_limit")
    _size_limit: int = field(alias="size_limit")
    _note_change: Callable[[OrganizationId], None] = field(alias="note_change")
    _open_accounts: Callable[[], EspAccounts] = field(alias="open_accounts")
    _open_cipher: Callable[[], SecretCipher | None] = field(alias="open_cipher")

    @property
    def has_history(self) -> bool:
        """Whether the storage has a history of fields."""
        return StorageGroup.HISTORY.is_in(self.storage)

    @cached_property
    def content(self) -> ContentService:
        """The use cases of content, conditions and codes."""
        from .content.content import ContentService

        storage = self.storage
        return ContentService(
            fields=storage.fields,
            integrations=storage.integrations if isinstance(storage, IntegrationStorage) else None,
            clock=self.clock,
            profiles=self.profiles,
        )

    @cached_property
    def integrations(self) -> IntegrationService:
        """The use cases of integrations."""
        from .esp.integrations import IntegrationService

        if not isinstance(self.storage, IntegrationStorage):
            raise MissingGroup(StorageGroup.INTEGRATIONS)
        return IntegrationService(
            integrations=self.storage.integrations,
            fields=self.storage.fields,
            history=find_history(self.storage),
            clock=self.clock,
            profiles=self.profiles,
            field_limit=self._field_limit,
            size_limit=self._size_limit,
            note_change=self._note_change,
        )

    @cached_property
    def connections(self) -> ConnectionService:
        """The use cases of connections of integrations."""
        from .esp.connections import ConnectionService

        if not isinstance(self.storage, IntegrationStorage):
            raise MissingGroup(StorageGroup.INTEGRATIONS)
        return ConnectionService(
            connections=self.storage.esp_connections,
            integrations=self.integrations,
            open_accounts=self._open_accounts,
            open_cipher=self._open_cipher,
            clock=self.clock,
        )

    @cached_property
    def administrators(self) -> AdministratorService:
        """The use cases of administrators, who sign in to the console."""
        from .accounts.administrators import AdministratorService

        if not isinstance(self.storage, ConsoleStorage):
            raise MissingGroup(StorageGroup.CONSOLE_ACCOUNTS)
        return AdministratorService(
            administrators=self.storage.administrators,
            sessions=self.storage.sessions,
            hasher=self._hasher,
            clock=self.clock,
        )

    @property
    def validator(self) -> KeyValidator:
        """The validator of API keys."""
        if self._validator is None:
            raise MissingGroup(StorageGroup.INTEGRATIONS)
        return self._validator

    @classmethod
    def over(
        cls,
        storage: Storage,
        *,
        clock: Clock = system_clock,
        field_limit: int = DEFAULT_FIELD_LIMIT,
        catalog_size: int = DEFAULT_CATALOG_SIZE,
        history_limit: HistoryLimit | None = DEFAULT_HISTORY_LIMIT,
        validator: KeyValidator | None = None,
        hasher: PasswordHasher | None = None,
        profiles: Profiles = BUILT_IN,
        open_accounts: Callable[[], EspAccounts] | None = None,
        open_cipher: Callable[[], SecretCipher | None] = lambda: None,
    ) -> Core:
        """Return the application services for the storage, which the caller closes.

        `field_limit` is the maximum number of API-managed fields per organization, and
        `catalog_size` that of the bytes of the list of all its fields as JSON. `history_limit` is
        the maximum size of its history, from which a thread removes the oldest records; None: it
        has no limit. Without a `validator`, the API keys in the storage are valid. Without a
        `hasher`, no administrator can set a password or sign in with one. `profiles` are those of
        all ESPs for which the services write code. `open_accounts` returns the accounts of ESPs
        that the services can read, and `open_cipher` the encryption of their credentials; without
        it, none can be stored.
        """
        note_change: Callable[[OrganizationId], None] = ignore_change
        history = find_history(storage)
        if history is not None and history_limit is not None:
            in_caller = isinstance(storage, CallingThreadStorage)
            note_change = HistoryLimits(history, history_limit, in_caller=in_caller).note_change
        api_keys = integrations = None
        if isinstance(storage, IntegrationStorage):
            api_keys, integrations = storage.api_keys, storage.integrations
        if validator is None and api_keys is not None:
            validator = StoredKeyValidator(api_keys, clock)
        return cls(
            storage=storage,
            fields=RecipientFieldService(
                fields=storage.fields,
                history=history,
                integrations=integrations,
                clock=clock,
                profiles=profiles,
                limit=field_limit,
                size_limit=catalog_size,
                note_change=note_change,
            ),
            administration=AdministrationService(
                organizations=storage.organizations, api_keys=api_keys, clock=clock
            ),
            clock=clock,
            profiles=profiles,
            validator=validator,
            hasher=hasher,
            field_limit=field_limit,
            size_limit=catalog_size,
            note_change=note_change,
            open_accounts=open_accounts or _no_accounts,
            open_cipher=open_cipher,
        )


def _no_accounts() -> EspAccounts:
    raise MissingExtra("esp", "urllib3")
