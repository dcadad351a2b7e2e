"""All application services for one storage."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from recipient_fields.domain import HistoryLimit, OrganizationId

from .accounts.administration import AdministrationService
from .accounts.administrators import AdministratorService
from .accounts.key_validation import StoredKeyValidator
from .clock import system_clock
from .content.content import ContentService
from .esp.integrations import IntegrationService
from .fields.history_limits import DEFAULT_HISTORY_LIMIT, HistoryLimits, ignore_change
from .ports.clock import Clock
from .ports.keys import KeyValidator
from .ports.sessions import PasswordHasher
from .ports.storage import (
    ConsoleStorage,
    IntegrationStorage,
    MissingGroup,
    Storage,
    StorageGroup,
)
from .recipient_fields import (
    DEFAULT_CATALOG_SIZE,
    DEFAULT_FIELD_LIMIT,
    RecipientFieldService,
)

__all__ = ["Core"]


@frozen
class Core:
    """The application services for one storage, and their key validator.

    `integrations`, `administrators` and `validator` raise MissingGroup if the storage does not have
    the group that they require.
    """

    storage: Storage
    fields: RecipientFieldService
    _integrations: IntegrationService | None
    administration: AdministrationService
    _administrators: AdministratorService | None
    content: ContentService
    _validator: KeyValidator | None
    clock: Clock

    @property
    def integrations(self) -> IntegrationService:
        """The use cases of integrations."""
        if self._integrations is None:
            raise MissingGroup(StorageGroup.INTEGRATIONS)
        return self._integrations

    @property
    def administrators(self) -> AdministratorService:
        """The use cases of administrators, who sign in to the console."""
        if self._administrators is None:
            raise MissingGroup(StorageGroup.CONSOLE_ACCOUNTS)
        return self._administrators

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
    ) -> Core:
        """Return the application services for the storage, which the caller closes.

        `field_limit` is the maximum number of API-managed fields per organization, and
        `catalog_size` that of the bytes of the list of all its fields as JSON. `history_limit` is
        the maximum size of its history, from which a thread removes the oldest records; None: it
        has no limit. Without a `validator`, the API keys in the storage are valid. Without a
        `hasher`, no administrator can set a password or sign in with one.
        """
        note_change: Callable[[OrganizationId], None] = ignore_change
        if history_limit is not None:
            note_change = HistoryLimits(storage, history_limit).note_change
        repository = integrations = api_keys = administrators = None
        if isinstance(storage, IntegrationStorage):
            api_keys, repository = storage.api_keys, storage.integrations
            if validator is None:
                validator = StoredKeyValidator(api_keys, clock)
            integrations = IntegrationService(
                integrations=repository,
                fields=storage.fields,
                history=storage.history,
                clock=clock,
                field_limit=field_limit,
                size_limit=catalog_size,
                note_change=note_change,
            )
        if isinstance(storage, ConsoleStorage):
            administrators = AdministratorService(
                administrators=storage.administrators,
                sessions=storage.sessions,
                hasher=hasher,
                clock=clock,
            )
        return cls(
            storage=storage,
            fields=RecipientFieldService(
                fields=storage.fields,
                history=storage.history,
                integrations=repository,
                clock=clock,
                limit=field_limit,
                size_limit=catalog_size,
                note_change=note_change,
            ),
            integrations=integrations,
            administration=AdministrationService(
                organizations=storage.organizations, api_keys=api_keys, clock=clock
            ),
            administrators=administrators,
            content=ContentService(fields=storage.fields, integrations=repository, clock=clock),
            validator=validator,
            clock=clock,
        )
