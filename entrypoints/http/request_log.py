"""The request log, and the hooks that are called after each response."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Lock
from time import perf_counter
from typing import TypeAlias

from attrs import field, frozen
from falcon import Request, Response

from recipient_fields.domain import Credential, Rejection

from .client_addresses import ClientAddresses, Sender
from .requests import logged_request_id
from .resource import METHODS

OnResponse: TypeAlias = Callable[[Request, Response, float], None]
"""A hook that is called after a response, with the duration in seconds."""

Log: TypeAlias = Callable[[str, int, str, Mapping[str, object]], None]
"""Logs a line: the logger's name, the level, the event, and its facts.

The facts are strings and numbers. They may be read later, so the caller never changes them."""

UNROUTED = "unrouted"
"""The route of a request without one, or of one that was rejected before the API key was read."""

_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_BAD_REQUEST = 400

_log = logging.getLogger("recipient_fields.requests")


def log_record(logger: str, level: int, event: str, facts: Mapping[str, object]) -> None:
    """Log through `logging`: a record with the attribute `facts`, which a formatter may show."""
    logging.getLogger(logger).log(level, event, extra={"facts": facts})


@frozen
class ResponseHooks:
    """The outermost middleware, which calls the hooks after each response."""

    hooks: tuple[OnResponse, ...]

    def process_request(self, req: Request, _resp: Response) -> None:
        """Record when the request arrived."""
        req.context.started_at = perf_counter()

    def process_response(
        self,
        req: Request,
        resp: Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 (Falcon's signature)
    ) -> None:
        """Call the hooks. Falcon rejects some requests without calling `process_request`."""
        now = perf_counter()
        started_at: float = getattr(req.context, "started_at", now)
        for hook in self.hooks:
            hook(req, resp, now - started_at)


@frozen
class RequestLog:
    """The hook that logs one line per request, without API keys or other input.

    Successful probes are logged at level debug.
    """

    log: Log = log_record
    client_addresses: ClientAddresses | None = None
    """Finds the client's address. If it is None, the lines have no address."""

    def __call__(self, req: Request, resp: Response, seconds: float) -> None:
        """Log one line."""
        route = route_of(req)
        is_passed_probe = route in _PROBES and resp.status_code < _BAD_REQUEST
        level = logging.DEBUG if is_passed_probe else logging.INFO
        if not _log.isEnabledFor(level):
            return
        facts = _facts(logged_request_id(req), route, method_of(req), resp.status_code, seconds)
        facts |= req.context.get("facts") or {}
        credential: Credential | None = req.context.get("credential")
        rejection: Rejection | None = req.context.get("rejection")
        if credential is not None:
            facts |= {"organization": credential.organization_id, "key_id": credential.key_id}
        elif rejection is not None:
            facts |= {"key_id": rejection.key_id, "reason": rejection.reason.value}
        if self.client_addresses is not None:
            facts["client_address"] = self.client_addresses.find(sender_of(req))
        self.log(_log.name, level, "request", facts)

    def log_rejection(
        self, sender: Sender, *, request_id: str, method: str, status: int, seconds: float
    ) -> None:
        """Log a request that the server rejected: it has no organization and no route.

        The caller has redacted the id. The seconds start with the first byte of the request.
        """
        if not _log.isEnabledFor(logging.INFO):
            return
        facts = _facts(request_id, UNROUTED, _known(method), int(status), seconds)
        if self.client_addresses is not None:
            facts["client_address"] = self.client_addresses.find(sender)
        self.log(_log.name, logging.INFO, "request", facts)


@frozen
class UntrustedProxyWarning:
    """The hook that warns once if a request seems to come from a proxy that is not trusted."""

    client_addresses: ClientAddresses
    _first: Lock = field(factory=Lock, init=False)

    def __call__(self, req: Request, _resp: Response, _seconds: float) -> None:
        """Log the warning for the first such request."""
        sender = sender_of(req)
        ignores = self.client_addresses.ignores_headers_of(sender)
        if ignores and self._first.acquire(blocking=False):
            logging.getLogger(__name__).warning(
                "A request with X-Forwarded-For or Forwarded came from %s, which is not in"
                " --trusted-proxies. If this is the address of your proxy, add it. Otherwise all"
                " clients of the proxy share the limit of sign-in attempts.",
                sender.peer or "a Unix socket",
            )


DEFAULT_REQUEST_LOG = RequestLog()
"""Logs through `logging`, without the addresses of clients."""


def route_of(req: Request) -> str:
    """Return the template of the request's route. It has few values, for any input."""
    return req.uri_template or UNROUTED


def method_of(req: Request) -> str:
    """Return the request's method, or `other`. It has few values, for any input."""
    return _known(req.method)


def _facts(
    request_id: str, route: str, method: str, status: int, seconds: float
) -> dict[str, object]:
    return {
        "request_id": request_id,
        "organization": None,
        "key_id": None,
        "route": route,
        "method": method,
        "status": status,
        "milliseconds": round(seconds * 1_000, 3),
    }


def sender_of(req: Request) -> Sender:
    """Return the peer of the request's connection, and the headers of proxies."""
    peer: str | None = req.env.get("REMOTE_ADDR")
    return Sender(peer, req.get_header("X-Forwarded-For"), req.get_header("Forwarded"))


def _known(method: str) -> str:
    return method if method in METHODS else "other"
