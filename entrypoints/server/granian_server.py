"""Granian as the server: it reads and writes sockets outside Python's interpreter lock.

Granian runs the application in a worker process. The first process supervises the worker, passes
SIGTERM and SIGINT on to it, and ends with it.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from ctypes import c_int
from functools import partial
from io import BytesIO
from multiprocessing import active_children, parent_process
from multiprocessing.connection import wait
from multiprocessing.sharedctypes import RawValue
from threading import Lock, Thread, main_thread
from time import sleep
from typing import TypeAlias
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from recipient_fields.application.extras import requires_extra

from .addresses import authority, listen
from .limits import DRAIN_TIMEOUT, MAX_HEAD_SIZE, REQUEST_TIMEOUT

with requires_extra("granian", "granian"):
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings

_THREAD_IDLE_TIMEOUT = 600
"""Seconds, the most that Granian allows: each new thread would open its own SQLite connection."""
_POLL_INTERVAL = 0.01
_PARENT_CHECK_INTERVAL = 1.0
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM})

Run: TypeAlias = Callable[["Worker"], None]
"""Builds a GranianServer for the worker, and runs it. A worker process calls this once."""

SharedSignal: TypeAlias = c_int
"""The signal that ends the service, in memory that the supervisor shares with its worker.

Granian sends SIGTERM to the worker for any signal. If the supervisor passed its signal on, the
worker would receive two: the second could kill it after it has drained, but before its last log
line."""


class Worker:
    """The worker process, from the view of the thread that builds and ends the service."""

    def __init__(self, host: str, port: int, ending: SharedSignal) -> None:
        """Record the signals that arrive from now on."""
        self.url: str = f"http://{authority(host, port)}"
        self.application: Future[WSGIApplication | None] = Future()
        self._address = (host, port)
        self._ending = ending
        self._signals, self._wakeup = socket.socketpair()
        self._wakeup.setblocking(False)  # noqa: FBT003 (positional only)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)

    def serve(self, application: WSGIApplication) -> None:
        """Pass the application to Granian, and wait until Granian listens."""
        self.application.set_result(application)
        while main_thread().is_alive():
            with suppress(OSError), socket.create_connection(self._address, timeout=1):
                return
            sleep(_POLL_INTERVAL)

    def wait_for_signal(self) -> signal.Signals:
        """Return the signal that ends the worker. The death of the supervisor counts as SIGTERM."""
        parent = parent_process()
        supervisor = [] if parent is None else [parent.sentinel]
        while main_thread().is_alive():
            ready = wait([self._signals, *supervisor], _PARENT_CHECK_INTERVAL)
            if self._signals in ready:
                received = _ENDING.intersection(self._signals.recv(64))
                if received:
                    # A terminal sends SIGINT to the worker, too.
                    return signal.Signals(min(*received, self._ending.value))
            elif ready:
                os.kill(os.getpid(), signal.SIGTERM)
                supervisor = []
        return signal.SIGTERM


class GranianServer:
    """A server that serves the application as soon as it is created."""

    connections = shed = refused = None
    """Granian does not report these numbers."""

    def __init__(
        self,
        app: WSGIApplication,
        worker: Worker,
        *,
        max_body_size: int,
        on_drain: Callable[[signal.Signals, int], None],
    ) -> None:
        """Serve the application in the worker.

        `max_body_size` is the limit of a request body, in bytes. `on_drain` is called with the
        signal and the number of requests in flight when the server begins to drain.
        """
        self.in_flight: int = 0
        self._lock = Lock()
        self._app = app
        self._max_body_size = max_body_size
        self._on_drain = on_drain
        self._worker = worker
        worker.serve(self._respond)
        self.url: str = worker.url

    def run(self) -> None:
        """Wait until SIGTERM or SIGINT, and then until the requests in flight have responses."""
        self._on_drain(self._worker.wait_for_signal(), self.in_flight)
        main_thread().join()

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with self._lock:
            self.in_flight += 1
        try:
            if "HTTP_TRANSFER_ENCODING" in environ:
                # Falcon reads no body without a Content-Length.
                body = environ["wsgi.input"].read(self._max_body_size + 1)
                environ["wsgi.input"], environ["CONTENT_LENGTH"] = BytesIO(body), str(len(body))
            return self._app(environ, start_response)
        finally:
            with self._lock:
                self.in_flight -= 1


def supervise(
    run: Run, host: str, port: int, *, threads: int, connections: int, shared: bool
) -> None:
    """Call `run` in a worker process, and return when the worker has ended.

    If there are more clients than `connections`, the others wait until a client disconnects.
    `run` must be picklable on systems without fork.

    Raises: OSError if the address can't be bound; SystemExit if the worker fails.
    """
    ending: SharedSignal = RawValue("i", signal.SIGTERM)
    with _reserve(host, port, shared=shared) as reserved:
        bound_host, bound_port = reserved.getsockname()[:2]
        server = Granian(
            "recipient-fields",
            address=bound_host,
            port=bound_port,
            interface=Interfaces.WSGI,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(
                header_read_timeout=int(REQUEST_TIMEOUT * 1_000), max_buffer_size=MAX_HEAD_SIZE
            ),
            websockets=False,
            blocking_threads=threads,
            blocking_threads_idle_timeout=_THREAD_IDLE_TIMEOUT,
            backpressure=connections,
            workers_kill_timeout=int(DRAIN_TIMEOUT),
            log_enabled=False,
            log_dictconfig={"formatters": {}, "handlers": {}, "loggers": {"_granian": {}}},
            process_name="recipient-fields serve",
        )
        server.on_startup(partial(_handle_signals, server.signal_handler_interrupt, ending))
        load = partial(_load, run, bound_host, bound_port, ending)
        server.serve(target_loader=load, wrap_loader=False)


def _reserve(host: str, port: int, *, shared: bool) -> socket.socket:
    """Return a socket that is bound to the address, but does not listen.

    Granian shares its address with every process of this user, so this finds out whether another
    process listens there.
    """
    with listen(host, port, shared=shared) as listening:
        family, address = listening.family, listening.getsockname()
    reserved = socket.socket(family, socket.SOCK_STREAM)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind(address)
    return reserved


def _handle_signals(interrupt: Callable[[], None], ending: SharedSignal) -> None:
    """Drain at the first signal, end at once at the second, and don't reload at SIGHUP."""

    def end(by: int, _frame: object) -> None:
        for each in _ENDING:
            signal.signal(each, end_at_once)
        ending.value = by
        interrupt()

    def end_at_once(by: int, _frame: object) -> None:
        for child in active_children():
            child.kill()
        signal.signal(by, signal.SIG_DFL)
        os.kill(os.getpid(), by)

    for each in _ENDING:
        signal.signal(each, end)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _load(run: Run, host: str, port: int, ending: SharedSignal) -> WSGIApplication:
    """Return the application, in the worker's main thread. Another thread calls `run`."""
    for each in _ENDING:  # Until Granian handles them. Nothing is served yet.
        signal.signal(each, signal.SIG_DFL)
    logging.getLogger("_granian").setLevel(logging.WARNING)
    worker = Worker(host, port, ending)
    # The interpreter waits for this thread before it ends the process.
    Thread(target=_run, args=(run, worker), name="service").start()
    application = worker.application.result()
    if application is None:
        sys.exit(1)
    return application


def _run(run: Run, worker: Worker) -> None:
    try:
        run(worker)
    finally:
        if not worker.application.done():
            worker.application.set_result(None)
