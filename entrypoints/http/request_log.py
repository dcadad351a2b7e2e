"""Who is told of the requests that were answered: the log, and whoever else is interested."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TypeAlias

import falcon
from attrs import frozen

from recipient_fields.domain import Credential, Rejection

from .client_addresses import ClientAddresses, Sender
from .request_guard import logged_request_id
from .resource import METHODS

Observer: TypeAlias = Callable[[falcon.Request, falcon.Response, float], None]
"""Told of a request, its answer, and how many seconds that took."""

Log: TypeAlias = Callable[[str, int, str, Mapping[str, object]], None]
"""Told the logger's name, the level, what happened, and the facts of it.

The facts are texts and numbers. They may be read later, so nobody changes them."""

UNROUTED = "unrouted"
"""The route of a request without one, or of one that was rejected before the API key was read."""

_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_BAD_REQUEST = 400

_log = logging.getLogger("recipient_fields.requests")


def log_record(logger: str, level: int, event: str, facts: Mapping[str, object]) -> None:
    """The Log that is `logging`: a record whose `facts` a formatter may show."""
    logging.getLogger(logger).log(level, event, extra={"facts": facts})


@frozen
class Observation:
    """The middleware, outside of all others, that tells the observers of every request."""

    observers: tuple[Observer, ...]

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """A request has arrived."""
        req.context.begun = perf_counter()

    def process_response(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 (Falcon's signature)
    ) -> None:
        """A request is answered. Falcon refuses some without telling that they have arrived."""
        now = perf_counter()
        begun: float = getattr(req.context, "begun", now)
        for observe in self.observers:
            observe(req, resp, now - begun)


@frozen
class RequestLog:
    """The observer that logs one line per request, without a key or other input.

    A probe that passes is logged at debug only.
    """

    log: Log = log_record
    client_addresses: ClientAddresses | None = None
    """Finds the client's address; None: the lines have none."""

    def __call__(self, req: falcon.Request, resp: falcon.Response, seconds: float) -> None:
        """One line."""
        route = route_of(req)
        passed = route in _PROBES and resp.status_code < _BAD_REQUEST
        level = logging.DEBUG if passed else logging.INFO
        if not _log.isEnabledFor(level):
            return
        facts = _facts(logged_request_id(req), route, method_of(req), resp.status_code, seconds)
        credential: Credential | None = req.context.get("credential")
        rejection: Rejection | None = req.context.get("rejection")
        if credential is not None:
            facts |= {"organization": credential.organization_id, "key_id": credential.key_id}
        elif rejection is not None:
            facts |= {"key_id": rejection.key_id, "reason": rejection.reason.value}
        if self.client_addresses is not None:
            facts["client_address"] = self.client_addresses.find(_sender(req))
        self.log(_log.name, level, "request", facts)

    def refusal(
        self, sender: Sender, *, request_id: str, method: str, status: int, seconds: float
    ) -> None:
        """Log a request that the host rejected, which has no organization and no route.

        The id shows no key. The seconds count from the first byte, not from the start of the work.
        """
        if not _log.isEnabledFor(logging.INFO):
            return
        facts = _facts(request_id, UNROUTED, _known(method), int(status), seconds)
        if self.client_addresses is not None:
            facts["client_address"] = self.client_addresses.find(sender)
        self.log(_log.name, logging.INFO, "request", facts)


DEFAULT_REQUEST_LOG = RequestLog()


def route_of(req: falcon.Request) -> str:
    """The template of the request's route: one of few, whatever clients send."""
    return req.uri_template or UNROUTED


def method_of(req: falcon.Request) -> str:
    """The request's method: one of few, whatever clients send."""
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


def _sender(req: falcon.Request) -> Sender:
    peer: str | None = req.env.get("REMOTE_ADDR")
    return Sender(peer, req.get_header("X-Forwarded-For"), req.get_header("Forwarded"))


def _known(method: str) -> str:
    return method if method in METHODS else "other"
