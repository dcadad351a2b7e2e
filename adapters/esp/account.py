"""An account at an ESP, from environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature

from recipient_fields.application import EspFieldSource
from recipient_fields.application.environment import (
    MissingCredentials,
    read_variables,
)
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import NoFieldSource

from . import SOURCES
from .api import variable


def account_variables(esp: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the required and the optional variables of an ESP, by the source's parameters.

    Their names contain the ESP and the parameter, such as RECIPIENT_FIELDS_BRAZE_URL.
    """
    required, optional = dict[str, str](), dict[str, str]()
    parameters = signature(SOURCES[esp]).parameters if esp in SOURCES else {}
    for name, parameter in parameters.items():
        if name != "limits":
            variables = required if parameter.default is Parameter.empty else optional
            variables[name] = variable(esp, name)
    return required, optional


def open_source(esp: Esp, environment: Mapping[str, str]) -> EspFieldSource:
    """Return the source for the account with the credentials in these variables.

    Raises: NoFieldSource if the ESP has no such API; MissingCredentials if a required variable is
    not set; UnusableCredentials if a value contains control characters.
    """
    required, optional = account_variables(esp)
    if not required:
        raise NoFieldSource(BUILT_IN.title(esp))
    variables = {**required, **optional}
    values = read_variables(variables.values(), environment)
    missing = [variable for variable in required.values() if variable not in values]
    if missing:
        raise MissingCredentials(f"read the fields of {BUILT_IN.title(esp)}", missing)
    return SOURCES[esp](
        **{name: values[variable] for name, variable in variables.items() if variable in values}
    )
