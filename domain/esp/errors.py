"""The errors of code for email service providers."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ..conditions import TextPosition
from ..errors import InvalidInput, RecipientFieldsError, Rule
from ..fields.values import FieldKey
from ..identity import IntegrationId

__all__ = [
    "MissingProfile",
    "NameProposal",
    "NoSafeForm",
    "NotExpressible",
    "NotInsertable",
]


@frozen
class NameProposal:
    """A free name with a safe form, for a field that has no name at an integration."""

    integration_id: IntegrationId
    key: FieldKey
    name: str


class NoSafeForm(InvalidInput):
    """The dialect has no safe form for a name or a default. `violations` contains the reasons."""


class MissingProfile(RecipientFieldsError):
    """The ESP of an integration has no profile, so there is no code for it."""

    rule: ClassVar[Rule] = Rule.NOT_APPLICABLE


class NotExpressible(RecipientFieldsError):
    """The language of the ESP can't express a condition. The message is the reason.

    `member` is the input that it can't express: the `condition`, or the text for `then` or `else`.
    `proposal` is a name to set, if a field of the condition has none at the integration. `position`
    is the place of the comparison that it can't express, if the condition was text.
    """

    def __init__(
        self,
        message: str,
        member: str = "condition",
        proposal: NameProposal | None = None,
        position: TextPosition | None = None,
    ) -> None:
        self.position: TextPosition | None = position
        self.member: str = member
        self.proposal: NameProposal | None = proposal
        super().__init__(message)


class NotInsertable(RecipientFieldsError):
    """There is no code that inserts a field into content. The message is the reason.

    `proposal` is a name to set, if the field has none at the integration.
    """

    def __init__(self, message: str, proposal: NameProposal | None = None) -> None:
        self.proposal: NameProposal | None = proposal
        super().__init__(message)
