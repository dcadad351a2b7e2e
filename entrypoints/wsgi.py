"""The service for other WSGI servers: `recipient_fields.entrypoints.wsgi:application`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from io import BytesIO
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from .service.composition import create_service
from .service.hosting import return_large_blocks
from .service.log import start_log
from .service.settings import Settings


def application() -> WSGIApplication:
    """Return the service with the settings of `recipient-fields serve`, from the environment.

    Each process of the server calls this function once, and has its own connections to the storage.
    The server has its own options for addresses, threads and connections:
    `RECIPIENT_FIELDS_LISTEN`, `_ADMIN_LISTEN`, `_CONNECTIONS` and `_REUSE_PORT` have no effect.
    `RECIPIENT_FIELDS_THREADS` must be the number of its threads: it sets the number of slots for
    heavy requests. Because the address is not known, the console requires
    `RECIPIENT_FIELDS_CONSOLE_URL`.

    Raises: InvalidSettings; what `create_service` raises.
    """
    settings = Settings.from_environment(os.environ)
    return_large_blocks()
    settings.require_console_url(None)
    log = start_log(settings.log_level, settings.log_format, sys.stderr)
    service = create_service(settings, os.environ, log)
    if service.traces is not None:
        service.traces.close_at_exit()
    return _reading_chunks(service.application, service.max_body_size)


def _reading_chunks(respond: WSGIApplication, max_body_size: int) -> WSGIApplication:
    """Read each chunked body first: Falcon reads no body without a `Content-Length`."""

    def read_and_respond(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        if "HTTP_TRANSFER_ENCODING" in environ:
            body = environ["wsgi.input"].read(max_body_size + 1)
            environ["wsgi.input"], environ["CONTENT_LENGTH"] = BytesIO(body), str(len(body))
        return respond(environ, start_response)

    return read_and_respond
