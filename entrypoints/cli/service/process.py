"""The process of `recipient-fields serve`: it serves, and logs its start, its drain and its end."""

from __future__ import annotations

import gc
import logging
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import closing
from importlib.metadata import version
from signal import Signals
from time import monotonic

from recipient_fields.application import Core, Pooled, Storage

from ...console import ROOT as CONSOLE
from ...console import link_url
from ...http.openapi.reference_page import REFERENCE_PATH
from ...service.composition import create_service
from ...service.hosting import create_server, run_admin_listener
from ...service.log import BufferedHandler, start_log
from ...service.selection import READABLE_FILE, SMALL_POOL, find_readable_file, storage_kind
from ...service.settings import Settings
from ..output import note
from .demo import (
    create_demonstration,
    create_sign_in_link,
    curl_commands,
    delete_demonstration,
)

_log = logging.getLogger(__name__)


def run(settings: Settings, *, demo: bool, reset: bool) -> None:
    """Serve until SIGTERM or SIGINT.

    `demo`: add demonstration data to an empty storage. `reset`: first delete those of earlier
    starts.

    Raises: what `create_service` and `create_server` raise, and with `reset` also OtherData.
    """
    log = start_log(settings.log_level, settings.log_format, sys.stderr)
    address = settings.admin_listen
    service = create_service(settings, os.environ, log, with_admin=address is not None)
    _warn_of_small_pool(service.storage, settings.threads)
    _warn_of_readable_file(settings.storage)
    _warn_of_shared_credentials(settings)
    lifecycle = _LifecycleLog(log)

    def drain(by: Signals, in_flight: int) -> None:
        service.readiness.begin_shutdown()
        lifecycle.log_drain(by, in_flight)

    with closing(service.storage):
        server = create_server(settings, service, drain)
        with run_admin_listener(address, service, server) as admin_url:
            if demo:  # Before the first line of the log, which would hide the greeting.
                if reset:
                    delete_demonstration(service.core)
                _demonstrate(service.core, server.url, settings)
            lifecycle.log_start(server.url, admin_url, settings)
            gc.freeze()  # Collections during a large request visit only what it makes.
            server.run()
    if service.traces is not None:
        service.traces.close()
    lifecycle.log_end()


def _warn_of_small_pool(storage: Storage, threads: int) -> None:
    if isinstance(storage, Pooled) and threads > storage.pool_size:
        _log.warning(
            SMALL_POOL,
            *(storage.pool_size, threads, threads),
            extra={"facts": {"pool_size": storage.pool_size, "threads": threads}},
        )


def _warn_of_readable_file(storage_url: str) -> None:
    path = find_readable_file(storage_url)
    if path is not None:
        _log.warning(
            READABLE_FILE,
            *(path, shlex.quote(str(path))),
            extra={"facts": {"file": str(path)}},
        )


def _warn_of_shared_credentials(settings: Settings) -> None:
    if settings.console and settings.esp_organizations:
        _log.warning(
            "Version 0.4 will not read the credentials of ESPs in environment variables, which"
            " --esp-organizations permits. Store them for each integration: recipient-fields"
            " integrations connect ID --organization ID --from-environment"
        )


class _LifecycleLog:
    """The log lines at the start, the drain and the end of the process, at every log level.

    A process that is killed or fails does not log its end.
    """

    def __init__(self, log: BufferedHandler) -> None:
        self._log = log
        self._drain_began = 0.0
        self._in_flight = 0

    def log_start(self, url: str, admin_url: str | None, settings: Settings) -> None:
        """Log the address, and wait until the line is written."""
        facts: dict[str, object] = {
            "address": url.removeprefix("http://"),
            "reference": f"{url}{REFERENCE_PATH}",
        }
        if admin_url is not None:
            facts["admin_address"] = admin_url.removeprefix("http://")
        facts |= {
            "version": version("recipient-fields"),
            "storage": storage_kind(settings.storage),
            "threads": settings.threads,
        }
        self._write(f"listening on {url}", facts)
        self._log.flush()

    def log_drain(self, by: Signals, in_flight: int) -> None:
        """Log the signal and the number of requests in flight. Signal handlers may call this."""
        self._drain_began, self._in_flight = monotonic(), in_flight
        self._write("draining", {"signal": by.name, "in_flight": in_flight})

    def log_end(self) -> None:
        """Log how long the drain took."""
        milliseconds = round((monotonic() - self._drain_began) * 1_000, 3)
        self._write("ended", {"in_flight": self._in_flight, "milliseconds": milliseconds})

    def _write(self, event: str, facts: Mapping[str, object]) -> None:
        with_process = {**facts, "process_id": os.getpid()}
        self._log.log_or_drop("recipient_fields.service", logging.INFO, event, with_process)


def _demonstrate(core: Core, url: str, settings: Settings) -> None:
    """Print how to use the service, with the console first: it needs no other program."""
    key = create_demonstration(core)
    note(f"Recipient Fields is listening on {url}\n")
    console = f"{settings.console_url or url}{CONSOLE}"
    token = create_sign_in_link(core)
    if token is None:
        note(f"To open the console, sign in at {console}\n")
    else:
        note(f"To open the console, use this link, which works once:\n{link_url(console, token)}\n")
    if key is not None:
        note(
            "To call the API, paste these commands into another terminal. The first one prints an"
            " email for Braze and for Klaviyo, the second one creates a field, and the third one is"
            " forbidden:\n"
        )
        for command in curl_commands(core, url, key):
            note(f"{command}\n")
        note(f"The API key, shown this once: {key.reveal()}")
    elif token is not None:
        note("The storage has the demonstration data of an earlier start, so no API key is shown.")
        note(
            "To delete this data and get a new key, add --reset to `recipient-fields serve --demo`."
        )
    else:
        note("The storage already has data, so no demonstration data was added.")
        note(
            "To see a demonstration, stop this service, and run:"
            " recipient-fields serve --demo --storage sqlite:demo.db"
        )
        note("To list the ids of the organizations: recipient-fields organizations list")
        note("To create an API key: recipient-fields keys create --organization ID --name NAME")
    note(f"To read about the API and try it in a browser, open {url}{REFERENCE_PATH}")
