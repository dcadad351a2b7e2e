"""What every request must pass before a resource sees it, in the contract's order.

HTTP contract, section 6: size, authentication, route, method, `Accept`, read-only key, parameters,
content type. A caller without a key learns nothing about routes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import getrandbits

import falcon
from attrs import frozen
from falcon.routing import CompiledRouter

from recipient_fields.application import KeyValidator
from recipient_fields.domain import (
    Credential,
    Precondition,
    Rejection,
    RejectionReason,
    without_keys,
)

from .bodies import LARGEST_BODY
from .media_types import require_acceptable, require_json
from .parameters import parse_parameters
from .preconditions import parse_precondition
from .problems import Refused
from .resource import Resource

PROTECTED_PREFIX = "/api/"
HIDDEN_KEY = "[API key]"
"""What a log shows of a request's id that is a key."""

_REALM = 'Bearer realm="recipient-fields"'
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]+=*)")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_AMBIGUOUS_PATH = re.compile(r"([a-z]+://[^/]*)?/(/|.*%2f)", re.IGNORECASE)
"""In origin or absolute form: servers fold leading slashes and decode `%2F`; we route neither."""
READS = frozenset({"GET", "HEAD"})
_WRITES = frozenset({"DELETE", "PATCH", "POST", "PUT"})


@frozen
class Gate:
    """The middleware that lets a request through to its resource."""

    validator: KeyValidator | None
    """None where nothing is protected."""

    router: CompiledRouter
    """Finds the route that the log shows for a request without a valid key."""

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Size, authentication, and paths that have two readings."""
        _require_size(req)
        if self.validator is not None and req.path.startswith(PROTECTED_PREFIX):
            self._authenticate(req, self.validator)
        if not _is_plain_path(req):
            raise Refused("not_found")

    def process_resource(
        self,
        req: falcon.Request,
        _resp: falcon.Response,
        resource: Resource,
        _params: dict[str, str],
    ) -> None:
        """What depends on the route."""
        if req.method not in resource.methods:
            raise Refused("method_not_allowed", headers={"Allow": resource.allowed})
        require_acceptable(req, resource.media_types)
        if req.method in _WRITES and req.path.startswith(PROTECTED_PREFIX):
            credential(req).require_write()
        known = resource.parameters if req.method in READS else ()
        req.context.parameters = parse_parameters(req.query_string, known, resource.multiple)
        require_json(req)
        req.context.precondition = parse_precondition(req)

    def process_response(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 (Falcon's signature)
    ) -> None:
        """The headers that every answer carries."""
        resp.set_header("X-Request-Id", request_id(req))
        resp.set_header("X-Content-Type-Options", "nosniff")
        readable = req.method in READS and resp.status_code in {200, 304}
        if readable and req.path.startswith(PROTECTED_PREFIX):
            resp.set_header("Cache-Control", "private, no-cache")
        elif resp.get_header("Cache-Control") is None:
            resp.set_header("Cache-Control", "no-store")
        if req.path.startswith(PROTECTED_PREFIX):
            resp.set_header("Vary", "Authorization, Accept")

    def _authenticate(self, req: falcon.Request, validator: KeyValidator) -> None:
        header = req.get_header("Authorization")
        outcome = _validate(header, validator)
        if isinstance(outcome, Credential):
            req.context.credential = outcome
            return
        req.context.rejection = outcome
        route = self.router.find(req.path, req) if _is_plain_path(req) else None
        req.uri_template = None if route is None else route[3]
        challenge = _REALM if header is None else f'{_REALM}, error="invalid_token"'
        raise Refused("unauthorized", headers={"WWW-Authenticate": challenge})


def credential(req: falcon.Request) -> Credential:
    """Who is asking."""
    proven: Credential = req.context.credential
    return proven


def parameters(req: falcon.Request) -> Mapping[str, str]:
    """The query parameters, each known to the resource."""
    parsed: Mapping[str, str] = req.context.parameters
    return parsed


def precondition(req: falcon.Request) -> Precondition:
    """What the client expects of the version that the request meets."""
    parsed: Precondition = req.context.precondition
    return parsed


def request_id(req: falcon.Request) -> str:
    """The id of the request, in its answer and in the log."""
    if "request_id" not in req.context:
        req.context.request_id = choose_request_id(req.get_header("X-Request-Id"))
    identifier: str = req.context.request_id
    return identifier


def logged_request_id(req: falcon.Request) -> str:
    """The id of the request as a log may show it: a client can have sent its key as one.

    A validator of keys may have others than ours, without a form by which one could tell them.
    """
    return shown_request_id(request_id(req), req.get_header("Authorization"))


def shown_request_id(identifier: str, authorization: str | None) -> str:
    """The id, or what stands for a key where it is the one in that header or looks like ours."""
    if (authorization or "").endswith(f" {identifier}"):
        return HIDDEN_KEY
    return without_keys(identifier)


def choose_request_id(own: str | None) -> str:
    """The client's own id where it is well-formed, else one of ours."""
    if own is not None and _REQUEST_ID.fullmatch(own):
        return own
    # It is no secret, and numbers that are fit for one cost a call of the system each.
    return f"{getrandbits(128):032x}"  # nosec B311


def _require_size(req: falcon.Request) -> None:
    if (req.content_length or 0) > LARGEST_BODY:
        raise Refused("payload_too_large")


def _validate(header: str | None, validator: KeyValidator) -> Credential | Rejection:
    if header is None:
        return Rejection(RejectionReason.MISSING)
    bearer = _BEARER.fullmatch(header)
    return Rejection(RejectionReason.MALFORMED) if bearer is None else validator.validate(bearer[1])


def _is_plain_path(req: falcon.Request) -> bool:
    """Return whether the path can be split in one way only, and has no trailing slash."""
    sent = req.env.get("REQUEST_URI") or req.env.get("RAW_URI") or ""
    ambiguous = _AMBIGUOUS_PATH.match(sent.partition("?")[0]) is not None
    return not ambiguous and (req.path == "/" or not req.path.endswith("/"))
