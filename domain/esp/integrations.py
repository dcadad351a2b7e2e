"""Integrations: an organization's connections to email service providers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from attrs import evolve, field, frozen
from attrs.converters import optional

from ..fields import RecipientField
from ..identity import IntegrationId, OrganizationId
from ..instants import whole_milliseconds
from ..origins import Channel, sync_of
from ..text import LONGEST_LINE, parse_name
from .dialects import Esp
from .errors import InvalidIntegration


def parse_integration_name(text: str) -> str:
    """The name, NFC and trimmed; InvalidIntegration unless it is one line of 1 to 255."""
    return parse_name(text, longest=LONGEST_LINE, invalid=InvalidIntegration)


@frozen(kw_only=True)
class IntegrationDraft:
    """What is asked for when an integration is made. InvalidIntegration where the name is wrong."""

    esp: Esp
    name: str = field(converter=parse_integration_name)
    created_at: datetime = field(converter=whole_milliseconds)

    def stored(self, integration_id: IntegrationId, organization_id: OrganizationId) -> Integration:
        """The integration as a storage keeps it under the id it assigns."""
        return Integration(
            id=integration_id,
            organization_id=organization_id,
            esp=self.esp,
            name=self.name,
            created_at=self.created_at,
        )


@frozen(kw_only=True)
class Integration(IntegrationDraft):
    """An organization's named connection to one ESP. Credentials are no part of it.

    `last_synced_at`: when the last run began that succeeded, whether or not it changed a field.
    """

    id: IntegrationId
    organization_id: OrganizationId
    last_synced_at: datetime | None = field(converter=optional(whole_milliseconds), default=None)

    @property
    def channel(self) -> Channel:
        """Who its sync runs are."""
        return sync_of(self.id)

    def own(self, fields: Iterable[RecipientField]) -> tuple[RecipientField, ...]:
        """Those of the fields that its runs have made, in their order."""
        return tuple(each for each in fields if self.channel.owns(each.origin))

    def renamed(self, name: str) -> Integration:
        """This integration under another name. InvalidIntegration."""
        return evolve(self, name=name)

    def synced(self, at: datetime) -> Integration:
        """This integration after a run that began then."""
        return evolve(self, last_synced_at=at)
