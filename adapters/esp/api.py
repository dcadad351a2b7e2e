"""The HTTP API of an ESP: its URL, its credentials, and the errors that name it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlencode, urljoin

from attrs import field, frozen
from urllib3.util import Url, parse_url

from recipient_fields.domain.esp import DIALECTS, Esp, EspRefused, EspUnavailable

from ..deadline_http import is_secure

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@frozen
class Fault:
    """An error that an ESP describes in the body of a response."""

    message: str
    temporary: bool

    @property
    def sentence(self) -> str:
        """The end of a sentence that begins with the name of the ESP."""
        return f"rejects the request with a SOAP fault: {self.message}"


@frozen(kw_only=True)
class Api:
    """The API at one origin, the only one that receives the headers.

    `scope` says which permission the credentials need. `empty_403_means_rate_limit` is true for an
    ESP that sends 403 without a body if it receives too many requests. `host` is a pattern of the
    ESP's own host names, which links can contain if `url` is that of a proxy. `read_fault` returns
    the fault in a body, or None if it contains none; an API without it describes no faults.

    Raises: EspRefused if the URL or a header can't be used. The message repeats neither.
    """

    esp: Esp
    url: str
    headers: Mapping[str, str] = field(repr=False)
    scope: str
    host: str = ""
    empty_403_means_rate_limit: bool = False
    read_fault: Callable[[bytes], Fault | None] | None = None

    def __attrs_post_init__(self) -> None:
        # Other characters could end the header, or appear in an error of http.client.
        if not all(value.isascii() and value.isprintable() for value in self.headers.values()):
            raise self.refused("can't use these credentials: use only printable ASCII characters")
        if not _usable(self.url):
            raise self.refused("can't use this URL: use one like https://api.example.com")

    @property
    def title(self) -> str:
        """The name of the ESP."""
        return DIALECTS[self.esp].title

    @property
    def describes_failures(self) -> bool:
        """Whether the body of a response that is not successful says more than its status."""
        return self.empty_403_means_rate_limit or self.read_fault is not None

    def refused(self, what: str) -> EspRefused:
        """Return the error for a failure that a retry can't fix."""
        return EspRefused(f"{self.title} {what}.")

    def undocumented(self, what: str) -> EspRefused:
        """Return the error for a response that does not match the documentation of the ESP."""
        return self.refused(f"sent a response that is not as documented: {what.rstrip('.')}")

    def unavailable(self, what: str) -> EspUnavailable:
        """Return the error for a failure that can be temporary."""
        return EspUnavailable(f"{self.title} {what}.")

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
        return (scheme, port) == ("https", 443) and re.fullmatch(self.host, host or "") is not None


def host_label(esp: Esp, text: str) -> str:
    """Return the text. Raises: EspRefused if it is not one label of a host name."""
    if _LABEL.fullmatch(text) is None:
        raise EspRefused(
            f"Invalid host name for {DIALECTS[esp].title}: use only letters, digits and hyphens"
            " in each label."
        )
    return text


def _usable(text: str) -> bool:
    """Return whether this is a base URL to which credentials can be sent."""
    try:
        url = parse_url(text)
    except ValueError:
        return False
    return is_secure(url) and bool(url.host) and not (url.auth or url.query or url.fragment)


def origin(url: Url) -> tuple[str | None, str | None, int | None]:
    """Return the scheme, the host and the port of a URL."""
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme or "")
