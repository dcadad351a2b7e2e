"""The settings of a validator in the query of its URL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from attrs import fields_dict

from recipient_fields.application.environment import (
    VARIABLE_PREFIX,
    MissingCredentials,
    UnusableCredentials,
    read_variables,
)
from recipient_fields.domain import RecipientFieldsError

from .issuer import DEFAULT_TIMEOUT, Issuer, basic, bearer
from .rules import TokenRules
from .validator import DEFAULT_CACHE_TOKENS, IntrospectionKeyValidator

_DECIMAL = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?")
_RULES = fields_dict(TokenRules).keys()
_NUMBERS = {"timeout", "cache_seconds", "cache_tokens"}


def introspection_at(url: str, authorization: str) -> IntrospectionKeyValidator:
    """Return the validator for the URL of an endpoint. The query contains the validator's settings.

    `authorization` is the header for the endpoint: use `basic` or `bearer`. Raises: ValueError if a
    setting is unknown or invalid; the message does not repeat its value.
    """
    endpoint, _, query = url.partition("?")
    values = _parse(query)
    numbers = {name: _number(name, text) for name, text in values.items() if name in _NUMBERS}
    return IntrospectionKeyValidator(
        Issuer(
            url=endpoint,
            authorization=authorization,
            timeout=numbers.get("timeout", DEFAULT_TIMEOUT),
        ),
        TokenRules(**{name: text for name, text in values.items() if name in _RULES}),
        cache_seconds=numbers.get("cache_seconds", 0),
        cache_tokens=_whole("cache_tokens", numbers.get("cache_tokens", DEFAULT_CACHE_TOKENS)),
    )


def _parse(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise ValueError("Invalid settings: write them like ?audience=fields&timeout=1") from None
    values = dict(pairs)
    if not values.keys() <= _RULES | _NUMBERS:
        known = ", ".join(sorted(_RULES | _NUMBERS))
        raise ValueError(f"The URL has an unknown setting. The settings are {known}.")
    if len(values) < len(pairs) or not all(value.isprintable() for value in values.values()):
        raise ValueError("A setting of the URL is repeated, or contains control characters.")
    for name, value in values.items():
        if not value.strip():
            raise ValueError(f"The setting {name} is empty.")
    return values


def _number(name: str, text: str) -> float:
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"Invalid setting {name}: use a number, such as 1.5.")
    return float(text)


def _whole(name: str, number: float) -> int:
    if not float(number).is_integer():
        raise ValueError(f"Invalid setting {name}: use a whole number.")
    return int(number)


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
