"""The errors of integrations with email service providers."""

from __future__ import annotations

from typing import ClassVar

from ..errors import InvalidInput, RecipientFieldsError, Rule
from ..identity import FieldId

__all__ = [
    "EmptyReport",
    "EspFieldTaken",
    "EspRefused",
    "EspUnavailable",
    "IntegrationChanged",
    "IntegrationNotFound",
    "IntegrationRequired",
    "InvalidIntegration",
    "InvalidNames",
    "NoFieldSource",
    "SyncOvertaken",
]


class InvalidIntegration(InvalidInput):
    """The values for an integration break its rules."""


class InvalidNames(InvalidInput):
    """The names for fields at an integration break a rule. The paths begin with the field's key."""


class IntegrationNotFound(RecipientFieldsError):
    """The organization has no such integration. Those of other organizations count as missing."""

    rule: ClassVar[Rule] = Rule.UNKNOWN_VALUE
    _message = "There is no such integration in this organization."


class SyncOvertaken(RecipientFieldsError):
    """A sync run that began later has already been stored, so the data of this one is outdated."""

    _message = "Another sync of this integration began later and has finished."


class EmptyReport(RecipientFieldsError):
    """The report has no fields, and the caller has not permitted that."""

    _message = "The report has no fields, so nothing was changed."


class EspFieldTaken(RecipientFieldsError):
    """A removed field can't be restored, because another one is for the same field of the ESP."""

    def __init__(self, field_id: FieldId, existing_id: FieldId) -> None:
        self.existing_id = existing_id
        super().__init__(
            f"Field {existing_id} is for the same field of the email service provider, so field"
            f" {field_id} can't be restored."
        )


class IntegrationChanged(RecipientFieldsError):
    """The integration's fields differ from those that the caller expects."""

    _message = "The integration's fields have changed. Read them again and retry."


class IntegrationRequired(RecipientFieldsError):
    """The organization has several integrations with this ESP, so the caller must choose one."""

    rule: ClassVar[Rule] = Rule.REQUIRED


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
