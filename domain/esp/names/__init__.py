"""ESP names: what fields are called at each integration, and the codes that follow."""

from .changes import NameChange, plan_name_changes
from .codes import FieldCode, FieldCodes
from .conventions import CONVENTIONS, Convention
from .esp_names import EspName, EspNames, NamedIntegration, NameFrom, NameState, SetName, Target

__all__ = [
    "CONVENTIONS",
    "Convention",
    "EspName",
    "EspNames",
    "FieldCode",
    "FieldCodes",
    "NameChange",
    "NameFrom",
    "NameState",
    "NamedIntegration",
    "SetName",
    "Target",
    "plan_name_changes",
]
