"""The WSGI application."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from http import HTTPStatus

import falcon
from falcon.routing import CompiledRouter

from recipient_fields.application import KeyValidator, RecipientFieldService
from recipient_fields.domain import RecipientFieldsError, StorageUnavailable

from .media_types import JSON, PROBLEM, prefers_problem
from .openapi.reference_page import (
    ContractDocument,
    ReferenceFile,
    ReferencePage,
    send_browsers_to_reference,
)
from .problems import CODES, Problem, Refused, problem, problem_of, render_error, render_problem
from .readiness import TimedCheck
from .request_guard import Gate, logged_request_id, request_id
from .request_log import DEFAULT_REQUEST_LOG, Observation, Observer, RequestLog
from .resources import FieldCollection, FieldItem, Liveness, Readiness
from .response_cache import KeptAnswers

MOST_KEPT_BYTES = 64 * 1024 * 1024
"""Of answers to reads: the lists of a thousand organizations with a hundred fields each."""

_log = logging.getLogger(__name__)


def create_app(
    service: RecipientFieldService,
    validator: KeyValidator,
    check: Callable[[], None],
    observers: Iterable[Observer] = (),
    *,
    most_kept_bytes: int = MOST_KEPT_BYTES,
    request_log: RequestLog = DEFAULT_REQUEST_LOG,
) -> falcon.App[falcon.Request, falcon.Response]:
    """The service as a WSGI application.

    `check` raises StorageUnavailable where the service is not ready; it is given 500 ms.
    `request_log` and the `observers` are called for every response. `most_kept_bytes`: see
    KeptAnswers.
    """
    app = bare_app(validator, observers, request_log)
    kept = KeptAnswers(most_kept_bytes)
    timed = check if isinstance(check, TimedCheck) else TimedCheck(check)
    app.add_route("/api/v1/recipient_fields", FieldCollection(service, kept))
    app.add_route("/api/v1/recipient_fields/{reference}", FieldItem(service, kept))
    app.add_route("/openapi.json", ContractDocument())
    app.add_route("/docs", ReferencePage())
    app.add_route("/docs/{file}", ReferenceFile())
    app.add_sink(send_browsers_to_reference, r"/\Z")
    app.add_route("/healthz", Liveness())
    app.add_route("/readyz", Readiness(timed))
    return app


def bare_app(
    validator: KeyValidator | None,
    observers: Iterable[Observer] = (),
    request_log: RequestLog = DEFAULT_REQUEST_LOG,
) -> falcon.App[falcon.Request, falcon.Response]:
    """An application that observes, lets in and refuses as the service does, without a route."""
    router = CompiledRouter()
    middleware = (Observation((request_log, *observers)), Gate(validator, router))
    app = falcon.App(middleware=middleware, router=router)
    app.add_error_handler(Exception, _answer_unexpected)
    app.add_error_handler(falcon.HTTPError, _answer_framework)
    for kind in CODES:
        app.add_error_handler(kind, _answer_core)
    app.add_error_handler(Refused, _answer_refused)
    return app


def _answer_core(
    req: falcon.Request, resp: falcon.Response, error: RecipientFieldsError, _params: object
) -> None:
    req.context.error = error
    answered = problem_of(error)
    if answered.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not _is_logged(error):
        _log.warning("request %s: %s", logged_request_id(req), error)
    _answer(req, resp, answered)


def _is_logged(error: BaseException | None) -> bool:
    """Return whether the storage has logged the outage that caused this error."""
    if error is None:
        return False
    logged = isinstance(error, StorageUnavailable) and error.logged
    return logged or _is_logged(error.__cause__)


def _answer_refused(
    req: falcon.Request, resp: falcon.Response, error: Refused, _params: object
) -> None:
    _answer(req, resp, error.problem)


def _answer_framework(
    req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: object
) -> None:
    """Falcon finds no route, or a request that is not HTTP as it should be."""
    code = "not_found" if isinstance(error, falcon.HTTPNotFound) else "malformed_request"
    _answer(req, resp, problem(code))


def _answer_unexpected(
    req: falcon.Request, resp: falcon.Response, error: Exception, _params: object
) -> None:
    _log.error("request %s failed", logged_request_id(req), exc_info=error)
    _answer(req, resp, problem("internal_error"))


def _answer(req: falcon.Request, resp: falcon.Response, problem: Problem) -> None:
    resp.status = problem.status
    resp.set_headers(problem.headers)
    if prefers_problem(req):
        resp.content_type = PROBLEM
        resp.data = render_problem(problem, request_id(req))
    else:
        resp.content_type = JSON
        resp.data = render_error(problem, request_id(req))
