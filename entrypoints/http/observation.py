"""Who is told of the requests that were answered: the log, and whoever else is interested."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import TypeAlias

import falcon
from attrs import frozen

from recipient_fields.domain import Credential

from .gate import logged_request_id
from .methods import METHODS

Observer: TypeAlias = Callable[[falcon.Request, falcon.Response, float], None]
"""Told of a request, its answer, and how many seconds that took."""

UNROUTED = "unrouted"
"""The route of a request that was refused before its route was looked for, or has none."""

_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_BAD_REQUEST = 400

_log = logging.getLogger("recipient_fields.requests")


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


def log_request(req: falcon.Request, resp: falcon.Response, seconds: float) -> None:
    """One line a request, of which it shows nothing that could be a key or an input.

    Probes that pass are worth no more than a line for debugging.
    """
    route = route_of(req)
    passed = route in _PROBES and resp.status_code < _BAD_REQUEST
    level = logging.DEBUG if passed else logging.INFO
    if not _log.isEnabledFor(level):
        return
    credential: Credential | None = req.context.get("credential")
    facts = {
        "request_id": logged_request_id(req),
        "organization": None if credential is None else credential.organization_id,
        "key_id": None if credential is None else credential.key_id,
        "route": route,
        "method": method_of(req),
        "status": resp.status_code,
        "milliseconds": round(seconds * 1_000, 3),
    }
    # As `_log.log` does it, without looking for the caller, which costs a fifth of the line.
    record = _log.makeRecord(
        _log.name, level, __file__, 0, "request", (), None, extra={"facts": facts}
    )
    _log.handle(record)


def route_of(req: falcon.Request) -> str:
    """The template of the request's route: one of few, whatever clients send."""
    return req.uri_template or UNROUTED


def method_of(req: falcon.Request) -> str:
    """The request's method: one of few, whatever clients send."""
    return req.method if req.method in METHODS else "other"
