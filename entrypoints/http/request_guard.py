"""The checks before a resource handles a request, in the order of docs/http-api.md.

Its section *Errors* lists them: size, authentication, route, method, `Accept`, read-only key,
parameters, content type. A client without a key learns nothing about routes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen
from falcon import Request, Response
from falcon.routing import CompiledRouter

from recipient_fields.application import KeyValidator
from recipient_fields.domain import Credential, Rejection, RejectionReason, format_instant

from .problems import RequestRejected
from .requests import (
    credential,
    parse_parameters,
    parse_precondition,
    request_id,
    require_acceptable,
    require_json,
    require_size,
)
from .resource import MAX_BODY_SIZE, PROTECTED_PREFIX, READS, Resource

_REALM = 'Bearer realm="recipient-fields"'
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]+=*)")
_AMBIGUOUS_PATH = re.compile(r"([a-z]+://[^/]*)?/(/|.*%2f)", re.IGNORECASE)
"""In origin or absolute form. Servers merge leading slashes and decode `%2F`: neither has a
route."""

_TRAILING_SLASH = "The path must not end with a slash. Remove it."


@frozen
class RequestGuard:
    """The middleware that checks a request before its resource handles it."""

    validator: KeyValidator | None
    """None if no path is protected."""

    router: CompiledRouter
    """Finds the route that the log shows for a request without a valid key."""

    def process_request(self, req: Request, _resp: Response) -> None:
        """Check the size and the API key, and reject ambiguous paths.

        A client without a key must not learn which route has a smaller limit.
        """
        require_size(req, MAX_BODY_SIZE)
        if self.validator is not None and req.path.startswith(PROTECTED_PREFIX):
            self._authenticate(req, self.validator)
        if not _is_unambiguous_path(req):
            raise RequestRejected("not_found", _TRAILING_SLASH if _ends_with_slash(req) else None)

    def process_resource(
        self,
        req: Request,
        _resp: Response,
        resource: Resource,
        _params: dict[str, str],
    ) -> None:
        """Check what depends on the resource, and parse parameters and preconditions."""
        if req.method not in resource.methods:
            raise RequestRejected("method_not_allowed", headers={"Allow": resource.allowed})
        require_acceptable(req, resource.media_types)
        if resource.needs_write_access(req.path, req.method):
            credential(req).require_write()
        known = resource.parameters if req.method in READS else {}
        req.context.parameters = parse_parameters(req.query_string, known)
        operation = resource.operations.get(req.method)
        if operation is not None and operation.body is not None:
            require_json(req, operation.body.media_types)
        require_size(req, resource.max_body_size)
        precondition = parse_precondition(req)
        if operation is None or operation.is_conditional:
            req.context.precondition = precondition

    def _authenticate(self, req: Request, validator: KeyValidator) -> None:
        header = req.get_header("Authorization")
        result = _validate(header, validator)
        if isinstance(result, Credential):
            req.context.credential = result
            return
        req.context.rejection = result
        route = self.router.find(req.path, req) if _is_unambiguous_path(req) else None
        req.uri_template = None if route is None else route[3]
        challenge, message = _REALM, None
        if header is not None:
            challenge += ', error="invalid_token"'
        # Validators of applications can return None.
        if result is not None and result.explanation is not None:
            challenge += f', error_description="{result.explanation}"'
            message = " ".join(_sentences(result.explanation, result))
        raise RequestRejected("unauthorized", message, headers={"WWW-Authenticate": challenge})


class ResponseHeaders:
    """The middleware that adds the headers of every response."""

    def process_response(
        self,
        req: Request,
        resp: Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 (Falcon's signature)
    ) -> None:
        """Add the request id, and the headers for caches and browsers."""
        resp.set_header("X-Request-Id", request_id(req))
        resp.set_header("X-Content-Type-Options", "nosniff")
        is_protected = req.path.startswith(PROTECTED_PREFIX)
        if is_protected and req.method in READS and resp.status_code in {200, 304}:
            resp.set_header("Cache-Control", "private, no-cache")
        elif resp.get_header("Cache-Control") is None:
            resp.set_header("Cache-Control", "no-store")
        if is_protected:
            resp.set_header("Vary", "Authorization, Accept")


def _sentences(explanation: str, rejection: Rejection) -> Iterator[str]:
    yield explanation
    if rejection.since is not None:
        yield f"The exact time is {format_instant(rejection.since)}."
    yield "An administrator creates API keys in the console or with `recipient-fields keys create`."
    yield "A valid API key is required."


def _validate(header: str | None, validator: KeyValidator) -> Credential | Rejection:
    if header is None:
        return Rejection(RejectionReason.MISSING)
    bearer = _BEARER.fullmatch(header)
    return Rejection(RejectionReason.MALFORMED) if bearer is None else validator.validate(bearer[1])


def _is_unambiguous_path(req: Request) -> bool:
    """Return whether the path can be split in one way only, and has no trailing slash."""
    sent = req.env.get("REQUEST_URI") or req.env.get("RAW_URI") or ""
    ambiguous = _AMBIGUOUS_PATH.match(sent.partition("?")[0]) is not None
    return not ambiguous and not _ends_with_slash(req)


def _ends_with_slash(req: Request) -> bool:
    return req.path != "/" and req.path.endswith("/")
