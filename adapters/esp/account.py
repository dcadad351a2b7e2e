"""An account at an ESP, from environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from recipient_fields.application import EspFieldSource
from recipient_fields.application.environment import (
    MissingCredentials,
    read_variables,
)
from recipient_fields.domain.esp import PROFILES, Esp
from recipient_fields.domain.integrations import NoFieldSource

from . import SOURCES
from .api import variable

_PARAMETERS: Mapping[Esp, tuple[str, str]] = {
    Esp.SALESFORCE: ("client_id client_secret subdomain data_extension", "account_id url"),
    Esp.MAILCHIMP: ("api_key list_id", "url"),
    Esp.KLAVIYO: ("api_key", "pages url"),
    Esp.BRAZE: ("api_key url", ""),
    Esp.HUBSPOT: ("access_token", "url"),
    Esp.SENDGRID: ("api_key", "url"),
    Esp.ITERABLE: ("api_key", "url"),
    Esp.BREVO: ("api_key", "url"),
    Esp.ACTIVECAMPAIGN: ("api_key url", ""),
}
"""The required and the optional parameters of each source."""


def account_variables(esp: Esp) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the required and the optional variables of an ESP, by the source's parameters.

    Their names contain the ESP and the parameter, such as RECIPIENT_FIELDS_BRAZE_URL.
    """
    required, optional = (
        {name: variable(esp, name) for name in names.split()}
        for names in _PARAMETERS.get(esp, ("", ""))
    )
    return required, optional


def open_source(esp: Esp, environment: Mapping[str, str]) -> EspFieldSource:
    """Return the source for the account with the credentials in these variables.

    Raises: NoFieldSource if the ESP has no such API; MissingCredentials if a required variable is
    not set; UnusableCredentials if a value contains control characters.
    """
    required, optional = account_variables(esp)
    if not required:
        raise NoFieldSource(PROFILES[esp].title)
    variables = {**required, **optional}
    values = read_variables(variables.values(), environment)
    missing = [variable for variable in required.values() if variable not in values]
    if missing:
        raise MissingCredentials(f"read the fields of {PROFILES[esp].title}", missing)
    return SOURCES[esp](
        **{name: values[variable] for name, variable in variables.items() if variable in values}
    )
