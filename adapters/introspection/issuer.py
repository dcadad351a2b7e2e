"""Requests to the introspection endpoint of a token issuer (RFC 7662)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from time import monotonic
from typing import Any, NoReturn, cast
from urllib.parse import quote_plus, urlencode

from attrs import field, frozen
from urllib3.util import parse_url

from recipient_fields.application import InvalidDocument, NotJson
from recipient_fields.application.documents.conversion import parse_document
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.domain import KeyValidationUnavailable

from ..network import (
    CLOSED_EARLY,
    Connections,
    Failure,
    Outcome,
    Request,
    describe,
    parse_secure_url,
    send,
)
from .circuit_breaker import CircuitBreaker

DEFAULT_TIMEOUT = 2.0
MAX_TIMEOUT = 3.0
_MAX_RESPONSE = 65_536
_POOL_SIZE = 64
"""The maximum number of threads of the service."""
_PRINTABLE = re.compile(r"[!-~]+")
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The characters of a bearer token (RFC 6750, section 2.1)."""


def basic(client_id: str, client_secret: str) -> str:
    """Return the `Authorization` of a client with a secret (RFC 6749, section 2.3.1)."""
    pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
    return f"Basic {b64encode(pair.encode('ascii')).decode('ascii')}"


def bearer(token: str) -> str:
    """Return the `Authorization` of a client with a token. Raises: ValueError if it is invalid."""
    if TOKEN.fullmatch(token) is None:
        raise ValueError(
            "Invalid token for introspection requests: use only A-Z, a-z, 0-9 and `._~+/-`."
        )
    return f"Bearer {token}"


@frozen(kw_only=True)
class Issuer:
    """The introspection endpoint of an issuer, and the `Authorization` of this service.

    The URL is https, or http on the loopback interface. A request takes at most `timeout` seconds
    (up to 3) in total. Raises: ValueError if the URL or the timeout can't be used.
    """

    url: str
    authorization: str = field(repr=False)
    timeout: float = DEFAULT_TIMEOUT

    def __attrs_post_init__(self) -> None:
        if _PRINTABLE.fullmatch(self.url) is None or parse_secure_url(self.url) is None:
            raise ValueError(
                "Invalid introspection URL: use one like https://issuer.example/introspect, without"
                " user, password or fragment. http is only for this machine."
            )
        if not 0 < self.timeout <= MAX_TIMEOUT:
            raise ValueError(
                f"Invalid introspection timeout: use more than 0 and up to {MAX_TIMEOUT:g} seconds."
            )


@frozen
class _Introspection:
    active: bool


class Endpoint:
    """A connection pool to an introspection endpoint. It is thread-safe."""

    def __init__(self, issuer: Issuer) -> None:
        url = parse_url(issuer.url)
        self._target = url.request_uri
        self._timeout = issuer.timeout
        self._connections = Connections(
            url,
            size=_POOL_SIZE,
            connect_timeout=issuer.timeout,
            max_response=_MAX_RESPONSE,
        )
        self._circuit_breaker = CircuitBreaker(issuer.timeout)
        self._headers = {
            "Accept": "application/json",
            "Authorization": issuer.authorization,
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "recipient-fields",
        }

    def introspect(self, token: str) -> Mapping[str, object] | None:
        """Return the claims of an active token, or None if the token is not active.

        Raises: KeyValidationUnavailable if no response of RFC 7662 arrives in time.
        """
        if not self._circuit_breaker.allow():
            _unavailable("has not responded recently; the next attempt is within seconds")
        form = urlencode([("token", token), ("token_type_hint", "access_token")])
        claims = _read(self._request(form))
        return claims if claims["active"] else None

    def close(self) -> None:
        """Close all idle connections. Later requests fail."""
        self._connections.close()

    def _request(self, form: str) -> bytes:
        outcome = send(
            self._connections,
            Request(
                method="POST",
                target=self._target,
                headers=self._headers,
                body=form.encode("ascii"),
            ),
            deadline=monotonic() + self._timeout,
            wait=_retry,
        )
        if isinstance(outcome, Failure) and outcome.late:
            self._circuit_breaker.record_failure()
        else:  # Other errors don't delay requests.
            self._circuit_breaker.record_success()
        if isinstance(outcome, Failure):
            _unavailable(outcome.what)
        if outcome.status != 200:
            _unavailable(_failure(outcome.status))
        return outcome.body


def _retry(outcome: Outcome, attempt: int) -> float | None:
    """Retry once, at once: the issuer may have closed an idle connection."""
    return 0 if outcome == CLOSED_EARLY and attempt == 1 else None


def _read(body: bytes) -> Mapping[str, object]:
    """Return the members of a response, which are the claims."""
    try:
        claims: Any = parse_json(body)
        parse_document(claims, _Introspection, ignore_unknown=True)
    except (InvalidDocument, NotJson):
        claims = {}
    if not claims:
        _unavailable("sent a response that does not match RFC 7662")
    return cast("Mapping[str, object]", claims)


def _failure(status: int) -> str:
    if status == 401:
        return "does not accept this service's own credentials (401)"
    if status == 403:
        return "does not let this service's own credentials introspect (403)"
    if status == 404:
        return "has nothing at this URL (404)"
    return describe(status)


def _unavailable(what: str) -> NoReturn:
    raise KeyValidationUnavailable(f"The token issuer {what}.")
