"""Probes and metrics for operators, as an application of their own."""

from __future__ import annotations

from collections.abc import Callable

from .app import Api, create_app_without_routes
from .fields.resources import Liveness, Readiness
from .metrics import Metrics, MetricsPage
from .request_log import DEFAULT_REQUEST_LOG, RequestLog


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
