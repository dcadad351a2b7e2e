"""The service for other WSGI servers: `recipient_fields.entrypoints.wsgi:application`."""

from __future__ import annotations

import os
import sys
from wsgiref.types import WSGIApplication

from .composition import create_service
from .log import start_log
from .settings import Settings


def application() -> WSGIApplication:
    """Return the service with the settings of `recipient-fields serve`, from the environment.

    Each process of the server calls this function once, and has its own connections to the storage.
    The server has its own options for addresses, threads and connections:
    `RECIPIENT_FIELDS_SERVER`, `_LISTEN`, `_ADMIN_LISTEN`, `_THREADS`, `_CONNECTIONS` and
    `_REUSE_PORT` have no effect.

    Raises: InvalidSettings; what `create_service` raises.
    """
    settings = Settings.from_environment(os.environ)
    log = start_log(settings.log_level, settings.log_format, sys.stderr)
    service = create_service(settings, os.environ, log)
    if service.traces is not None:
        service.traces.close_at_exit()
    return service.application
