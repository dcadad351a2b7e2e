"""Where a field comes from, and who is asking."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from .errors import InvalidField, Rule, Violation
from .identity import IntegrationId
from .text import unstorable
from .values import LARGEST_INTEGER

LONGEST_ESP_FIELD_NAME = 255


class Source(Enum):
    """The three kinds of origin, by their wire names."""

    API = "api"
    MANUAL = "manual"
    INTEGRATION = "integration"


@frozen
class Origin:
    """Where a field came from. An integration's field, and no other, carries the ESP's own name.

    InvalidField where `integration_id` (1 to 2^53-1) or `esp_field_name` (1 to 255 characters,
    verbatim) is missing, superfluous or malformed.
    """

    source: Source
    integration_id: IntegrationId | None = None
    esp_field_name: str | None = None

    def __attrs_post_init__(self) -> None:
        synced = self.source is Source.INTEGRATION
        for member in ("integration_id", "esp_field_name"):
            if synced is (getattr(self, member) is None):
                rule = Rule.REQUIRED if synced else Rule.NOT_APPLICABLE
                message = "Integration fields, and no others, have an integration and an ESP name."
                raise InvalidField([Violation(rule, message, (member,))])
        if self.integration_id is not None and not 1 <= self.integration_id <= LARGEST_INTEGER:
            message = "An integration's id is between 1 and 9007199254740991."
            raise InvalidField([Violation(Rule.OUT_OF_RANGE, message, ("integration_id",))])
        if self.esp_field_name is not None:
            _require_storable(self.esp_field_name)


@frozen
class Channel:
    """Who is asking: the HTTP API, an administrator, or a sync run of one integration.

    Take `API`, `ADMINISTRATOR` or `sync_of(integration_id)`.
    """

    source: Source
    integration_id: IntegrationId | None = None

    @property
    def by(self) -> str:
        """The channel as a sentence names it: changed `through the API`."""
        return _BY[self.source]

    def owns(self, origin: Origin) -> bool:
        """Did a field of that origin come through this channel?"""
        return (self.source, self.integration_id) == (origin.source, origin.integration_id)

    def origin(self, esp_field_name: str | None = None) -> Origin:
        """The origin of a field made through this channel."""
        return Origin(self.source, self.integration_id, esp_field_name)


API = Channel(Source.API)
ADMINISTRATOR = Channel(Source.MANUAL)


def sync_of(integration_id: IntegrationId) -> Channel:
    """The channel of a sync run of that integration."""
    return Channel(Source.INTEGRATION, integration_id)


def _require_storable(esp_field_name: str) -> None:
    violation = unstorable(esp_field_name)
    if not 1 <= len(esp_field_name) <= LONGEST_ESP_FIELD_NAME:
        rule = Rule.TOO_LONG if esp_field_name else Rule.BLANK
        violation = Violation(rule, f"An ESP's name has 1 to {LONGEST_ESP_FIELD_NAME} characters.")
    if violation is not None:
        raise InvalidField([violation.under("esp_field_name")])


_BY = {
    Source.API: "through the API",
    Source.MANUAL: "by administrators",
    Source.INTEGRATION: "by this sync",
}
