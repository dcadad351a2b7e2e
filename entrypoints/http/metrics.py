"""The Prometheus metrics, and the application with the probes and metrics for operators.

Labels have few values, for any input of clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from operator import itemgetter
from platform import python_version
from time import time
from typing import ClassVar, NamedTuple, Protocol

from attrs import frozen
from falcon import Request, Response

from recipient_fields.application import KeyValidator, Pooled
from recipient_fields.application.extras import requires_extra
from recipient_fields.domain import (
    ApiKeyId,
    Credential,
    InvalidField,
    KeyValidationUnavailable,
    OrganizationId,
    RecipientFieldsError,
    Rejection,
    StorageUnavailable,
)

from .app import Api, create_app_without_routes
from .heavy_requests import HeavyRequests
from .readiness import Liveness, Readiness
from .request_log import DEFAULT_REQUEST_LOG, RequestLog, method_of, route_of
from .resource import Resource
from .responses import UnreadResponses

with requires_extra("http", "prometheus_client"):
    from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
    from prometheus_client.registry import Collector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_KEY_REMEMBERED = 25 * 60 * 60
"""Seconds. A daily job may start late."""


class ServerStatistics(Protocol):
    """The counters of the server. Another thread reads them."""

    @property
    def connections(self) -> int:
        """The number of open connections."""

    @property
    def in_flight(self) -> int:
        """The number of requests without a response so far."""

    @property
    def shed(self) -> int:
        """The number of requests rejected because of overload."""

    @property
    def refused(self) -> int:
        """The number of requests rejected because they were malformed, too large or too slow."""


class Metrics:
    """The metrics of one application and its process, in a separate registry."""

    def __init__(self) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        build = Info(
            "recipient_fields_build",
            "The versions of Recipient Fields and of Python.",
            registry=self.registry,
        )
        build.info({"version": version("recipient-fields"), "python": python_version()})
        self._requests = Counter(
            "recipient_fields_requests",
            "Responses sent.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "recipient_fields_request_seconds",
            "Durations of requests, from the moment a thread started them.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._validations = Counter(
            "recipient_fields_key_validations",
            "Validations of API keys: valid, refused, or unavailable if the validation failed.",
            ("result",),
            registry=self.registry,
        )
        self._storage_errors = Counter(
            "recipient_fields_storage_errors",
            "Requests that failed because of the storage or the key validator, by error class.",
            ("kind",),
            registry=self.registry,
        )
        self._rejected_by_storage = Counter(
            "recipient_fields_input_stopped_by_storage",
            "Invalid input that only the storage rejected. Each one is a defect: should stay 0.",
            registry=self.registry,
        )
        self._expiries = _KeyExpiries()
        self.registry.register(_MetricsOnDemand(self._expiries.collect))
        self._request_children: dict[tuple[str, str, int], Counter] = {}
        self._seconds_children: dict[str, Histogram] = {}

    def record_response(self, req: Request, resp: Response, seconds: float) -> None:
        """Count a response. Labelled metrics are cached, because looking them up is slow."""
        route, method, status = route_of(req), method_of(req), resp.status_code
        requests = self._request_children.get((route, method, status))
        if requests is None:
            requests = self._requests.labels(route, method, str(status))
            self._request_children[route, method, status] = requests
        requests.inc()
        duration = self._seconds_children.get(route)
        if duration is None:
            duration = self._seconds_children[route] = self._seconds.labels(route)
        duration.observe(seconds)
        error = getattr(req.context, "error", None)
        if error is not None:
            self._record_error(error)

    def counting(self, validator: KeyValidator) -> KeyValidator:
        """Return a validator that counts the results of this one."""
        valid, refused, unavailable = (
            self._validations.labels(result) for result in ("valid", "refused", "unavailable")
        )
        return _CountedKeyValidator(validator, valid, refused, unavailable, self._expiries)

    def watch_server(self, server: ServerStatistics) -> None:
        """Report the server's connections, and the requests it processes or rejects."""

        def statistics() -> Iterable[Metric]:
            yield GaugeMetricFamily(
                "recipient_fields_requests_in_flight",
                "Requests without a response so far.",
                server.in_flight,
            )
            yield GaugeMetricFamily(
                "recipient_fields_connections", "Open connections.", server.connections
            )
            yield CounterMetricFamily(
                "recipient_fields_requests_shed",
                "Requests rejected because of overload.",
                server.shed,
            )
            yield CounterMetricFamily(
                "recipient_fields_requests_malformed",
                "Requests rejected because they were malformed, too large or too slow.",
                server.refused,
            )

        self.registry.register(_MetricsOnDemand(statistics))

    def watch_readiness(self, check: Callable[[], None]) -> None:
        """Report whether the service is ready, as `/readyz` does.

        `check` raises StorageUnavailable if it is not ready. It must not block.
        """

        def readiness() -> Iterable[Metric]:
            try:
                check()
                ready = 1
            except StorageUnavailable:
                ready = 0
            yield GaugeMetricFamily(
                "recipient_fields_ready",
                "1 if the storage responds and its schema is current, 0 if not or while draining.",
                ready,
            )

        self.registry.register(_MetricsOnDemand(readiness))

    def watch_large_responses(self, heavy: HeavyRequests, unread: UnreadResponses) -> None:
        """Report the heavy requests without a slot, and the responses that were interrupted."""

        def counters() -> Iterable[Metric]:
            yield CounterMetricFamily(
                "recipient_fields_heavy_requests_rejected",
                "Requests rejected because all slots for heavy requests were in use.",
                heavy.rejected,
            )
            yield CounterMetricFamily(
                "recipient_fields_responses_interrupted",
                "Large responses interrupted because their clients did not read them.",
                unread.interrupted,
            )

        self.registry.register(_MetricsOnDemand(counters))

    def watch_pool(self, storage: Pooled) -> None:
        """Report the storage's connections."""

        def connections() -> Iterable[Metric]:
            family = GaugeMetricFamily(
                "recipient_fields_pool",
                "Connections to the storage: open, in use, and requests that wait for one.",
                labels=("state",),
            )
            for state, number in storage.pool_use().items():
                family.add_metric((state,), number)
            return (family,)

        self.registry.register(_MetricsOnDemand(connections))

    def _record_error(self, error: RecipientFieldsError) -> None:
        match error:
            case StorageUnavailable() | KeyValidationUnavailable():
                self._storage_errors.labels(type(_root(error)).__name__).inc()
            # Errors of the domain have no cause. Errors that an adapter translates have one.
            case InvalidField(__cause__=BaseException()):
                self._rejected_by_storage.inc()


@frozen
class MetricsPage(Resource):
    """`/metrics`."""

    media_types: ClassVar[tuple[str, ...]] = ("text/plain",)

    metrics: Metrics

    def on_get(self, _req: Request, resp: Response) -> None:
        """Send all metrics in Prometheus' text format."""
        resp.content_type = CONTENT_TYPE_PLAIN_0_0_4
        resp.data = generate_latest(self.metrics.registry)


@frozen
class _CountedKeyValidator:
    """A KeyValidator that counts the results of another one, and records when keys expire."""

    _validator: KeyValidator
    _valid: Counter
    _refused: Counter
    _unavailable: Counter
    _expiries: _KeyExpiries

    def validate(self, presented: str, /) -> Credential | Rejection:
        try:
            result = self._validator.validate(presented)
        except KeyValidationUnavailable:
            self._unavailable.inc()
            raise
        if isinstance(result, Credential):
            self._valid.inc()
            self._expiries.record(result)
        else:
            self._refused.inc()
            if result is not None:  # Validators of applications can return None.
                self._expiries.forget(result)
        return result


class _KeyExpiries:
    """The expiries of the keys that requests have used. Any thread may call the methods.

    A key is forgotten a day after its last use, so that a key that a client has replaced no longer
    counts, and one that a daily job uses does.
    """

    def __init__(self) -> None:
        self._uses: dict[ApiKeyId | str, _KeyUse] = {}

    def record(self, credential: Credential) -> None:
        """Record a use of the key now, if it expires."""
        key_id, expires_at = credential.key_id, credential.expires_at
        if key_id is not None and expires_at is not None:
            self._uses[key_id] = _KeyUse(expires_at.timestamp(), credential.organization_id, time())

    def forget(self, rejection: Rejection) -> None:
        """Forget a key that was revoked or has expired."""
        if rejection.key_id is not None:
            self._uses.pop(rejection.key_id, None)

    def collect(self) -> Iterable[Metric]:
        """Yield the earliest expiry in the future, and its key."""
        family = GaugeMetricFamily(
            "recipient_fields_api_key_earliest_expiry_timestamp_seconds",
            "The expiry of the API key that expires first, of those used in the last 25 hours.",
            labels=("organization", "key_id"),
        )
        now = time()
        active = []
        for key_id, use in list(self._uses.items()):
            if use.expires_at <= now or use.at < now - _KEY_REMEMBERED:
                self._uses.pop(key_id, None)
            else:
                active.append((use.expires_at, use.organization_id, key_id))
        if active:
            expires_at, *labels = min(active, key=itemgetter(0))
            family.add_metric(tuple(map(str, labels)), expires_at)
        yield family


class _KeyUse(NamedTuple):
    """The last use of a key. Times are in seconds since 1970."""

    expires_at: float
    organization_id: OrganizationId
    at: float


@frozen
class _MetricsOnDemand(Collector):
    """Metrics that are read at each scrape."""

    _read: Callable[[], Iterable[Metric]]

    def collect(self) -> Iterable[Metric]:
        return self._read()


def _root(error: BaseException) -> BaseException:
    """Return the first error of the chain, often one of the driver."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def create_admin_app(
    metrics: Metrics, check: Callable[[], None], request_log: RequestLog = DEFAULT_REQUEST_LOG
) -> Api:
    """Return `/healthz`, `/readyz` and `/metrics` as a WSGI application without API keys.

    `check` raises StorageUnavailable if the service is not ready. It must not block.
    """
    app = create_app_without_routes(None, (), request_log)
    app.add_route("/healthz", Liveness())
    app.add_route("/readyz", Readiness(check))
    app.add_route("/metrics", MetricsPage(metrics))
    return app
