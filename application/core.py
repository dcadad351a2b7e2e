"""All use cases over one storage, for whoever embeds them or serves them."""

from __future__ import annotations

from attrs import frozen

from .administration import AdministrationService
from .clock import system_clock
from .integrations import IntegrationService
from .key_validation import StoredKeyValidator
from .ports import Clock, KeyValidator, Storage
from .recipient_fields import DEFAULT_FIELD_LIMIT, RecipientFieldService


@frozen
class Core:
    """The use cases over one storage, and what tells who asks for them."""

    storage: Storage
    fields: RecipientFieldService
    integrations: IntegrationService
    administration: AdministrationService
    validator: KeyValidator

    @classmethod
    def over(
        cls,
        storage: Storage,
        *,
        clock: Clock = system_clock,
        field_limit: int = DEFAULT_FIELD_LIMIT,
        validator: KeyValidator | None = None,
    ) -> Core:
        """The use cases over that storage, which stays its owner's to close.

        `field_limit`: how many API-managed fields an organization may have.
        `validator`: tells what API keys prove; None: those that the storage holds are valid.
        """
        return cls(
            storage,
            RecipientFieldService(fields=storage.fields, clock=clock, limit=field_limit),
            IntegrationService(
                integrations=storage.integrations, fields=storage.fields, clock=clock
            ),
            AdministrationService(
                organizations=storage.organizations, api_keys=storage.api_keys, clock=clock
            ),
            StoredKeyValidator(storage.api_keys, clock) if validator is None else validator,
        )
