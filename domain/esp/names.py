"""ESP names: what a field is called at one target, and whether it exists there."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from attrs import frozen

from ..choices import Choice
from ..fields.protocol import Field
from ..identity import IntegrationId
from .esps import Esp

__all__ = ["Bare", "EspName", "NameFrom", "NameState"]

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
