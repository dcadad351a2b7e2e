"""Values that emails can show without a field: links of the ESP, the sender, and the year."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

__all__ = ["SystemValue"]


class SystemValue(Enum):
    """What an ESP shows by itself. The values are the names in content: `{{link.unsubscribe}}`."""

    UNSUBSCRIBE = "link.unsubscribe"
    """The address of the page on which recipients leave the list or channel of the email."""
    UNSUBSCRIBE_ALL = "link.unsubscribe_all"
    """The address of the page on which recipients refuse all emails."""
    PREFERENCES = "link.preferences"
    """The address of the page on which recipients choose emails, or change their data."""
    VIEW_IN_BROWSER = "link.view_in_browser"
    """The address of the email as a web page."""
    SENDER_NAME = "sender.name"
    """The name of the company."""
    SENDER_ADDRESS = "sender.address"
    """The postal address of the company, on one line."""
    YEAR = "today.year"
    """The year in which the ESP sends the email, with four digits."""

    def __str__(self) -> str:
        """Return the code in content."""
        return f"{{{{{self.value}}}}}"


SYSTEM_VALUES: Mapping[str, SystemValue] = {value.value: value for value in SystemValue}
"""The values by their names."""
