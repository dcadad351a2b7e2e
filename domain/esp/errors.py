"""What can go wrong with an email service provider, as facts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from attrs import frozen

from ..errors import InvalidInput, RecipientFieldsError


class NoSafeForm(InvalidInput):
    """The dialect has no safe way to write this name or this default; `violations` say why."""


class InvalidIntegration(InvalidInput):
    """What is asked of an integration breaks its rules."""


class IntegrationNotFound(RecipientFieldsError):
    """The organization has no such integration. Another organization's is not found either."""

    def __init__(self) -> None:
        super().__init__("There is no such integration in this organization.")


class SyncOvertaken(RecipientFieldsError):
    """A run that began later has been stored already; what this one knows is older."""

    def __init__(self) -> None:
        super().__init__("Another sync of this integration began later and has finished.")


class IntegrationChanged(RecipientFieldsError):
    """The integration has other fields than the caller believes."""

    def __init__(self) -> None:
        super().__init__("The integration's fields have changed meanwhile. Look at them again.")


class EspUnavailable(RecipientFieldsError):
    """The ESP failed, limits the rate of requests, or did not answer in time. Retry later."""


class EspRefused(RecipientFieldsError):
    """The ESP accepts neither the credentials nor the request as they are. The message says what.

    No message repeats a credential.
    """


class Obstacle(Enum):
    """Why a placeholder can't be replaced; the values are sentences."""

    UNKNOWN_FIELD = "There is no field with this key."
    NOT_INSERTABLE = "This field is not insertable."
    NO_INSERTION_CODE = "This field has no insertion code."
    VARIABLE_TAKEN = "Another field of this content sets the same variable."


@frozen
class Placeholder:
    """Where content asks for a field: `offset` from 0, `line` and `column` from 1, in characters.

    Lines end with a line feed.
    """

    key: str
    offset: int
    line: int
    column: int


@frozen
class RefusedPlaceholder:
    """A placeholder that can't be replaced, why, and the key that was probably meant."""

    placeholder: Placeholder
    obstacle: Obstacle
    suggestion: str | None = None


class ContentNotExportable(RecipientFieldsError):
    """The content asks for fields that can't be inserted; all places are in `refused`, in order."""

    def __init__(self, refused: Iterable[RefusedPlaceholder]) -> None:
        self.refused: tuple[RefusedPlaceholder, ...] = tuple(refused)
        super().__init__(" ".join(_sentence(each) for each in self.refused))


def _sentence(refused: RefusedPlaceholder) -> str:
    at = refused.placeholder
    return f"Line {at.line}, column {at.column}, {at.key}: {refused.obstacle.value}"
