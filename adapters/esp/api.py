"""An ESP's HTTP interface: where it is, what proves who asks, and how its failures are told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlencode, urljoin

from attrs import field, frozen
from urllib3.util import Url, parse_url

from recipient_fields.domain.esp import DIALECTS, Esp, EspRefused, EspUnavailable

from ..timely import is_private

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@frozen(kw_only=True)
class Api:
    """One origin, to which alone the headers go.

    `scope` is what the credentials need. Where `bare_403_limits_rate`, a 403 without a body is no
    refusal: the ESP says by it that it was asked too often. EspRefused where the URL or a header
    can't be used; no message repeats either.
    """

    esp: Esp
    url: str
    headers: Mapping[str, str] = field(repr=False)
    scope: str
    bare_403_limits_rate: bool = False

    def __attrs_post_init__(self) -> None:
        # An unusual character would let a header end early, or show up in the error of a library.
        if not all(value.isascii() and value.isprintable() for value in self.headers.values()):
            raise self.refused(
                "can't be asked with these credentials: they hold characters that none has"
            )
        if not _usable(self.url):
            raise self.refused("is asked at a URL such as https://api.example.com, not at this one")

    @property
    def title(self) -> str:
        """The ESP's name."""
        return DIALECTS[self.esp].title

    def refused(self, what: str) -> EspRefused:
        """That the ESP does what only somebody's hand can mend."""
        return EspRefused(f"{self.title} {what}.")

    def unavailable(self, what: str) -> EspUnavailable:
        """That the ESP does what may be over later."""
        return EspUnavailable(f"{self.title} {what}.")

    def at(self, path: str, query: Mapping[str, object] | None = None) -> str:
        """The URL of that path."""
        return self.url.rstrip("/") + path + ("?" + urlencode(query) if query else "")

    def linked(self, page: str, link: str) -> str:
        """The URL that the link of a page leads to; EspRefused unless it has the same origin."""
        try:
            target = parse_url(urljoin(page, link))
        except ValueError:
            target = Url()
        if _origin(target) != _origin(parse_url(self.url)):
            raise self.refused("continues its list at another address, which is not followed")
        return target._replace(auth=None, fragment=None).url


def host_label(esp: Esp, text: str) -> str:
    """The text as one label of a host's name, which no other host can be hidden in. EspRefused."""
    if _LABEL.fullmatch(text) is None:
        raise EspRefused(
            f"{DIALECTS[esp].title}'s host can't be told from these settings: a part of its name"
            " is letters, digits and hyphens."
        )
    return text


def _usable(text: str) -> bool:
    """Is this a base URL, and one at which nobody on the way can read credentials?"""
    try:
        url = parse_url(text)
    except ValueError:
        return False
    return is_private(url) and bool(url.host) and not (url.auth or url.query or url.fragment)


def _origin(url: Url) -> tuple[str | None, str | None, int | None]:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme or "")
