"""ESP names: what fields are called at each integration, and the codes that follow."""

from .changes import NameChange, plan_name_changes
from .codes import FieldCode, FieldCodes
from .conventions import CONVENTIONS, Convention
from .creation import explain_creation
from .esp_names import EspName, EspNames, NameFrom, NameState, Target
from .plans import (
    DefinedNames,
    NamesPlan,
    NameStep,
    names_by_key,
    plan_names,
    plan_saved_names,
)
from .setting import set_names

__all__ = [
    "CONVENTIONS",
    "Convention",
    "DefinedNames",
    "EspName",
    "EspNames",
    "FieldCode",
    "FieldCodes",
    "NameChange",
    "NameFrom",
    "NameState",
    "NameStep",
    "NamesPlan",
    "Target",
    "explain_creation",
    "names_by_key",
    "plan_name_changes",
    "plan_names",
    "plan_saved_names",
    "set_names",
]
