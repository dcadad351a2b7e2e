"""What Prometheus can ask of a running service. Labels take few values, whatever clients send."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from platform import python_version
from typing import ClassVar, Protocol

import falcon
from attrs import frozen

from recipient_fields.application import KeyValidator, Pooled
from recipient_fields.application.extras import brought_by
from recipient_fields.domain import (
    Credential,
    InvalidField,
    KeyValidationUnavailable,
    RecipientFieldsError,
    Rejection,
    StorageUnavailable,
)

from .request_log import method_of, route_of
from .resource import Resource

with brought_by("http", "prometheus_client"):
    from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
    from prometheus_client.registry import Collector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Host(Protocol):
    """What the host of the application counts. The numbers are read from another thread."""

    @property
    def connections(self) -> int:
        """Connections that are open."""

    @property
    def in_flight(self) -> int:
        """Requests that were received and are not yet answered."""

    @property
    def shed(self) -> int:
        """Requests and connections turned away so far, for lack of time or room."""

    @property
    def refused(self) -> int:
        """Requests refused so far for how they were sent."""


class Metrics:
    """The metrics of one application and its process, in a registry of their own."""

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
            "Requests answered.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "recipient_fields_request_seconds",
            "How long requests took, once a worker had them.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._validations = Counter(
            "recipient_fields_key_validations",
            "API keys that were validated: valid, refused, or neither as the storage failed.",
            ("result",),
            registry=self.registry,
        )
        self._storage_errors = Counter(
            "recipient_fields_storage_errors",
            "Requests that failed because the storage did, by the driver's error.",
            ("kind",),
            registry=self.registry,
        )
        self._stopped_late = Counter(
            "recipient_fields_input_stopped_by_storage",
            "Invalid input that nobody noticed before the storage. A defect: should stay 0.",
            registry=self.registry,
        )
        self._request_children: dict[tuple[str, str, int], Counter] = {}
        self._seconds_children: dict[str, Histogram] = {}

    def observe(self, req: falcon.Request, resp: falcon.Response, seconds: float) -> None:
        """An Observer. Finding a child of a metric costs more than using it: they are kept."""
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
            self._observe_error(error)

    def counting(self, validator: KeyValidator) -> KeyValidator:
        """The validator, with its results counted."""
        results = (
            self._validations.labels(result) for result in ("valid", "refused", "unavailable")
        )
        return _CountedKeyValidator(validator, *results)

    def watch_server(self, server: Host) -> None:
        """Tell of the host: what it works on, and what it turned away."""
        self.registry.register(
            _Readings(
                lambda: (
                    GaugeMetricFamily(
                        "recipient_fields_connections", "Open connections.", server.connections
                    ),
                    GaugeMetricFamily(
                        "recipient_fields_requests_in_flight",
                        "Requests received and not yet answered.",
                        server.in_flight,
                    ),
                    CounterMetricFamily(
                        "recipient_fields_requests_shed",
                        "Requests and connections turned away for lack of time or room.",
                        server.shed,
                    ),
                    CounterMetricFamily(
                        "recipient_fields_requests_malformed",
                        "Requests refused for how they were sent: malformed, too large, too slow.",
                        server.refused,
                    ),
                )
            )
        )

    def watch_pool(self, storage: Pooled) -> None:
        """Tell of the storage's connections."""

        def connections() -> Iterable[Metric]:
            family = GaugeMetricFamily(
                "recipient_fields_pool",
                "Connections to the storage that are open and in use, and callers waiting for one.",
                labels=("state",),
            )
            for state, number in storage.pool_use().items():
                family.add_metric((state,), number)
            return (family,)

        self.registry.register(_Readings(connections))

    def _observe_error(self, error: RecipientFieldsError) -> None:
        match error:
            case StorageUnavailable() | KeyValidationUnavailable():
                self._storage_errors.labels(type(_root(error)).__name__).inc()
            # What the edge and the domain find has no cause; what an adapter translates has one.
            case InvalidField(__cause__=BaseException()):
                self._stopped_late.inc()


class MetricsPage(Resource):
    """`/metrics`."""

    media_types: ClassVar[tuple[str, ...]] = ("text/plain",)

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Every metric, in Prometheus' text format."""
        resp.content_type = CONTENT_TYPE_PLAIN_0_0_4
        resp.data = generate_latest(self._metrics.registry)

    on_head = on_get


@frozen
class _CountedKeyValidator:
    """A KeyValidator that counts what another one finds."""

    _validator: KeyValidator
    _valid: Counter
    _refused: Counter
    _unavailable: Counter

    def validate(self, presented: str, /) -> Credential | Rejection:
        try:
            outcome = self._validator.validate(presented)
        except KeyValidationUnavailable:
            self._unavailable.inc()
            raise
        (self._valid if isinstance(outcome, Credential) else self._refused).inc()
        return outcome


@frozen
class _Readings(Collector):
    """Metrics that are read when they are asked for."""

    _read: Callable[[], Iterable[Metric]]

    def collect(self) -> Iterable[Metric]:
        return self._read()


def _root(error: BaseException) -> BaseException:
    """What began it: in the end, an error of the driver's."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
