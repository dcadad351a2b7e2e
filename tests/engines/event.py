"""The values of a recipient together with event data."""

from __future__ import annotations

from collections.abc import Mapping


class Sent(dict[str, object]):
    """The values of a recipient, by ESP field name, with the data of the event."""

    def __init__(self, values: Mapping[str, object], event: Mapping[str, object]) -> None:
        super().__init__(values)
        self.event = event


def event_of(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the event data, which is empty without an event."""
    return values.event if isinstance(values, Sent) else {}
