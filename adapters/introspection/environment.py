"""The validator with the credentials in environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from recipient_fields.application.environment import (
    VARIABLE_PREFIX,
    MissingCredentials,
    UnusableCredentials,
    read_variables,
)
from recipient_fields.domain import RecipientFieldsError

from .issuer import basic, bearer
from .settings import introspection_at
from .validator import IntrospectionKeyValidator

_CLIENT_ID, _CLIENT_SECRET, _TOKEN = CREDENTIAL_VARIABLES = tuple(
    f"{VARIABLE_PREFIX}INTROSPECTION_{name}" for name in ("CLIENT_ID", "CLIENT_SECRET", "TOKEN")
)


class InvalidIntrospectionUrl(RecipientFieldsError):
    """The URL, or a setting in it, is invalid."""


def open_validator(url: str, environment: Mapping[str, str]) -> IntrospectionKeyValidator:
    """Return the validator for the URL of an issuer's introspection endpoint.

    Raises: InvalidIntrospectionUrl if the URL or a setting in it is invalid; MissingCredentials if
    the variables with the credentials are not set; UnusableCredentials if these contradict each
    other or contain control characters.
    """
    authorization = _authorization(read_variables(CREDENTIAL_VARIABLES, environment))
    try:
        return introspection_at(url, authorization)
    except ValueError as error:
        raise InvalidIntrospectionUrl(str(error)) from None


def _authorization(values: Mapping[str, str]) -> str:
    if _TOKEN in values and len(values) > 1:
        raise UnusableCredentials(f"Set either {_TOKEN}, or {_CLIENT_ID} and {_CLIENT_SECRET}.")
    missing = [name for name in (_CLIENT_ID, _CLIENT_SECRET) if name not in values]
    if _TOKEN not in values and missing:
        raise MissingCredentials("introspect tokens", missing, alternative=_TOKEN)
    try:
        if _TOKEN in values:
            return bearer(values[_TOKEN])
        return basic(values[_CLIENT_ID], values[_CLIENT_SECRET])
    except ValueError as error:
        raise UnusableCredentials(str(error)) from None
