"""The service for other WSGI hosts: `recipient_fields.entrypoints.wsgi:application`."""

from __future__ import annotations

import os
import sys
from wsgiref.types import WSGIApplication

from .cli.serve import serve
from .composition import open_core
from .http.app import create_app
from .http.client_addresses import ClientAddresses
from .http.readiness import CheckWithDeadline
from .http.request_log import RequestLog
from .server.log import start_log


def application() -> WSGIApplication:
    """The service by the settings of `recipient-fields serve`, all of them from the environment.

    A factory: each process of the host calls it once, and has connections of its own. What `serve`
    says of its own host (`--listen`, `--connections`, `--reuse-port`, `--admin-listen`) is the
    other host's to say. Raises what `open_core` raises; click.UsageError for a bad setting.
    """
    context = serve.make_context("serve", [])
    storage, settings = context.obj, context.params
    client_addresses = (
        ClientAddresses(settings["trusted_proxies"]) if settings["log_client_address"] else None
    )
    log = start_log(settings["log_level"], settings["log_format"], sys.stderr)
    core = open_core(
        storage,
        field_limit=settings["field_limit"],
        keys_url=settings["keys"],
        environment=os.environ,
    )
    return create_app(
        core.fields,
        core.validator,
        CheckWithDeadline(core.storage.check),
        cache_bytes=settings["cache"],
        request_log=RequestLog(log.log, client_addresses),
    )
