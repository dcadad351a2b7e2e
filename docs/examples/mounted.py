"""Mount the API below a path of another WSGI application: `waitress-serve --call mounted:host`."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.middleware.dispatcher import DispatcherMiddleware

from recipient_fields import Core, SqliteStorage
from recipient_fields.entrypoints.http import create_app


def host() -> WSGIApplication:
    """Return an application that serves the API below /fields."""
    core = Core.over(SqliteStorage("fields.db"))
    fields = create_app(core)
    return DispatcherMiddleware(_ours, {"/fields": fields})


def _ours(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"Our own page.\n"]
