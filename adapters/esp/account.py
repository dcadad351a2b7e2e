"""An account at an ESP, from environment variables or stored values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from inspect import Parameter, signature
from typing import Any, cast

from attrs import Attribute, AttrsInstance, evolve, fields_dict, frozen

from recipient_fields.application import (
    AccountParameter,
    EspAccounts,
    EspFieldSource,
    NamedAccount,
)
from recipient_fields.application.environment import (
    MissingCredentials,
    read_variables,
)
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import (
    EspRefused,
    EspUnavailable,
    NoFieldSource,
    ReportedField,
)

from ..network import parse_secure_url
from . import ADVICE, SOURCES
from .api import origin, variable
from .run import DEFAULT_LIMITS, Limits

_ADDRESS = frozenset({"url", "subdomain"})
"""The parameters that select the host to which the secrets are sent."""
_SHORT_WORDS = {"api": "API", "id": "ID", "url": "URL"}
_TEST_LIMITS = Limits(connect_timeout=5, read_timeout=15, run_timeout=20, attempts=1)
"""A person waits for a test, and it occupies a thread of the server."""


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


def _attributes(esp: str) -> Mapping[str, Attribute[Any]]:
    return fields_dict(cast("type[AttrsInstance]", SOURCES[esp]))


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


@frozen
class Accounts(EspAccounts):
    """The accounts at the hosts of ESPs, and at the `hosts` that the operator permits.

    These are host names with the port, if it is not that of the scheme. Other hosts must match the
    pattern in the profile of the ESP, and resolve to public addresses only.
    """

    _hosts: Collection[str] = ()

    def parameters(self, esp: Esp, /) -> tuple[AccountParameter, ...]:
        required, optional = account_variables(esp)
        return tuple(
            AccountParameter(
                name=name,
                label=" ".join(_SHORT_WORDS.get(word, word) for word in name.split("_")),
                variable=variable,
                secret=not _attributes(esp)[name].repr,
                required=name in required,
                is_address=name in _ADDRESS,
            )
            for name, variable in (*required.items(), *optional.items())
        )

    def advice(self, esp: Esp, /) -> str:
        return ADVICE[esp]

    def open(
        self, esp: Esp, values: Mapping[str, str], /, *, is_test: bool = False
    ) -> EspFieldSource:
        parameters = self.parameters(esp)
        if not parameters:
            raise NoFieldSource(BUILT_IN.title(esp))
        is_permitted = "url" in values and self._is_permitted(esp, values["url"])
        limits = evolve(_TEST_LIMITS if is_test else DEFAULT_LIMITS, public_only=not is_permitted)
        known = {each.name: values[each.name] for each in parameters if each.name in values}
        if is_test and "pages" in _attributes(esp):
            known["pages"] = "1"
        labels = {each.variable: f"the {each.label}" for each in parameters}
        with _Messages(labels):
            source = SOURCES[esp](**known, limits=limits)
        if isinstance(source, NamedAccount):
            return _NamedSource(source=source, labels=labels)
        return _Source(source=source, labels=labels)

    def _is_permitted(self, esp: Esp, text: str) -> bool:
        """Return whether the operator permits the host. Otherwise, it is one of the ESP.

        Raises: EspRefused if it is not.
        """
        url = parse_secure_url(text)
        if url is not None and (url.netloc or "").lower() in self._hosts:
            return True
        pattern = BUILT_IN[esp].api_hosts or ""
        if (
            url is None
            or origin(url) != ("https", url.host, 443)
            or re.fullmatch(pattern, url.host or "") is None
        ):
            raise EspRefused(
                f"The URL is not one of the API of {BUILT_IN.title(esp)}, or it does not begin with"
                " https://. Ask the operator to permit its host with --esp-hosts."
            )
        return False


@frozen
class _Messages:
    """A context manager whose errors call the variables by the labels of a form."""

    _labels: Mapping[str, str]

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        if isinstance(error, (EspRefused, EspUnavailable)):
            message = str(error)
            for name in sorted(self._labels, key=len, reverse=True):
                message = message.replace(name, self._labels[name])
            raise type(error)(message) from None


@frozen
class _Source(EspFieldSource):
    """A source whose errors call the variables by the labels of a form."""

    _source: EspFieldSource
    _labels: Mapping[str, str]

    def fields(self) -> Iterator[ReportedField]:
        with _Messages(self._labels):
            yield from self._source.fields()


@frozen
class _NamedSource(_Source):
    """The same for an account with a name."""

    _source: NamedAccount

    def account_name(self) -> str:
        with _Messages(self._labels):
            return self._source.account_name()
