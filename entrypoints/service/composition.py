"""The composition root: builds the service from the settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from attrs import frozen

from recipient_fields.application import (
    DEFAULT_HISTORY_LIMIT,
    Core,
    IntegrationStorage,
    Pooled,
    Storage,
    StorageGroup,
    StoredKeyValidator,
)
from recipient_fields.domain import HistoryLimit

from ..console import MAX_FORM_SIZE
from ..console import ROOT as CONSOLE
from ..http.app import create_app
from ..http.client_addresses import ClientAddresses
from ..http.heavy_requests import HeavyRequests
from ..http.openapi.reference_page import REFERENCE_PATH
from ..http.readiness import CheckWithDeadline, PeriodicCheck
from ..http.request_log import (
    OnResponse,
    RequestLog,
    ResponseHooks,
    UntrustedProxyWarning,
    sender_of,
)
from ..http.resource import MAX_BODY_SIZE
from ..http.responses import MAX_UNREAD_BYTES, UnreadResponses
from .host_rejections import HostRejections
from .log import BufferedHandler
from .selection import (
    MISSING_CONSOLE_GROUP,
    create_password_hasher,
    find_missing_console_group,
    installed_profiles,
    open_accounts,
    open_cipher,
    open_key_validator,
    open_permitted_source,
    open_recipients,
    open_storage,
    storage_kind,
)
from .settings import MEBIBYTE, STORED_KEYS, InvalidSettings, Settings

if TYPE_CHECKING:
    from ..http.metrics import Metrics
    from .traces import Traces


@frozen(kw_only=True)
class Service:
    """The HTTP service without a server."""

    core: Core
    storage: Storage
    """The storage of `core`, which the caller closes."""
    application: WSGIApplication
    readiness: CheckWithDeadline
    reject: HostRejections
    """Renders and logs the rejection of a request that does not reach the application."""
    max_body_size: int
    """The size of the largest body that the application accepts, in bytes."""
    computations: Collection[str]
    """The paths to which a POST changes nothing, and can take long."""
    admin: Admin | None
    traces: Traces | None
    """None if requests are not traced. Otherwise, `traces.close` exports the last spans."""


@frozen(kw_only=True)
class Admin:
    """The probes and the metrics for operators."""

    application: WSGIApplication
    metrics: Metrics
    last_check: PeriodicCheck
    """Whether the service is ready. It runs while it is used as a context manager."""


def create_service(
    settings: Settings,
    environment: Mapping[str, str],
    log: BufferedHandler,
    *,
    with_admin: bool = False,
) -> Service:
    """Return the HTTP service with these settings. It has metrics only if `with_admin` is true.

    Raises: what `open_storage` and `open_key_validator` raise; UnusableProfile if a package has a
    profile that can't be used; MissingExtra and InvalidSettings if traces can't be exported;
    MissingExtra if the console is served and its extra is not installed, or that of the encryption
    if there is a key for it; UnusableCredentials if that is no key; InvalidSettings if the
    storage does not have a group that the settings require.
    """
    profiles = installed_profiles()
    tuple(profiles)  # Read before the service accepts requests, which would fail one by one.
    traces = _create_traces(settings)
    hasher = create_password_hasher() if settings.console else None
    validator = open_key_validator(settings.keys, environment)
    cipher = open_cipher(environment)
    storage = open_storage(settings.storage)
    _require_groups(storage, settings)
    readiness = CheckWithDeadline(storage.check)
    addresses = ClientAddresses(settings.trusted_proxies) if settings.log_client_address else None
    # Unlike `log.log`, `log_or_drop` never blocks.
    rejection_log = RequestLog(log.log_or_drop, addresses)
    admin = _create_admin(storage, readiness, rejection_log) if with_admin else None
    used = storage if traces is None else traces.trace_storage(storage)
    if validator is None and isinstance(used, IntegrationStorage):
        validator = StoredKeyValidator(used.api_keys)
    if validator is not None and admin is not None:
        validator = admin.metrics.counting(validator)
    core = Core.over(
        used,
        field_limit=settings.field_limit,
        catalog_size=settings.catalog_size * MEBIBYTE,
        history_limit=_history_limit(settings),
        validator=validator,
        hasher=hasher,
        profiles=profiles,
        open_accounts=partial(open_accounts, settings.esp_hosts),
        open_cipher=lambda: cipher,
    )
    request_log = RequestLog(log.log, addresses)
    hooks: tuple[OnResponse, ...] = ()
    if admin is not None:
        hooks += (admin.metrics.record_response,)
    if traces is not None:
        hooks += (traces.record_response,)
    heavy = HeavyRequests(settings.threads)
    unread = UnreadResponses(max(MAX_UNREAD_BYTES, 2 * settings.catalog_size * MEBIBYTE))
    if admin is not None:
        admin.metrics.watch_large_responses(heavy, unread)
    api = create_app(
        core,
        hooks,
        check=readiness,
        cache_bytes=settings.cache * MEBIBYTE,
        heavy=heavy,
        unread=unread,
        request_log=request_log,
        home=CONSOLE if settings.console else REFERENCE_PATH,
    )
    console = _create_console(core, settings, environment, (request_log, *hooks))
    application: WSGIApplication = api if console is None else _mount(console, api)
    return Service(
        core=core,
        storage=storage,
        application=application if traces is None else traces.trace_requests(application),
        readiness=readiness,
        reject=HostRejections(rejection_log, CONSOLE if settings.console else None),
        max_body_size=MAX_FORM_SIZE if settings.console else MAX_BODY_SIZE,
        computations=frozenset(
            path for path, resource in api.routes.items() if not resource.requires_write
        ),
        admin=admin,
        traces=traces,
    )


def _require_groups(storage: Storage, settings: Settings) -> None:
    missing = find_missing_console_group(storage)
    if settings.console and missing is not None:
        raise InvalidSettings(MISSING_CONSOLE_GROUP % missing.value)
    if settings.keys == STORED_KEYS and not StorageGroup.INTEGRATIONS.is_in(storage):
        raise InvalidSettings(
            f"The storage has no API keys, which --keys {STORED_KEYS} validates. Use another key"
            " validator, such as --keys introspection+https://…, or another --storage, such as"
            " sqlite:PATH."
        )


def _history_limit(settings: Settings) -> HistoryLimit:
    """Return the limit. Only one that the operator has set applies to histories above it."""
    if settings.history_size is None:
        return DEFAULT_HISTORY_LIMIT
    return HistoryLimit(settings.history_size * MEBIBYTE, keeps_inherited=False)


def _create_traces(settings: Settings) -> Traces | None:
    if not settings.traces:
        return None
    # Imported here because only traces need their extra.
    from .traces import Traces

    return Traces(storage_kind(settings.storage))


def _create_console(
    core: Core, settings: Settings, environment: Mapping[str, str], hooks: tuple[OnResponse, ...]
) -> WSGIApplication | None:
    if not settings.console:
        return None
    # Imported here because only the console needs its extra.
    from ..console.app import create_console

    addresses = ClientAddresses(settings.trusted_proxies)
    return create_console(
        core,
        origin=settings.console_url,
        client_address=lambda req: addresses.find(sender_of(req)) or "",
        open_source=partial(open_permitted_source, settings.esp_organizations, environment),
        open_recipients=open_recipients,
        issues_keys=settings.keys == STORED_KEYS,
        hooks=ResponseHooks((*hooks, UntrustedProxyWarning(addresses))),
    )


def _mount(console: WSGIApplication, api: WSGIApplication) -> WSGIApplication:
    """Return an application that passes the console's paths to the console."""

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        is_console = path == CONSOLE or path.startswith(f"{CONSOLE}/")
        return (console if is_console else api)(environ, start_response)

    return application


def _create_admin(storage: Storage, readiness: CheckWithDeadline, log: RequestLog) -> Admin:
    # Imported here because only a service with metrics needs these 1.4 MiB.
    from prometheus_client import disable_created_metrics

    from ..http.metrics import Metrics, create_admin_app

    disable_created_metrics()  # type: ignore[no-untyped-call]  # It applies to the whole process.
    metrics = Metrics()
    if isinstance(storage, Pooled):
        metrics.watch_pool(storage)
    last_check = PeriodicCheck(readiness)
    metrics.watch_readiness(last_check)
    application = create_admin_app(metrics, last_check, log)
    return Admin(application=application, metrics=metrics, last_check=last_check)
