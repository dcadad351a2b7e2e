"""Waitress as the host of the service."""

from __future__ import annotations

import os
import signal
import socket
from types import FrameType
from typing import Any, NoReturn
from wsgiref.types import WSGIApplication

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask

from .bodies import LARGEST_BODY
from .gate import choose_request_id
from .problems import problem, render_error

LARGEST_HEADERS = 16 * 1024
LARGEST_MESSAGE = 2 * LARGEST_BODY
"""A body as it is sent, with the framing of its chunks; the gate measures the body itself."""
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
        request: Any = self.request  # The type stubs take it for its error.
        refused = problem(_CODES.get(request.error.code, "internal_error"))
        request_id = choose_request_id(request.headers.get("X_REQUEST_ID"))
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
    """A server that is bound to its address, and answers once `run` is called.

    It belongs to the main thread: from when it is made, SIGINT and SIGTERM end the process.
    """

    def __init__(self, app: WSGIApplication, host: str, port: int, *, threads: int) -> None:
        """OSError where the address can't be bound."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # As bytes: what no name can be is not found, where text would fail to be encoded.
        listener = socket.create_server((os.fsencode(host), port), family=family)
        for ending in (signal.SIGINT, signal.SIGTERM):  # A shell's background job ignores SIGINT.
            signal.signal(ending, _stop)
        settings = Adjustments(
            threads=threads,
            ident=None,
            asyncore_use_poll=True,
            channel_timeout=IDLE_SECONDS,
            connection_limit=MOST_CONNECTIONS,
            max_request_header_size=LARGEST_HEADERS,
            max_request_body_size=LARGEST_MESSAGE,
        )
        sockinfo = (listener.family, listener.type, listener.proto, listener.getsockname())
        self._waitress = ProblemServer(
            app, _sock=listener, bind_socket=False, adj=settings, sockinfo=sockinfo
        )
        self.url = f"http://{authority(*listener.getsockname()[:2])}"

    def run(self) -> None:
        """Answer requests until SIGTERM or SIGINT."""
        self._waitress.run()
        self._waitress.close()


def authority(host: str, port: int) -> str:
    """Host and port as a URL writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)
