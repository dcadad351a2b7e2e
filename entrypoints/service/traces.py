"""OpenTelemetry traces: one span per request, and one per call of the storage.

Spans contain no path, query string, header, body, API key, argument or error message. The SDK
exports them in a separate thread. If its queue is full, it drops spans, so that requests never wait
for the collector. The `OTEL_*` variables of the OpenTelemetry specification configure the sampler,
the queue and the exporter.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from http import HTTPStatus
from importlib.metadata import version
from threading import Thread, main_thread
from time import monotonic
from types import SimpleNamespace
from typing import ParamSpec, TypeVar, cast
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from falcon import Request, Response

from recipient_fields.application import FieldCreator, Storage
from recipient_fields.application.extras import requires_extra
from recipient_fields.application.ports.storage import repository_ports
from recipient_fields.domain import RecipientFieldsError, StorageUnavailable

from ..http.request_log import UNROUTED, route_of
from ..http.requests import logged_request_id
from ..http.resource import METHODS
from .settings import InvalidSettings

with requires_extra(
    "traces",
    "opentelemetry",
    "opentelemetry.exporter",
    "opentelemetry.exporter.otlp",
    "opentelemetry.exporter.otlp.proto",
    "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk",
):
    from opentelemetry.context import Context
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

FLUSH_TIMEOUT = 3.0
"""Seconds. A drain takes up to 20 s, and supervisors kill the process after 25 s or more."""
_WARNING_INTERVAL = 60.0
"""Seconds between two warnings of the SDK in the log."""
_UNKNOWN_METHOD = "_OTHER"
"""The value that OpenTelemetry's semantic conventions define."""
_URL = re.compile(r"\burl: \S+")
"""The URL in messages of the HTTP client. It can contain a token."""

_OPTIONAL_PORTS = (FieldCreator,)
"""Protocols that a repository may implement besides its own."""

_P = ParamSpec("_P")
_R = TypeVar("_R")

_log = logging.getLogger(__name__)


class Traces:
    """The spans of one process, which a thread exports until `close`."""

    def __init__(self, storage_kind: str) -> None:
        """Start the thread. `storage_kind` is the scheme of the storage URL.

        Raises: InvalidSettings if the SDK rejects the value of an `OTEL_*` variable.
        """
        try:
            exporter = BatchSpanProcessor(OTLPSpanExporter())
            self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        except ValueError as error:
            raise InvalidSettings(
                f"A variable OTEL_* has an invalid value: {str(error).rstrip('.')}. Correct it."
            ) from error
        self._provider.add_span_processor(exporter)
        self._tracer = self._provider.get_tracer("recipient-fields", version("recipient-fields"))
        self._propagator = TraceContextTextMapPropagator()
        self._storage_kind = storage_kind
        _limit_warnings()

    def trace_requests(self, application: WSGIApplication) -> WSGIApplication:
        """Return the application with one span per request.

        The span belongs to the trace in the client's `traceparent`, if that is valid. `tracestate`
        is ignored, because it would export text that the client has chosen.
        """

        def traced(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            method = environ["REQUEST_METHOD"]
            attributes = {
                "http.request.method": method if method in METHODS else _UNKNOWN_METHOD,
                "url.scheme": environ["wsgi.url_scheme"],
            }
            carrier = {"traceparent": environ.get("HTTP_TRACEPARENT", "")}
            parent = self._propagator.extract(carrier, Context())
            name = _span_name(method, UNROUTED)
            with _span(self._tracer, name, SpanKind.SERVER, attributes, parent):
                return application(environ, start_response)

        return traced

    def record_response(self, req: Request, resp: Response, _seconds: float) -> None:
        """Add the route and the status to the span of the request."""
        span, route, status = get_current_span(), route_of(req), resp.status_code
        span.update_name(_span_name(req.method, route))
        span.set_attribute("http.response.status_code", status)
        span.set_attribute("recipient_fields.request_id", logged_request_id(req))
        if route != UNROUTED:
            span.set_attribute("http.route", route)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            span.set_attribute("error.type", str(status))
            span.set_status(Status(StatusCode.ERROR))

    def trace_storage(self, storage: Storage) -> Storage:
        """Return the repositories that the storage has, with one span per call."""
        traced = SimpleNamespace(check=storage.check, close=storage.close)
        for name, port in repository_ports(storage).items():
            repository = getattr(storage, name)
            setattr(traced, name, self._traced_repository(port, repository))
        return cast(Storage, traced)

    def close(self) -> None:
        """Export the remaining spans, for at most `FLUSH_TIMEOUT` seconds."""
        flush = Thread(target=self._provider.shutdown, name="traces-flush", daemon=True)
        flush.start()
        flush.join(FLUSH_TIMEOUT)

    def close_at_exit(self) -> None:
        """Call `close` when the main thread ends, also in processes that skip `atexit`."""

        def wait() -> None:
            main_thread().join()
            self.close()

        Thread(target=wait, name="traces-exit").start()

    def _traced_repository(self, port: type, repository: object) -> SimpleNamespace:
        """Return the methods of the repository's ports, with one span per call."""

        def traced(name: str, method: Callable[_P, _R]) -> Callable[_P, _R]:
            span_name = f"{port.__name__}.{name}"
            attributes = {"db.system.name": self._storage_kind, "db.operation.name": name}

            @wraps(method)
            def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
                with _span(self._tracer, span_name, SpanKind.CLIENT, attributes):
                    return method(*args, **kwargs)

            return call

        ports = [port, *(each for each in _OPTIONAL_PORTS if isinstance(repository, each))]
        names = [name for each in ports for name in vars(each) if not name.startswith("_")]
        return SimpleNamespace(**{name: traced(name, getattr(repository, name)) for name in names})


@contextmanager
def _span(
    tracer: Tracer,
    name: str,
    kind: SpanKind,
    attributes: Mapping[str, str],
    parent: Context | None = None,
) -> Iterator[None]:
    """Return a context manager that records a span, and the class of an error.

    The span fails unless the error is about the request, such as FieldNotFound.
    """
    with tracer.start_as_current_span(
        name,
        parent,
        kind,
        attributes,
        # Both would export the message of the error.
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except Exception as error:
            span.set_attribute("error.type", type(error).__name__)
            if isinstance(error, StorageUnavailable) or not isinstance(error, RecipientFieldsError):
                span.set_status(Status(StatusCode.ERROR))
            raise


def _span_name(method: str, route: str) -> str:
    known = method if method in METHODS else "HTTP"
    return known if route == UNROUTED else f"{known} {route}"


def _resource() -> Resource:
    """Return what describes this process. `OTEL_SERVICE_NAME` overrides the name."""
    ours = {"service.name": "recipient-fields", "service.version": version("recipient-fields")}
    return Resource.create(ours).merge(OTELResourceDetector().detect())


class _OncePerMinute(logging.Handler):
    """Logs the first warning of each minute, without its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._next = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        now = monotonic()  # `logging` holds a lock during this call.
        if now < self._next:
            return
        self._next = now + _WARNING_INTERVAL
        message = _URL.sub("url: …", record.getMessage())
        _log.warning("OpenTelemetry can't export all traces: %s", message)


def _limit_warnings() -> None:
    """Replace the messages of the SDK, which logs every attempt, by one per minute."""
    sdk = logging.getLogger("opentelemetry")
    sdk.handlers, sdk.propagate = [_OncePerMinute()], False
    sdk.setLevel(logging.WARNING)
