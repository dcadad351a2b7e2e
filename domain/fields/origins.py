"""Origins (where a field came from) and channels (the kinds of callers)."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from ..errors import InvalidField, Rule, Violation
from ..identity import IntegrationId
from ..text import character_violation
from .values import MAX_SAFE_INTEGER

__all__ = [
    "ADMINISTRATOR",
    "API",
    "MAX_ESP_FIELD_NAME_LENGTH",
    "Channel",
    "Origin",
    "Source",
    "sync_channel",
]

MAX_ESP_FIELD_NAME_LENGTH = 255


class Source(Enum):
    """The three kinds of origin. The values are the names in documents and columns."""

    API = "api"
    MANUAL = "manual"
    INTEGRATION = "integration"


@frozen
class Origin:
    """Where a field came from.

    If the source is an integration, `integration_id` (1 to 2^53-1) and `esp_field_name` (the ESP's
    own name, 1 to 255 characters, verbatim) are required. Otherwise both must be None.

    Raises: InvalidField if one of the two is missing, not applicable or malformed.
    """

    source: Source
    integration_id: IntegrationId | None = None
    esp_field_name: str | None = None

    def __attrs_post_init__(self) -> None:
        synced = self.source is Source.INTEGRATION
        for member in ("integration_id", "esp_field_name"):
            if synced is (getattr(self, member) is None):
                rule, verb = (
                    (Rule.REQUIRED, "requires") if synced else (Rule.NOT_APPLICABLE, "can't have")
                )
                message = (
                    f"A field with the source {self.source.value} {verb} an integration id and"
                    " an ESP field name."
                )
                raise InvalidField([Violation(rule, message, (member,))])
        if self.integration_id is not None and not 1 <= self.integration_id <= MAX_SAFE_INTEGER:
            message = "An integration's id is between 1 and 9007199254740991."
            raise InvalidField([Violation(Rule.OUT_OF_RANGE, message, ("integration_id",))])
        if self.esp_field_name is not None:
            _require_storable(self.esp_field_name)


@frozen
class Channel:
    """The kind of caller: the API, an administrator, or a sync run of one integration.

    Use `API`, `ADMINISTRATOR` or `sync_channel(integration_id)`.
    """

    source: Source
    integration_id: IntegrationId | None = None

    @property
    def phrase(self) -> str:
        """The channel as part of a sentence: changed `through the API`."""
        return _PHRASES[self.source]

    def owns(self, origin: Origin) -> bool:
        """Return whether fields of this origin come through this channel."""
        return (self.source, self.integration_id) == (origin.source, origin.integration_id)

    def origin(self, esp_field_name: str | None = None) -> Origin:
        """Return the origin of a field that is created through this channel."""
        return Origin(self.source, self.integration_id, esp_field_name)


API = Channel(Source.API)
"""The channel of programs with an API key."""
ADMINISTRATOR = Channel(Source.MANUAL)
"""The channel of administrators. They can change manual fields."""


def sync_channel(integration_id: IntegrationId) -> Channel:
    """Return the channel of this integration's sync runs."""
    return Channel(Source.INTEGRATION, integration_id)


def _require_storable(esp_field_name: str) -> None:
    violation = character_violation(esp_field_name)
    if not 1 <= len(esp_field_name) <= MAX_ESP_FIELD_NAME_LENGTH:
        rule = Rule.TOO_LONG if esp_field_name else Rule.BLANK
        message = f"An ESP field name has 1 to {MAX_ESP_FIELD_NAME_LENGTH} characters."
        violation = Violation(rule, message)
    if violation is not None:
        raise InvalidField([violation.prefixed("esp_field_name")])


_PHRASES = {
    Source.API: "through the API",
    Source.MANUAL: "by administrators",
    Source.INTEGRATION: "by this sync",
}
