"""Responses to requests that the server rejects before the application receives them."""

from __future__ import annotations

from html import escape

from attrs import frozen

from ..http.client_addresses import Sender
from ..http.problems import Problem, problem, render_error
from ..http.request_log import DEFAULT_REQUEST_LOG, RequestLog
from ..http.requests import HIDDEN_KEY, admits_html, choose_request_id, redacted_request_id
from ..http.resource import HTML, JSON
from ..server.rejections import RejectedRequest, RejectionResponse

_HTML = f"{HTML}; charset=utf-8"
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1><p>{message}</p><p>Request id: <code>{request_id}</code></p></body>
</html>
"""
_PAGE_POLICY = ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")


@frozen
class HostRejections:
    """A `RejectionHandler` that responds as the application does: error object and headers."""

    request_log: RequestLog = DEFAULT_REQUEST_LOG
    pages: str | None = None
    """The path below which a browser gets an HTML page, such as `/console`, if there is one."""

    def __call__(self, rejected: RejectedRequest) -> RejectionResponse:
        """Log the request, and return the error object, or a page to a browser."""
        headers = rejected.headers
        refused = problem(rejected.code)
        request_id = choose_request_id(headers.get("X_REQUEST_ID"))
        self.request_log.log_rejection(
            Sender(rejected.peer, headers.get("X_FORWARDED_FOR"), headers.get("FORWARDED")),
            request_id=_loggable(request_id, rejected),
            method=rejected.method,
            status=refused.status,
            seconds=rejected.seconds,
        )
        media_type, body = self._render(refused, request_id, rejected)
        return RejectionResponse(
            f"{refused.status.value} {refused.status.phrase}",
            (
                ("Content-Type", media_type),
                *([_PAGE_POLICY] if media_type == _HTML else []),
                ("Cache-Control", "no-store"),
                ("Vary", "Authorization, Accept"),
                ("X-Content-Type-Options", "nosniff"),
                ("X-Request-Id", request_id),
                *refused.headers.items(),
            ),
            body,
        )

    def _render(
        self, refused: Problem, request_id: str, rejected: RejectedRequest
    ) -> tuple[str, bytes]:
        """Return the media type and the body of the response."""
        accepted = rejected.headers.get("ACCEPT", "")
        has_pages = self.pages is not None and f"{rejected.path}/".startswith(f"{self.pages}/")
        if has_pages and admits_html(accepted):
            title = escape(refused.status.phrase)
            page = _PAGE.format(
                title=title, message=escape(refused.message), request_id=escape(request_id)
            )
            return _HTML, page.encode()
        return JSON, render_error(refused, request_id)


def _loggable(request_id: str, rejected: RejectedRequest) -> str:
    """Return the id for the log. It can be a key, also one in a header that was not parsed."""
    if rejected.unparsed.count(request_id.encode()) > 1:
        return HIDDEN_KEY
    return redacted_request_id(request_id, rejected.headers.get("AUTHORIZATION"))
