"""The composition root: builds the service from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from wsgiref.types import WSGIApplication

from attrs import frozen

from recipient_fields.application import DEFAULT_FIELD_LIMIT, Core, Pooled

from .http.admin import create_admin_app
from .http.app import create_app
from .http.client_addresses import ClientAddresses
from .http.host_rejections import HostRejections
from .http.readiness import CheckWithDeadline, PeriodicCheck
from .http.request_log import RequestLog
from .selection import open_key_validator, open_storage
from .server.log import BufferedHandler
from .settings import STORED_KEYS, Settings

if TYPE_CHECKING:
    from .http.metrics import Metrics

_MEBIBYTE = 1024 * 1024


@frozen(kw_only=True)
class Service:
    """The HTTP service without a server."""

    core: Core
    application: WSGIApplication
    readiness: CheckWithDeadline
    reject: HostRejections
    """Renders and logs the rejection of a request that does not reach the application."""
    admin: Admin | None


@frozen(kw_only=True)
class Admin:
    """The probes and the metrics for operators."""

    application: WSGIApplication
    metrics: Metrics
    last_check: PeriodicCheck
    """Whether the service is ready. It runs while it is used as a context manager."""


def open_core(
    storage_url: str,
    *,
    field_limit: int = DEFAULT_FIELD_LIMIT,
    keys_url: str = STORED_KEYS,
    environment: Mapping[str, str] | None = None,
) -> Core:
    """Return the application services for the storage with this URL.

    `environment` has the credentials of the key validator.

    Raises: what `open_storage` and `open_key_validator` raise.
    """
    validator = open_key_validator(keys_url, environment or {})
    storage = open_storage(storage_url)
    return Core.over(storage, field_limit=field_limit, validator=validator)


def create_service(
    settings: Settings,
    environment: Mapping[str, str],
    log: BufferedHandler,
    *,
    with_admin: bool = False,
) -> Service:
    """Return the HTTP service with these settings. It has metrics only if `with_admin` is true.

    Raises: what `open_core` raises.
    """
    core = open_core(
        settings.storage,
        field_limit=settings.field_limit,
        keys_url=settings.keys,
        environment=environment,
    )
    readiness = CheckWithDeadline(core.storage.check)
    addresses = ClientAddresses(settings.trusted_proxies) if settings.log_client_address else None
    # Unlike `log.log`, `log_or_drop` never blocks.
    rejection_log = RequestLog(log.log_or_drop, addresses)
    admin = _create_admin(core, readiness, rejection_log) if with_admin else None
    return Service(
        core=core,
        application=create_app(
            core.fields,
            core.validator if admin is None else admin.metrics.counting(core.validator),
            readiness,
            () if admin is None else (admin.metrics.record_response,),
            cache_bytes=settings.cache * _MEBIBYTE,
            request_log=RequestLog(log.log, addresses),
        ),
        readiness=readiness,
        reject=HostRejections(rejection_log),
        admin=admin,
    )


def _create_admin(core: Core, readiness: CheckWithDeadline, log: RequestLog) -> Admin:
    # Imported here because only a service with metrics needs these 1.4 MiB.
    from prometheus_client import disable_created_metrics

    from .http.metrics import Metrics

    disable_created_metrics()  # type: ignore[no-untyped-call]  # It applies to the whole process.
    metrics = Metrics()
    if isinstance(core.storage, Pooled):
        metrics.watch_pool(core.storage)
    last_check = PeriodicCheck(readiness)
    application = create_admin_app(metrics, last_check, log)
    return Admin(application=application, metrics=metrics, last_check=last_check)
