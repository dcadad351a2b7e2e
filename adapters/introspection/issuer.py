"""Asking an issuer what a token is worth."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from time import monotonic
from typing import NoReturn
from urllib.parse import quote_plus, urlencode

from attrs import field, frozen
from urllib3 import Timeout
from urllib3.exceptions import (
    ClosedPoolError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    SSLError,
)
from urllib3.exceptions import TimeoutError as TimedOut
from urllib3.util import parse_url

from recipient_fields.domain import KeyValidationUnavailable

from ..timely import body_of, connections_to, is_private
from .circuit import Circuit

USUAL_TIMEOUT = 2.0
LONGEST_TIMEOUT = 3.0
_LARGEST_ANSWER = 65_536
_KEPT_OPEN = 64
"""As many connections as the service has threads at most."""
_PRINTABLE = re.compile(r"[!-~]+")
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What a bearer token consists of (RFC 6750, section 2.1)."""


def basic(client_id: str, client_secret: str) -> str:
    """The `Authorization` of a client with a secret (RFC 6749, section 2.3.1)."""
    pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
    return f"Basic {b64encode(pair.encode('ascii')).decode('ascii')}"


def bearer(token: str) -> str:
    """The `Authorization` of a client with a token of its own; ValueError where it can't be one."""
    if TOKEN.fullmatch(token) is None:
        raise ValueError("The token that proves who introspects holds characters that none has.")
    return f"Bearer {token}"


@frozen(kw_only=True)
class Issuer:
    """An issuer's introspection endpoint, and the `Authorization` that proves who asks.

    The URL is https, or http on the loopback. A request takes `timeout` seconds at most, all told:
    more than 0, and 3 at most. ValueError where the URL or the time can't be used.
    """

    url: str
    authorization: str = field(repr=False)
    timeout: float = USUAL_TIMEOUT

    def __attrs_post_init__(self) -> None:
        if not _usable(self.url):
            raise ValueError(
                "Tokens are introspected at a URL such as https://issuer.example/introspect,"
                " without user, password or fragment; http is for the loopback."
            )
        if not 0 < self.timeout <= LONGEST_TIMEOUT:
            raise ValueError(f"An introspection may take {LONGEST_TIMEOUT:g} seconds at most.")


class Endpoint:
    """The issuer's endpoint while it is asked, by several threads at once."""

    def __init__(self, issuer: Issuer) -> None:
        url = parse_url(issuer.url)
        self._target = url.request_uri
        self._timeout = issuer.timeout
        self._connections = connections_to(url, kept=_KEPT_OPEN)
        self._circuit = Circuit(issuer.timeout)
        self._headers = {
            "Accept": "application/json",
            "Authorization": issuer.authorization,
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "recipient-fields",
        }

    def introspect(self, token: str) -> Mapping[str, object] | None:
        """What the issuer says of an active token; None of any other.

        KeyValidationUnavailable where it does not say, in time and in the form of RFC 7662.
        """
        if not self._circuit.permits():
            _unavailable("has not answered lately, and is asked again within seconds")
        form = urlencode([("token", token), ("token_type_hint", "access_token")])
        claims = _read(self._ask(form))
        return claims if claims["active"] else None

    def close(self) -> None:
        """Give back every connection that is idle."""
        self._connections.close()

    def _ask(self, form: str) -> bytes:
        ends = monotonic() + self._timeout
        kind = None
        try:
            status, body = self._exchange(form, ends)
        except HTTPError as error:
            kind = _kind(error)
        if kind is TimedOut:
            self._circuit.silent()
        else:  # Also where the connection breaks: what ends soon keeps nobody waiting.
            self._circuit.answered()
        # Outside the block, so that no error is chained that could repeat what the issuer sent.
        if kind is not None:
            _unavailable(_SILENCES[kind])
        if status != 200:
            _unavailable(_failure(status))
        if len(body) > _LARGEST_ANSWER:
            _unavailable(f"answers with more than {_LARGEST_ANSWER:,} bytes")
        return body

    def _exchange(self, form: str, ends: float) -> tuple[int, bytes]:
        """Status and body of the answer; once more where a connection that was kept is gone."""
        try:
            return self._attempt(form, ends)
        except ProtocolError:
            return self._attempt(form, ends)

    def _attempt(self, form: str, ends: float) -> tuple[int, bytes]:
        with self._connections.urlopen(
            "POST",
            self._target,
            body=form,
            headers=self._headers,
            timeout=Timeout(total=max(ends - monotonic(), 0.001)),
            retries=False,
            redirect=False,
            preload_content=False,
        ) as response:
            body = body_of(response, _LARGEST_ANSWER) if response.status == 200 else b""
            return response.status, body


def _read(body: bytes) -> Mapping[str, object]:
    """The answer's members, of which `active` is true or false."""
    try:
        members = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict) or not isinstance(members.get("active"), bool):
        _unavailable("answers otherwise than RFC 7662 says")
    return members


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


_SILENCES: Mapping[type[HTTPError], str] = {
    ClosedPoolError: "is not asked any more: this validator was closed",
    SSLError: "can't be reached: its TLS certificate or protocol is not accepted",
    NameResolutionError: "can't be reached: its host is not known",
    NewConnectionError: "can't be reached: no connection can be made",
    TimedOut: "did not answer in time",
    HTTPError: "broke off the connection",
}
"""What no answer means. The first kind that an error is of counts."""


def _kind(error: HTTPError) -> type[HTTPError]:
    return next(kind for kind in _SILENCES if isinstance(error, kind))


def _failure(status: int) -> str:
    if status == 401:
        return "does not accept our own credentials (401)"
    if status == 403:
        return "does not let our own credentials introspect (403)"
    if status == 404:
        return "has nothing at this URL (404)"
    if status == 429:
        return "limits the rate of requests (429)"
    if 300 <= status < 400:
        return f"redirects to another address ({status}), which is not followed"
    return f"failed ({status})"


def _unavailable(what: str) -> NoReturn:
    raise KeyValidationUnavailable(f"The issuer of tokens {what}.")


def _usable(text: str) -> bool:
    """Is this the URL of an endpoint, at which nobody on the way can read tokens?"""
    try:
        url = parse_url(text)
    except ValueError:
        return False
    plain = _PRINTABLE.fullmatch(text) is not None
    return plain and is_private(url) and bool(url.host) and not (url.auth or url.fragment)
