"""Responses to requests that the server rejects before the application receives them."""

from __future__ import annotations

from attrs import frozen

from ..rejections import RejectedRequest, RejectionResponse
from .client_addresses import Sender
from .media_types import JSON, PROBLEM, prefers_problem_document
from .problems import problem, render_error, render_problem
from .request_id import HIDDEN_KEY, choose_request_id, redacted_request_id
from .request_log import DEFAULT_REQUEST_LOG, RequestLog


@frozen
class HostRejections:
    """A `RejectionHandler` that responds as the application does: error object and headers."""

    request_log: RequestLog = DEFAULT_REQUEST_LOG

    def __call__(self, rejected: RejectedRequest) -> RejectionResponse:
        """Log the request, and return the error object or, if the client prefers it, a problem."""
        headers = rejected.headers
        refused = problem(rejected.code)
        request_id = choose_request_id(headers.get("X_REQUEST_ID"))
        as_problem = prefers_problem_document(headers.get("ACCEPT", ""))
        self.request_log.log_rejection(
            Sender(rejected.peer, headers.get("X_FORWARDED_FOR"), headers.get("FORWARDED")),
            request_id=_loggable(request_id, rejected),
            method=rejected.method,
            status=refused.status,
            seconds=rejected.seconds,
        )
        return RejectionResponse(
            f"{refused.status.value} {refused.status.phrase}",
            (
                ("Content-Type", PROBLEM if as_problem else JSON),
                ("Cache-Control", "no-store"),
                ("Vary", "Authorization, Accept"),
                ("X-Content-Type-Options", "nosniff"),
                ("X-Request-Id", request_id),
                *refused.headers.items(),
            ),
            (render_problem if as_problem else render_error)(refused, request_id),
        )


def _loggable(request_id: str, rejected: RejectedRequest) -> str:
    """Return the id for the log. It can be a key, also one in a header that was not parsed."""
    if rejected.unparsed.count(request_id.encode()) > 1:
        return HIDDEN_KEY
    return redacted_request_id(request_id, rejected.headers.get("AUTHORIZATION"))
