"""The names of email service providers (ESPs), and those of fields at them."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, Self, TypeAlias

from attrs import frozen

from ..arguments import require_type
from ..choices import Choice
from ..fields.protocol import Field
from ..identity import IntegrationId

__all__ = ["PORTABLE", "Bare", "Esp", "EspName", "NameFrom", "NameState"]

PORTABLE: Final = "portable"
"""The name of the language of content, beside those of ESPs."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Esp(str):
    """The name of an ESP, such as `braze`: a letter a-z, then up to 62 of a-z, 0-9 and `_`.

    Its profile and the integrations with it have this name. Whether there is a profile is not
    checked.

    Raises: ValueError if the text can't be a name.
    """

    __slots__ = ()

    def __new__(cls, esp: str) -> Self:  # noqa: D102 (the class describes it)
        if isinstance(esp, cls):
            return esp
        require_type(cls | str, esp=esp)
        if _NAME.fullmatch(esp) is None:
            raise ValueError(f"{esp!r} is no Esp. Use a name such as braze.")
        return super().__new__(cls, esp)

    def __repr__(self) -> str:
        return f"Esp({super().__repr__()})"


Target: TypeAlias = Esp | IntegrationId
"""An integration, or an ESP with which the organization has none."""


class Bare(Choice):
    """What a name in a template means that can be that of a field or of event data."""

    FIELD = "field"
    EVENT = "event"


class NameFrom(Enum):
    """Where an ESP name comes from. The values are the names in documents."""

    FIELD = "field"
    INTEGRATION = "integration"
    SYNC = "sync"
    CONVENTION = "convention"


class NameState(Enum):
    """Whether an integration has a field with an ESP name. The values are the names in documents.

    FOUND: the last sync listed it. AMBIGUOUS: the last sync listed several names for the key, such
    as `Town` and `TOWN`, and none of them is exactly the key or the name by the convention.
    MISSING: the ESP lists all its fields, and not this one. UNKNOWN: no sync has run, or the API of
    the ESP does not list every field.
    """

    FOUND = "found"
    AMBIGUOUS = "ambiguous"
    MISSING = "missing"
    UNKNOWN = "unknown"


@frozen(kw_only=True)
class EspName:
    """What a field is called at one integration.

    `standard` is true for one of the ESP's own fields, if its dialect writes them differently from
    custom fields. `state` is None if the name comes from the field's own code. `counterpart` is the
    integration's synced field with this name, if there is one and the field is not itself.
    """

    name: str
    standard: bool = False
    name_from: NameFrom
    state: NameState | None
    counterpart: Field | None = None
