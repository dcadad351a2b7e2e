"""The errors of integrations with email service providers."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from attrs import frozen

from ..errors import InvalidInput, RecipientFieldsError


class NoSafeForm(InvalidInput):
    """The dialect has no safe form for a name or a default. `violations` contains the reasons."""


class NotExpressible(RecipientFieldsError):
    """The language of the ESP can't express a condition. The message is the reason."""


class InvalidIntegration(InvalidInput):
    """The values for an integration break its rules."""


class IntegrationNotFound(RecipientFieldsError):
    """The organization has no such integration. Those of other organizations count as missing."""

    def __init__(self) -> None:
        super().__init__("There is no such integration in this organization.")


class SyncOvertaken(RecipientFieldsError):
    """A sync run that began later has already been stored, so the data of this one is outdated."""

    def __init__(self) -> None:
        super().__init__("Another sync of this integration began later and has finished.")


class IntegrationChanged(RecipientFieldsError):
    """The integration's fields differ from those that the caller expects."""

    def __init__(self) -> None:
        super().__init__("The integration's fields have changed. Read them again and retry.")


class NoFieldSource(RecipientFieldsError):
    """The API of the ESP does not list its fields."""

    def __init__(self, title: str) -> None:
        super().__init__(f"The API of {title} does not list fields. Sync them from a report.")


class EspUnavailable(RecipientFieldsError):
    """The ESP failed, limits the rate of requests, or did not respond in time. Retry later."""


class EspRefused(RecipientFieldsError):
    """The ESP rejected the credentials or the request. A retry without a change fails again.

    The message states the reason. It never contains a credential.
    """


class Obstacle(Enum):
    """The reason why a placeholder can't be replaced. The values are messages."""

    UNKNOWN_FIELD = "There is no field with this key."
    NOT_INSERTABLE = "This field is not insertable."
    NO_INSERTION_CODE = "This field has no insertion code."
    VARIABLE_TAKEN = "Another field of this content sets the same variable."


@frozen
class Placeholder:
    """The key and the position of a placeholder.

    `offset` counts characters from 0. `line` and `column` count from 1. Lines end with a line feed.
    """

    key: str
    offset: int
    line: int
    column: int


@frozen
class RefusedPlaceholder:
    """A placeholder that can't be replaced, the reason, and a similar key, if there is one."""

    placeholder: Placeholder
    obstacle: Obstacle
    suggestion: str | None = None


class ContentNotExportable(RecipientFieldsError):
    """Placeholders of the content can't be replaced. `refused` contains all of them, in order."""

    def __init__(self, refused: Iterable[RefusedPlaceholder]) -> None:
        self.refused: tuple[RefusedPlaceholder, ...] = tuple(refused)
        super().__init__(" ".join(_sentence(each) for each in self.refused))


def _sentence(refused: RefusedPlaceholder) -> str:
    placeholder, reason = refused.placeholder, refused.obstacle.value
    return f"Line {placeholder.line}, column {placeholder.column}, {placeholder.key}: {reason}"
