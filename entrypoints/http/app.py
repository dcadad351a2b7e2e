"""The WSGI application."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import falcon
from falcon import Request, Response
from falcon.routing import CompiledRouter

from recipient_fields.application import ContentService, Core, KeyValidator
from recipient_fields.domain import (
    BatchRejected,
    KeyTaken,
    RecipientFieldsError,
    StorageUnavailable,
)

from .content import (
    ConditionCompilations,
    ContentConversions,
    ContentExports,
    ContentPreviews,
    FieldCodes,
    MergeTags,
)
from .esp import IntegrationCollection
from .fields.history import FieldHistory, History
from .fields.resources import BatchCollection, FieldCollection, FieldItem, FieldRestoration
from .heavy_requests import HeavyRequests
from .openapi.reference_page import (
    REFERENCE_PATH,
    OpenApiDocument,
    ReferenceFile,
    ReferencePage,
    redirect_browsers_to,
)
from .problems import (
    CODES,
    Problem,
    RequestRejected,
    problem,
    problem_of,
    render_error,
)
from .readiness import CheckWithDeadline, Liveness, Readiness
from .recipients import RecipientChecks, RecipientSchemaItem
from .request_guard import RequestGuard, ResponseHeaders
from .request_log import DEFAULT_REQUEST_LOG, OnResponse, RequestLog, ResponseHooks
from .requests import credential, logged_request_id, request_id
from .resource import JSON, Resource
from .responses import LargeResponses, ResponseCache, UnreadResponses

DEFAULT_CACHE_BYTES = 64 * 1024 * 1024
"""Enough for the lists of 1,000 organizations with 100 fields each."""

_log = logging.getLogger(__name__)


class Api(falcon.App[Request, Response]):
    """An application that knows its routes: the OpenAPI document describes them."""

    __slots__ = ("routes",)

    def __init__(self, **options: Any) -> None:
        self.routes: dict[str, Resource] = {}
        """The resources by the templates of their paths."""
        super().__init__(**options)

    def add_route(self, uri_template: str, resource: object, **options: Any) -> None:
        """Send the requests for these paths to the resource."""
        if isinstance(resource, Resource):
            self.routes[uri_template] = resource
        super().add_route(uri_template, resource, **options)


def create_app(
    core: Core,
    on_response: Iterable[OnResponse] = (),
    *,
    check: Callable[[], None] | None = None,
    cache_bytes: int = DEFAULT_CACHE_BYTES,
    heavy: HeavyRequests | None = None,
    unread: UnreadResponses | None = None,
    request_log: RequestLog = DEFAULT_REQUEST_LOG,
    home: str = REFERENCE_PATH,
) -> Api:
    """Return the service as a WSGI application.

    `check` raises StorageUnavailable if the service is not ready. It has a deadline of 500 ms, and
    the storage's own check is the default. After every response, the application calls
    `request_log` and each hook of `on_response` with the request, the response and the duration in
    seconds. `cache_bytes` limits the memory of the response cache. 0 disables it. `heavy` has the
    slots for heavy requests: the default is for a host with four threads. `unread` limits the
    memory of large responses. `home` is the path to which `/` redirects browsers.
    """
    app = create_app_without_routes(core.validator, on_response, request_log)
    heavy = heavy or HeavyRequests()
    app.add_error_handler(KeyTaken, _explaining_taken_keys(core.content, heavy))
    app.add_middleware(LargeResponses(unread or UnreadResponses(), heavy.sending))
    service, cache = core.fields, ResponseCache(cache_bytes)
    check = check or core.storage.check
    readiness = check if isinstance(check, CheckWithDeadline) else CheckWithDeadline(check)
    app.add_route("/api/v1/recipient_fields", FieldCollection(service, cache, heavy))
    app.add_route("/api/v1/recipient_fields/{id_or_key}", FieldItem(service, cache))
    app.add_route("/api/v1/recipient_fields/{id_or_key}/changes", FieldHistory(service, heavy))
    app.add_route("/api/v1/recipient_fields/{id_or_key}/restore", FieldRestoration(service))
    app.add_route(
        "/api/v1/recipient_fields/{id_or_key}/codes", FieldCodes(core.content, cache, heavy)
    )
    app.add_route("/api/v1/merge_tags", MergeTags(core.content, cache, heavy))
    app.add_route("/api/v1/recipient_field_batches", BatchCollection(service, heavy))
    app.add_route("/api/v1/recipient_field_changes", History(service, heavy))
    app.add_route("/api/v1/recipient_schema", RecipientSchemaItem(core.content, cache, heavy))
    app.add_route("/api/v1/recipient_checks", RecipientChecks(core.content, heavy))
    app.add_route("/api/v1/condition_compilations", ConditionCompilations(core.content, heavy))
    app.add_route("/api/v1/content_exports", ContentExports(core.content, heavy))
    app.add_route("/api/v1/content_conversions", ContentConversions(core.content, heavy))
    app.add_route("/api/v1/content_previews", ContentPreviews(core.content, heavy))
    app.add_route("/api/v1/integrations", IntegrationCollection(core.content))
    app.add_route("/openapi.json", OpenApiDocument(app.routes, core.profiles))
    app.add_route("/docs", ReferencePage())
    app.add_route("/docs/{file}", ReferenceFile())
    app.add_sink(redirect_browsers_to(home), r"/\Z")
    app.add_route("/healthz", Liveness())
    app.add_route("/readyz", Readiness(readiness))
    return app


def create_app_without_routes(
    validator: KeyValidator | None,
    on_response: Iterable[OnResponse] = (),
    request_log: RequestLog = DEFAULT_REQUEST_LOG,
) -> Api:
    """Return an application with the middleware and the error handlers of the service."""
    router = CompiledRouter()
    middleware = (
        ResponseHooks((request_log, *on_response)),
        ResponseHeaders(),
        RequestGuard(validator, router),
    )
    app = Api(middleware=middleware, router=router)
    app.add_error_handler(Exception, _handle_unexpected_error)
    app.add_error_handler(falcon.HTTPError, _handle_falcon_error)
    for kind in (*CODES, BatchRejected):
        app.add_error_handler(kind, _handle_core_error)
    app.add_error_handler(RequestRejected, _handle_rejected_request)
    return app


def _handle_core_error(
    req: Request, resp: Response, error: RecipientFieldsError, _params: object
) -> None:
    req.context.error = error
    response = problem_of(error)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not _is_logged(error):
        _log.warning("request %s: %s", logged_request_id(req), error)
    _send(req, resp, response)


def _explaining_taken_keys(
    content: ContentService, heavy: HeavyRequests
) -> Callable[[Request, Response, KeyTaken, object], None]:
    """Return the handler that names a synced field whose key a new field would have.

    It reads the catalog, so it requires a slot as other reads do. If none is free, the message is
    that of the error.
    """

    def handle(req: Request, resp: Response, taken: KeyTaken, params: object) -> None:
        if taken.is_synced:
            with suppress(RequestRejected), heavy.reading_catalog(credential(req)):
                taken = content.explain_taken_key(credential(req).organization_id, taken)
        _handle_core_error(req, resp, taken, params)

    return handle


def _is_logged(error: BaseException | None) -> bool:
    """Return whether the storage has logged the outage that caused this error."""
    if error is None:
        return False
    logged = isinstance(error, StorageUnavailable) and error.logged
    return logged or _is_logged(error.__cause__)


def _handle_rejected_request(
    req: Request, resp: Response, error: RequestRejected, _params: object
) -> None:
    _send(req, resp, error.problem)


def _handle_falcon_error(
    req: Request, resp: Response, error: falcon.HTTPError, _params: object
) -> None:
    """Report what Falcon rejects: a path without a route, or malformed HTTP."""
    code = "not_found" if isinstance(error, falcon.HTTPNotFound) else "malformed_request"
    _send(req, resp, problem(code))


def _handle_unexpected_error(
    req: Request, resp: Response, error: Exception, _params: object
) -> None:
    _log.error("request %s failed", logged_request_id(req), exc_info=error)
    _send(req, resp, problem("internal_error"))


def _send(req: Request, resp: Response, problem: Problem) -> None:
    resp.status = problem.status
    resp.set_headers(problem.headers)
    resp.content_type = JSON
    resp.data = render_error(problem, request_id(req))
