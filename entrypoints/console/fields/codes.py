"""The codes of a field: how content and conditions refer to it at each integration and ESP."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from recipient_fields.domain import RecipientField
from recipient_fields.domain.esp import (
    PROFILES,
    EspName,
    FieldCode,
    FieldCodes,
    Integration,
    NameFrom,
    NameState,
)


class ShownState(Enum):
    """A state as a word, the tone of its badge, and its icon."""

    label: str
    tone: str
    icon: str

    FOUND = "Found", "ok", "check"
    AMBIGUOUS = "Ambiguous", "warn", "question"
    MISSING = "Missing", "warn", "warning"
    ASSUMED = "Assumed", "", "question"
    NONE = "No name", "warn", "warning"
    OWN = "Own code", "ok", "check"

    def __init__(self, label: str, tone: str, icon: str) -> None:
        self.label = label
        self.tone = tone
        self.icon = icon


_STATES: Mapping[NameState | None, ShownState] = {
    NameState.FOUND: ShownState.FOUND,
    NameState.AMBIGUOUS: ShownState.AMBIGUOUS,
    NameState.MISSING: ShownState.MISSING,
    NameState.UNKNOWN: ShownState.ASSUMED,
    None: ShownState.OWN,
}


def shown_state(name: EspName | None) -> ShownState:
    """Return the state of an ESP name as pages show it. None means that there is no name."""
    return ShownState.NONE if name is None else _STATES[name.state]


@frozen(kw_only=True)
class CodeRow:
    """The codes of a field at one integration, or at an ESP without one."""

    code: FieldCode
    title: str
    integration: Integration | None

    @property
    def state(self) -> ShownState:
        """The state of the name, as pages show it."""
        if self.code.name_from is NameFrom.FIELD:
            return ShownState.OWN
        return shown_state(self.code.esp_name)

    @property
    def advice(self) -> str:
        """What helps if the name is not certain, or an empty text."""
        name = self.code.esp_name
        if name is None or self.integration is None or self.code.name_from is NameFrom.FIELD:
            return ""
        if self.code.similar_names:
            return self.code.describe()
        if name.state is NameState.MISSING:
            creation = self.code.explain_creation()
            return f"The last sync found no field {name.name}. {creation} Then sync again."
        if name.state is NameState.UNKNOWN and self.integration.last_synced_at is None:
            return "The integration was never synced, so this name is assumed. Sync it."
        if name.state is NameState.UNKNOWN:
            return f"The API of {self.title} does not list every field, so this name is assumed."
        return ""


def code_rows(codes: FieldCodes, field: RecipientField) -> tuple[list[CodeRow], list[CodeRow]]:
    """Return the rows of the integrations, and those of the ESPs without an integration."""
    connected: list[CodeRow] = []
    others: list[CodeRow] = []
    for code in codes.list_codes(field):
        integration = None
        if code.integration_id is not None:
            integration = codes.names.integrations[code.integration_id]
        row = CodeRow(code=code, title=PROFILES[code.esp].title, integration=integration)
        (others if integration is None else connected).append(row)
    return connected, others
