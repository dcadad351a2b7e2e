"""ESP names: what fields are called at each integration, and the codes that follow."""

from .changes import NameChange, plan_name_changes
from .codes import FieldCode, FieldCodes
from .conventions import CONVENTIONS, Convention
from .esp_names import EspName, EspNames, NameFrom, NameState, Target
from .setting import set_names

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
    "Target",
    "plan_name_changes",
    "set_names",
]
