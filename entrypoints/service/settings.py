"""The settings of the service, from command line options or from the environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypeAlias, get_args, get_origin

from attrs import Attribute, field, fields, frozen, resolve_types

from recipient_fields.application import DEFAULT_CATALOG_SIZE, DEFAULT_FIELD_LIMIT
from recipient_fields.application.environment import VARIABLE_PREFIX, read_secret
from recipient_fields.domain import OrganizationId, RecipientFieldsError

from ..server.addresses import authority
from ..server.limits import MAX_CONNECTIONS

MEBIBYTE = 1024 * 1024

STORED_KEYS = "stored:"
"""The URL of the key validator that uses the API keys in the storage."""

_ADDRESS = re.compile(r"(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})")
_HOST = re.compile(r"(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::0*(?P<port>[0-9]{1,5}))?/?"
)
_WEB_PORTS = {"http": "80", "https": "443"}
_MAX_PORT = 65_535
_MAX_DIGITS = 18
_TRUE = {"true", "t", "yes", "y", "on", "1"}
_FALSE = {"false", "f", "no", "n", "off", "0"}
"""The words that click accepts for a flag."""


class InvalidSettings(RecipientFieldsError):
    """One or more settings have an invalid value, or one is missing."""


class Address(NamedTuple):
    """A host and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `HOST:PORT`, with an IPv6 host in brackets."""
        return authority(self.host, self.port)

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can connect to the address."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"


class Range(NamedTuple):
    """The smallest and the largest value of a whole number."""

    least: int
    most: int | None = None
    """None: there is no limit."""


WebOrigin = NewType("WebOrigin", str)
"""The scheme and the host of an address for browsers: `https://fields.example.com`."""

Mebibytes: TypeAlias = Annotated[int, Range(1, 1_048_576)]
MebibytesOrDefault: TypeAlias = Mebibytes | None
OrganizationIds: TypeAlias = tuple[OrganizationId, ...]
HostNames: TypeAlias = tuple[str, ...]
Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
LogFormat: TypeAlias = Literal["auto", "json", "text"]


def _setting(
    help_text: str, metavar: str | None = None, *, default: object = None, secret: bool = False
) -> Any:
    """Return the attribute of a setting with the help of its option, and the name of the value.

    A secret can contain a password, so its value can be in a file.
    """
    metadata = {"help": help_text, "metavar": metavar, "secret": secret}
    return field(default=default, metadata=metadata)


@frozen(kw_only=True)
class Settings:
    """The settings of the service. Each has an option of `serve` and an environment variable."""

    storage: str = _setting(
        "The storage: sqlite:PATH, postgresql://… or memory:.",
        "URL",
        default="sqlite:recipient-fields.db",
        secret=True,
    )
    listen: Address = _setting(
        "The address to listen on. Port 0 selects a free port.",
        "HOST:PORT",
        default=Address("127.0.0.1", 8080),
    )
    admin_listen: Address | None = _setting(
        "Another address for /healthz, /readyz and /metrics, which responds even if"
        " the service is overloaded.",
        "HOST:PORT",
    )
    threads: Annotated[int, Range(1, 64)] = _setting(
        "The number of requests to process at the same time: 1 to 64.", "NUMBER", default=4
    )
    connections: Annotated[int, Range(1)] = _setting(
        "The maximum number of open client connections.", "NUMBER", default=MAX_CONNECTIONS
    )
    reuse_port: bool = _setting(
        "Share the address with other processes that use this option, for restarts"
        " without downtime.",
        default=False,
    )
    field_limit: Annotated[int, Range(0)] = _setting(
        "The maximum number of API-managed fields per organization.",
        "NUMBER",
        default=DEFAULT_FIELD_LIMIT,
    )
    catalog_size: Annotated[int, Range(1, 65_536)] = _setting(
        "The maximum size of the list of an organization's fields in MiB.",
        "MIB",
        default=DEFAULT_CATALOG_SIZE // MEBIBYTE,
    )
    history_size: MebibytesOrDefault = _setting(
        "The maximum size of each organization's history in MiB: 256 by default. The"
        " service removes the oldest records. Unless it is set, histories that were larger at"
        " an upgrade have no limit.",
        "MIB",
    )
    keys: str = _setting(
        "The validator of API keys: stored:, or introspection+https://… for the access"
        " tokens of an issuer.",
        "URL",
        default=STORED_KEYS,
    )
    cache: Annotated[int, Range(0, 65_536)] = _setting(
        "The maximum size of the response cache in MiB; 0 disables it.", "MIB", default=64
    )
    console: bool = _setting(
        "Serve the web application for administrators at /console.", default=False
    )
    console_url: WebOrigin | None = _setting(
        "The address of the console in a browser, without /console: for example"
        " https://fields.example.com. The console requires it, unless the service listens on a"
        " loopback address.",
        "URL",
    )
    esp_organizations: OrganizationIds = _setting(
        "With --console: the ids of the organizations whose admins may sync with the"
        " credentials of ESPs in the environment, for example 1,7. By default, none.",
        "IDS",
        default=(),
    )
    esp_hosts: HostNames = _setting(
        "Hosts to which the credentials of integrations can be sent, besides those of"
        " the ESPs, with a port if it is not 443: for example a proxy, esp.internal:8443.",
        "HOSTS",
        default=(),
    )
    log_level: LogLevel = _setting(
        "Minimum level to log. `info` includes one line per request.", default="info"
    )
    log_format: LogFormat = _setting(
        "The format of the log on standard error. `auto` is `text` on a terminal and"
        " `json` otherwise.",
        default="auto",
    )
    log_client_address: bool = _setting(
        "Include the client's IP address in the log line of each request.", default=False
    )
    trusted_proxies: Networks = _setting(
        "With --console or --log-client-address: the networks of the proxies whose"
        " X-Forwarded-For or Forwarded header is trusted, for example 10.0.0.0/8,::1.",
        "NETWORKS",
        default=(),
    )
    traces: bool = _setting(
        "Export OpenTelemetry traces over OTLP, as the OTEL_* variables configure. It"
        " needs the extra `traces`.",
        default=False,
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Return the settings in environment variables. An empty variable counts as not set.

        Raises: InvalidSettings if a value is invalid; the message lists every invalid value.
        UnusableCredentials if the file with a secret is not readable.
        """
        values: dict[str, Any] = {}
        messages: list[str] = []
        for setting in fields(cls):
            variable = variable_of(setting.name)
            is_secret = setting.metadata["secret"]
            text = read_secret(variable, environment) if is_secret else environment.get(variable)
            if not text:
                continue
            try:
                values[setting.name] = parse_setting(setting, text)
            except ValueError as error:
                messages.append(f"Invalid value for {variable}: {error}")
        if messages:
            raise InvalidSettings(" ".join(messages))
        return cls(**values)

    def require_console_url(self, listen: Address | None) -> None:
        """Check that the console has a URL if it needs one.

        `listen` is the address of the service, or None if it is not known. Without a URL, the
        console trusts the `Host` of each request, so only this machine may send requests.
        Raises: InvalidSettings.
        """
        is_local = listen is not None and listen.is_loopback
        if self.console and self.console_url is None and not is_local:
            variable = variable_of("console_url")
            raise InvalidSettings(
                "The console needs its address in a browser, unless the service listens on a"
                f" loopback address. Set --console-url or {variable}, for example to"
                " https://fields.example.com."
            )


resolve_types(Settings)


def variable_of(option: str) -> str:
    """Return the environment variable of an option: RECIPIENT_FIELDS_LOG_LEVEL for `log-level`."""
    return f"{VARIABLE_PREFIX}{option.replace('-', '_').upper()}"


def parse_setting(setting: Attribute[Any], text: str) -> Any:
    """Return the value of a setting from a text.

    Raises: ValueError if the text is invalid; the message describes a valid one.
    """
    return _parser(setting.type)(text)


def _parse_boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("use `true` or `false`.")
    return word in _TRUE


def _parse_address(text: str) -> Address:
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > _MAX_PORT:
        raise ValueError("use HOST:PORT, for example 127.0.0.1:8080 or [::1]:8080.")
    return Address(match[1] or match[2], int(match[3]))


def _parse_origin(text: str) -> WebOrigin:
    """Return the origin as browsers send it: in lower case, and without the scheme's own port."""
    match = _ORIGIN.fullmatch(text.lower())
    if match is None or int(match["port"] or 1) not in range(1, _MAX_PORT + 1):
        raise ValueError("use the address without a path, for example https://fields.example.com.")
    has_own_port = match["port"] in {None, _WEB_PORTS[match["scheme"]]}
    port = "" if has_own_port else f":{match['port']}"
    return WebOrigin(f"{match['scheme']}://{match['host']}{port}")


def _parse_networks(text: str) -> Networks:
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise ValueError(
            "use networks separated by commas, for example 10.0.0.0/8,192.0.2.7,2001:db8::/32."
        ) from None


def _parse_organization_ids(text: str) -> OrganizationIds:
    # Imported here because few commands have such ids, and it takes the modules of fields.
    from recipient_fields.application.fields.texts import is_id

    ids = [part.strip() for part in text.split(",") if part.strip()]
    if not all(map(is_id, ids)):
        raise ValueError("use ids of organizations separated by commas, for example 1,7.")
    return tuple(OrganizationId(int(each)) for each in ids)


def _parse_hosts(text: str) -> HostNames:
    hosts = [part.strip().lower() for part in text.split(",") if part.strip()]
    if not all(map(_HOST.fullmatch, hosts)):
        raise ValueError("use host names separated by commas, for example esp.internal:8443.")
    return tuple(hosts)


def _parse_number(text: str, limits: Range) -> int:
    least, most = limits
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    if not is_number or int(text) < least or (most is not None and int(text) > most):
        limit = f"from {least} to {most}" if most is not None else f"of {least} or more"
        raise ValueError(f"use a whole number {limit}.")
    return int(text)


def _parse_choice(text: str, choices: Sequence[str]) -> str:
    if text not in choices:
        *others, last = choices
        raise ValueError(f"use {', '.join(others)} or {last}.")
    return text


_PARSERS: Mapping[object, Callable[[str], object]] = {
    str: str,
    bool: _parse_boolean,
    Address: _parse_address,
    Address | None: _parse_address,
    WebOrigin | None: _parse_origin,
    OrganizationIds: _parse_organization_ids,
    HostNames: _parse_hosts,
    Networks: _parse_networks,
}


def _parser(kind: Any) -> Callable[[str], object]:
    """Return the function that parses a text as a value of this type."""
    if kind == MebibytesOrDefault:
        return _parser(Mebibytes)
    if get_origin(kind) is Annotated:
        return partial(_parse_number, limits=kind.__metadata__[0])
    if get_origin(kind) is Literal:
        return partial(_parse_choice, choices=get_args(kind))
    return _PARSERS[kind]
