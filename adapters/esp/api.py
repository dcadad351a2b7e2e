"""The HTTP API of an ESP: its URL, its credentials, and the errors that name it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import ceil
from time import time
from urllib.parse import urlencode, urljoin

from attrs import field, frozen
from urllib3.util import Url, parse_url

from recipient_fields.application.environment import VARIABLE_PREFIX
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import EspRefused, EspUnavailable

from ..network import Response, parse_secure_url

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_MAX_WAIT = 2**31


def variable(esp: str, parameter: str) -> str:
    """Return the environment variable of a source's parameter: RECIPIENT_FIELDS_BRAZE_URL."""
    return f"{VARIABLE_PREFIX}{esp}_{parameter}".upper()


@frozen
class Fault:
    """An error that an ESP describes in a response.

    `sentence` is the end of a sentence that begins with the name of the ESP.
    """

    sentence: str
    temporary: bool


@frozen(kw_only=True)
class Api:
    """The API at one origin, the only one that receives the headers.

    `task` is what the requests are for. `scope` says which permission the credentials need.
    `unauthorized` is what to check after a 401, besides the credentials, as a clause after
    "whether". `credentials` and `address` are the source's parameters with the credentials and with
    the address of the list, separated by spaces. Messages name their environment variables.

    `limited_until` and `limited_for` are the header of a 429 with the end of the rate limit, in
    seconds since 1970, or with the seconds that are left. `limits_with_403` is true for an ESP that
    also sends 403, without a JSON object, if it receives too many requests.

    Links can also contain the hosts in the profile of the ESP, if `url` is that of a proxy.
    `read_fault` gets this API, the status and the body of a response, and returns its fault,
    or None if it contains none; an API without it describes no faults. No message quotes a
    response: it can repeat the credentials.

    Raises: EspRefused if the URL or a header can't be used. The message repeats neither.
    """

    esp: Esp
    url: str
    headers: Mapping[str, str] = field(repr=False)
    scope: str
    task: str = "list its fields"
    unauthorized: str = ""
    credentials: str = "api_key"
    address: str = "url"
    limited_until: str = ""
    limited_for: str = ""
    limits_with_403: bool = False
    read_fault: Callable[[Api, int, bytes], Fault | None] | None = None

    def __attrs_post_init__(self) -> None:
        # Other characters could end the header, or appear in an error of http.client.
        if not all(value.isascii() and value.isprintable() for value in self.headers.values()):
            raise self.refused(
                f"can't use the credentials in {self.named(self.credentials)}: use only printable"
                " ASCII characters"
            )
        url = parse_secure_url(self.url)
        if url is None or url.query:
            raise self.refused(
                f"can't use the URL in {self.named('url')}: use one like https://api.example.com"
            )

    @property
    def title(self) -> str:
        """The name of the ESP."""
        return BUILT_IN[self.esp].title

    @property
    def describes_failures(self) -> bool:
        """Whether the body of a response that is not successful says more than its status."""
        return self.limits_with_403 or self.read_fault is not None

    @property
    def after_401(self) -> str:
        """What to check if the ESP does not accept the credentials, as a part of a sentence."""
        other = f", and whether {self.unauthorized}" if self.unauthorized else ""
        return f"check {self.named(self.credentials)}{other}"

    def named(self, parameters: str) -> str:
        """Return the environment variables of these parameters, as a part of a sentence."""
        return " and ".join(variable(self.esp, name) for name in parameters.split())

    def seconds_limited(self, response: Response) -> float:
        """Return the seconds until the rate limit of a 429 ends, or 0 if no header says so.

        Some ESPs send the headers with every response, so they count for no other status.
        """
        if response.status != 429:
            return 0
        left = _seconds(response.headers.get(self.limited_for, ""))
        ends = _seconds(response.headers.get(self.limited_until, ""))
        return min(max(left, ends - time(), 0), _MAX_WAIT)

    def refused(self, what: str) -> EspRefused:
        """Return the error for a failure that a retry can't fix."""
        return EspRefused(f"{self.title} {what}.")

    def undocumented(self, what: str) -> EspRefused:
        """Return the error for a response that does not match the documentation of the ESP."""
        return self.refused(f"sent a response that is not as documented: {what.rstrip('.')}")

    def unavailable(self, what: str, *, seconds: float = 0) -> EspUnavailable:
        """Return the error for a failure that can be temporary.

        A sync can succeed in that many seconds. 0 means that the ESP does not say when.
        """
        when = "later"
        if seconds:
            ends = datetime.now(UTC) + timedelta(seconds=ceil(seconds))
            when = f"after {ends:%Y-%m-%d %H:%M:%S} UTC"
        return EspUnavailable(f"{self.title} {what}. Sync again {when}.")

    def at(self, path: str, query: Mapping[str, object] | None = None) -> str:
        """Return the URL of a path."""
        return self.url.rstrip("/") + path + ("?" + urlencode(query) if query else "")

    def linked(self, page: str, link: str) -> str:
        """Return the URL of the next page: that of this page with the query of its link.

        Behind a proxy, links have the origin of the proxy or of the ESP, with or without the path
        of the proxy. Raises: EspRefused if the link has another origin.
        """
        url = parse_url(page)
        try:
            target = parse_url(urljoin(page, link))
        except ValueError:
            target = Url()
        if origin(target) != origin(url) and not self._is_origin_of_esp(target):
            raise self.refused("continues its list on another host, which is not followed")
        return url._replace(query=target.query).url

    def _is_origin_of_esp(self, url: Url) -> bool:
        scheme, host, port = origin(url)
        hosts = BUILT_IN[self.esp].api_hosts
        return (
            (scheme, port) == ("https", 443)
            and hosts is not None
            and re.fullmatch(hosts, host or "") is not None
        )


def is_host_label(text: str) -> bool:
    """Return whether the text is one label of a host name."""
    return _LABEL.fullmatch(text) is not None


def _seconds(text: str) -> float:
    """Return the number in a header, or 0 if there is none."""
    return float(text) if _SECONDS.fullmatch(text) else 0


def origin(url: Url) -> tuple[str | None, str | None, int | None]:
    """Return the scheme, the host and the port of a URL."""
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme or "")
