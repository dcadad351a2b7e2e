"""Integrations: the connections of organizations to email service providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Generic, TypeVar

from attrs import evolve, field, frozen
from attrs.converters import optional

from ..arguments import require_type
from ..esp.names import Esp
from ..fields.field import RecipientField
from ..fields.origins import Channel, sync_channel
from ..fields.values import FieldKey
from ..identity import FieldId, IntegrationId, OrganizationId
from ..instants import whole_milliseconds
from ..text import MAX_LINE_LENGTH, parse_name
from .errors import InvalidIntegration

__all__ = ["Integration", "IntegrationDraft", "NamedField", "SetName"]

N = TypeVar("N", covariant=True)


def parse_integration_name(text: str) -> str:
    """Return the name in NFC and trimmed.

    Raises: InvalidIntegration unless it is one line of 1 to 255 code points.
    """
    return parse_name(text, max_length=MAX_LINE_LENGTH, error=InvalidIntegration)


def _to_names(names: Iterable[str]) -> frozenset[str]:
    require_type(Iterable, refused_names=names)
    return frozenset(names)


def _to_mapping(names: Mapping[FieldId, SetName]) -> Mapping[FieldId, SetName]:
    require_type(Mapping, names=names)
    return MappingProxyType(dict(sorted(names.items())))


@frozen(kw_only=True)
class IntegrationDraft:
    """The input to create an integration.

    Raises: InvalidIntegration if the name is invalid, ValueError if `esp` can't be the name of
    an ESP.
    """

    esp: Esp = field(converter=Esp)
    name: str = field(converter=parse_integration_name)
    created_at: datetime = field(converter=whole_milliseconds)

    def with_id(
        self, integration_id: IntegrationId, organization_id: OrganizationId
    ) -> Integration:
        """Return the integration to store under the id that the storage assigns."""
        return Integration(
            id=integration_id,
            organization_id=organization_id,
            esp=self.esp,
            name=self.name,
            created_at=self.created_at,
        )


@frozen
class SetName:
    """The name that was set for a field at one integration.

    `custom` is true if it is the name of a custom field although the ESP has a standard field with
    the same name.
    """

    name: str
    custom: bool = False


@frozen(kw_only=True)
class Integration(IntegrationDraft):
    """An organization's named connection to one ESP. It does not contain credentials.

    `last_synced_at` is the time when the last successful run began, even if it changed nothing.
    `refused_names` are the names of the fields that this run refused. `names` are those that were
    set for fields; a field that is deleted and restored has its name again.
    """

    id: IntegrationId
    organization_id: OrganizationId
    last_synced_at: datetime | None = field(converter=optional(whole_milliseconds), default=None)
    refused_names: frozenset[str] = field(converter=_to_names, default=frozenset())
    names: Mapping[FieldId, SetName] = field(converter=_to_mapping, factory=dict, hash=False)

    @property
    def channel(self) -> Channel:
        """The channel of its sync runs."""
        return sync_channel(self.id)

    def filter_fields(self, fields: Iterable[RecipientField]) -> tuple[RecipientField, ...]:
        """Return the fields that came from this integration, in their order."""
        return tuple(each for each in fields if self.channel.owns(each.origin))

    def renamed(self, name: str) -> Integration:
        """Return this integration with another name.

        Raises: InvalidIntegration if the name is invalid.
        """
        return evolve(self, name=name)

    def synced(self, at: datetime, refused_names: Iterable[str] = ()) -> Integration:
        """Return this integration after a sync run that began at this time."""
        return evolve(self, last_synced_at=at, refused_names=refused_names)


@frozen
class NamedField(Generic[N]):
    """A field with its name at an integration. A `Change` of a name is one of these.

    `esp_name` is the `SetName` that was set, or the `EspName` that the field has.
    """

    field: RecipientField
    integration: Integration
    esp_name: N

    @property
    def key(self) -> FieldKey:
        """The key of the field."""
        return self.field.key
