"""Error pages: one table of the core's errors, and one of titles and texts by status."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

import falcon
from attrs import frozen
from falcon import Request, Response

from recipient_fields.application import MissingGroup
from recipient_fields.domain import (
    AdministratorNotFound,
    AdministratorShared,
    ApiKeyNotActive,
    ApiKeyNotFound,
    CatalogTooLarge,
    FieldLimitReached,
    FieldNotFound,
    HistoryRemoved,
    InvalidInput,
    InvitationNotFound,
    KeyTaken,
    LastAdministrator,
    LinkNotValid,
    OperationForbidden,
    OrganizationNotFound,
    PasswordHashingBusy,
    RecipientFieldsError,
    SignInThrottled,
    StorageUnavailable,
    VersionConflict,
)
from recipient_fields.domain.integrations import (
    EspFieldTaken,
    EspRefused,
    EspUnavailable,
    IntegrationChanged,
    IntegrationNotFound,
    SyncOvertaken,
)

from .pages import Pages
from .requests import visit
from .submitted_forms import SessionEnded, SubmittedBefore

STATUSES: Mapping[type[RecipientFieldsError], HTTPStatus] = {
    InvalidInput: HTTPStatus.BAD_REQUEST,
    FieldNotFound: HTTPStatus.NOT_FOUND,
    OrganizationNotFound: HTTPStatus.NOT_FOUND,
    IntegrationNotFound: HTTPStatus.NOT_FOUND,
    ApiKeyNotFound: HTTPStatus.NOT_FOUND,
    AdministratorNotFound: HTTPStatus.NOT_FOUND,
    InvitationNotFound: HTTPStatus.NOT_FOUND,
    LinkNotValid: HTTPStatus.GONE,
    OperationForbidden: HTTPStatus.FORBIDDEN,
    AdministratorShared: HTTPStatus.CONFLICT,
    LastAdministrator: HTTPStatus.CONFLICT,
    ApiKeyNotActive: HTTPStatus.CONFLICT,
    FieldLimitReached: HTTPStatus.CONFLICT,
    CatalogTooLarge: HTTPStatus.CONFLICT,
    HistoryRemoved: HTTPStatus.CONFLICT,
    KeyTaken: HTTPStatus.CONFLICT,
    VersionConflict: HTTPStatus.CONFLICT,
    EspFieldTaken: HTTPStatus.CONFLICT,
    IntegrationChanged: HTTPStatus.CONFLICT,
    SyncOvertaken: HTTPStatus.CONFLICT,
    EspRefused: HTTPStatus.CONFLICT,
    SignInThrottled: HTTPStatus.TOO_MANY_REQUESTS,
    MissingGroup: HTTPStatus.NOT_IMPLEMENTED,
    EspUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    PasswordHashingBusy: HTTPStatus.SERVICE_UNAVAILABLE,
    StorageUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The status of an error that a page does not show itself."""

_HIDDEN = {HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE}
"""The statuses whose page does not show the message of the error, which may reveal the cause."""

_PAGES: Mapping[HTTPStatus, tuple[str, str]] = {
    HTTPStatus.BAD_REQUEST: ("The request is not valid", "Go back, reload the page and try again."),
    HTTPStatus.FORBIDDEN: ("You can't do this", "Nothing was changed."),
    HTTPStatus.NOT_FOUND: (
        "There is no such page",
        "What it showed was deleted, or the address is not complete.",
    ),
    HTTPStatus.METHOD_NOT_ALLOWED: (
        "This address only receives forms",
        "Open the page with the form, and submit it again.",
    ),
    HTTPStatus.CONFLICT: ("This is not possible at the moment", "Reload the page and try again."),
    HTTPStatus.GONE: ("This link does not work", "Ask for a new one."),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "The form is too large",
        "Enter less text, or upload a smaller file.",
    ),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: (
        "The request is not a form",
        "Use the form on the page.",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: ("Too many attempts", "Wait, then try again."),
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        "The console failed",
        "Try again. If this continues, send the request id to your operator.",
    ),
    HTTPStatus.NOT_IMPLEMENTED: (
        "This page needs another storage",
        "Ask your operator if you need it.",
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        "The console is temporarily unavailable",
        "Wait a moment, then try again.",
    ),
}
_RETRY_AFTER_SECONDS = 1

_log = logging.getLogger(__name__)


@frozen
class ErrorPages:
    """Sends an error page for each error that no page handles.

    For a form that was submitted before, it redirects. For a form whose session has ended, it sends
    the sign-in page, or, if the browser has signed in again, the page that continues with the form.
    """

    pages: Pages

    def add_to(self, app: falcon.App[Request, Response]) -> None:
        """Handle all errors of the application."""
        app.add_error_handler(Exception, self._handle_unexpected)
        app.add_error_handler(falcon.HTTPError, self._handle_http_error)
        app.add_error_handler(SubmittedBefore, self._handle_repetition)
        app.add_error_handler(SessionEnded, self._handle_ended_session)
        for kind in STATUSES:
            app.add_error_handler(kind, self._handle_core_error)

    def _handle_core_error(
        self,
        req: Request,
        resp: Response,
        error: RecipientFieldsError,
        _params: object,
    ) -> None:
        status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
        retry_after = getattr(error, "retry_after", None)
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            retry_after = retry_after or _RETRY_AFTER_SECONDS
            if not getattr(error, "logged", False):
                _log.warning("request %s: %s", req.context.get("request_id"), error)
        if retry_after is not None:
            resp.set_header("Retry-After", str(retry_after))
        self._send(req, resp, status, None if status in _HIDDEN else str(error))

    def _handle_http_error(
        self,
        req: Request,
        resp: Response,
        error: falcon.HTTPError,
        _params: object,
    ) -> None:
        resp.set_headers(error.headers or {})
        self._send(req, resp, HTTPStatus(error.status_code), error.description)

    def _handle_repetition(
        self, req: Request, resp: Response, error: SubmittedBefore, _params: object
    ) -> None:
        self.pages.redirect(req, resp, error.path, error.flash)

    def _handle_ended_session(
        self, req: Request, resp: Response, ended: SessionEnded, _params: object
    ) -> None:
        if visit(req).session is None:
            self.pages.send(
                req,
                resp,
                "sign_in.html",
                status=HTTPStatus.UNAUTHORIZED,
                email="",
                next=ended.path,
                kept=ended.kept,
                notice=ended.message,
                error=None,
            )
        else:
            self.pages.send(
                req,
                resp,
                "continue.html",
                status=HTTPStatus.FORBIDDEN,
                path=ended.path,
                kept=ended.kept,
            )

    def _handle_unexpected(
        self, req: Request, resp: Response, error: Exception, _params: object
    ) -> None:
        _log.error("request %s failed", req.context.get("request_id"), exc_info=error)
        self._send(req, resp, HTTPStatus.INTERNAL_SERVER_ERROR, None)

    def _send(self, req: Request, resp: Response, status: HTTPStatus, message: str | None) -> None:
        title, text = _PAGES.get(status, (status.phrase, "Go back and try again."))
        self.pages.send(
            req, resp, "error.html", status=status, title=title, message=message or text
        )
