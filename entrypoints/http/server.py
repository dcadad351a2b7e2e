"""Waitress as the host of the service."""

from __future__ import annotations

import signal
import socket
from types import FrameType
from typing import NoReturn
from uuid import uuid4
from wsgiref.types import WSGIApplication

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask
from waitress.utilities import Error

from .bodies import LARGEST_BODY
from .problems import problem, render_error

LARGEST_HEADERS = 16 * 1024
MOST_CONNECTIONS = 500
IDLE_SECONDS = 30

_CODES = {
    400: "malformed_request",
    413: "payload_too_large",
    431: "headers_too_large",
    501: "not_implemented",
}


class ProblemTask(ErrorTask):
    """What waitress refuses, answered in the service's own shape."""

    def execute(self) -> None:
        """Write the error object."""
        error: Error = self.request.error  # type: ignore[attr-defined]
        refused = problem(_CODES.get(error.code, "internal_error"))
        request_id = uuid4().hex
        body = render_error(refused, request_id)
        self.status = f"{refused.status.value} {refused.status.phrase}"
        self.content_length = len(body)
        self.response_headers = [
            ("Content-Type", "application/json"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Request-Id", request_id),
        ]
        self.set_close_on_finish()
        self.write(body)


class ProblemChannel(HTTPChannel):
    """A connection whose refusals are ours."""

    error_task_class = ProblemTask


class ProblemServer(TcpWSGIServer):
    """A listener whose connections refuse in the service's own shape."""

    channel_class = ProblemChannel


class Server:
    """A server that is bound to its address, and answers once `run` is called."""

    def __init__(self, app: WSGIApplication, host: str, port: int, *, threads: int) -> None:
        """OSError where the address can't be bound."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
        settings = Adjustments(
            threads=threads,
            ident=None,
            asyncore_use_poll=True,
            channel_timeout=IDLE_SECONDS,
            connection_limit=MOST_CONNECTIONS,
            max_request_header_size=LARGEST_HEADERS,
            max_request_body_size=LARGEST_BODY + 1,
        )
        sockinfo = (listener.family, listener.type, listener.proto, listener.getsockname())
        self._waitress = ProblemServer(
            app, _sock=listener, bind_socket=False, adj=settings, sockinfo=sockinfo
        )
        host, port = listener.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def run(self) -> None:
        """Answer requests until SIGTERM or SIGINT."""
        signal.signal(signal.SIGTERM, _stop)
        self._waitress.run()
        self._waitress.close()


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)
