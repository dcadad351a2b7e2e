"""Who is told of the requests that were answered: the log, and whoever else is interested."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TypeAlias

import falcon
from attrs import frozen

from recipient_fields.domain import Credential

from .gate import logged_request_id
from .methods import METHODS

Observer: TypeAlias = Callable[[falcon.Request, falcon.Response, float], None]
"""Told of a request, its answer, and how many seconds that took."""

Log: TypeAlias = Callable[[str, int, str, Mapping[str, object]], None]
"""Told the logger's name, the level, what happened, and the facts of it.

The facts are texts and numbers. They may be read later, so nobody changes them."""

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


@frozen
class RequestLog:
    """The observer that tells the log of every request, and shows no key or input of it.

    Probes that pass are worth no more than a line for debugging.
    """

    log: Log

    def __call__(self, req: falcon.Request, resp: falcon.Response, seconds: float) -> None:
        """One line."""
        route = route_of(req)
        passed = route in _PROBES and resp.status_code < _BAD_REQUEST
        level = logging.DEBUG if passed else logging.INFO
        if not _log.isEnabledFor(level):
            return
        credential: Credential | None = req.context.get("credential")
        request_id, method = logged_request_id(req), method_of(req)
        self._tell(level, request_id, credential, route, method, resp.status_code, seconds)

    def refusal(self, *, request_id: str, method: str, status: int, seconds: float) -> None:
        """One line of a request that the host refused, which is nobody's and has no route.

        The id shows no key. The seconds are those since the first byte, not those of the work.
        """
        if not _log.isEnabledFor(logging.INFO):
            return
        self._tell(logging.INFO, request_id, None, UNROUTED, _known(method), int(status), seconds)

    def _tell(
        self,
        level: int,
        request_id: str,
        credential: Credential | None,
        route: str,
        method: str,
        status: int,
        seconds: float,
    ) -> None:
        facts = {
            "request_id": request_id,
            "organization": None if credential is None else credential.organization_id,
            "key_id": None if credential is None else credential.key_id,
            "route": route,
            "method": method,
            "status": status,
            "milliseconds": round(seconds * 1_000, 3),
        }
        self.log(_log.name, level, "request", facts)


def log_record(logger: str, level: int, event: str, facts: Mapping[str, object]) -> None:
    """The Log that is `logging`: a record whose `facts` a formatter may show."""
    logging.getLogger(logger).log(level, event, extra={"facts": facts})


def route_of(req: falcon.Request) -> str:
    """The template of the request's route: one of few, whatever clients send."""
    return req.uri_template or UNROUTED


def method_of(req: falcon.Request) -> str:
    """The request's method: one of few, whatever clients send."""
    return _known(req.method)


def _known(method: str) -> str:
    return method if method in METHODS else "other"
