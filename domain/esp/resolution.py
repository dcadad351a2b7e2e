"""The fields that code for one integration can use."""

from __future__ import annotations

from collections.abc import Iterable

from ..fields.field import RecipientField
from ..identity import IntegrationId

__all__ = ["exportable_fields"]


def exportable_fields(
    fields: Iterable[RecipientField], integration_id: IntegrationId | None
) -> tuple[RecipientField, ...]:
    """Return the fields that can be used in one email: all but those of other integrations.

    The insertion codes of other integrations can be in the dialect of another ESP.
    """
    return tuple(field for field in fields if field.origin.integration_id in {None, integration_id})
