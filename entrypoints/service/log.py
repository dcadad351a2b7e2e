"""The log of the service: one line per record, as JSON or as text for a terminal.

Applications that embed the service configure `logging` themselves, and get the same records.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import UnsupportedOperation
from threading import Event, Lock, Thread
from time import monotonic, time
from typing import NamedTuple, TextIO

from recipient_fields.application import AUDIT
from recipient_fields.application.extras import requires_extra
from recipient_fields.domain import format_instant, redact_keys

_WRITE_INTERVAL = 0.1
"""Seconds between two writes."""
_QUEUE_SIZE = 1_000
"""Lines, about 300 KB."""
_LINES_PER_WRITE = 50
_BLOCKED_AFTER = 1.0
"""Seconds that one write may take. After that, `flush` regards the stream as blocked."""

_encode = json.JSONEncoder(default=repr).encode  # `json.dumps` would create an encoder per line.


class Line(NamedTuple):
    """What a line of the log contains."""

    created: float
    """In seconds since the epoch."""
    level: str
    logger: str
    event: str
    facts: Mapping[str, object]


class LineFormatter(logging.Formatter):
    """Formats a record, its attribute `facts` and its traceback as one line, without API keys."""

    def __init__(self, render: Callable[[dict[str, object]], str], **members: object) -> None:
        super().__init__()
        self._render = render
        self._members = members

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of the record."""
        return self.format_line(self.line(record))

    def line(self, record: logging.LogRecord) -> Line:
        """Return the contents of the record. A traceback of Python shows no values."""
        facts: dict[str, object] = getattr(record, "facts", {})
        if record.exc_info:
            facts = {**facts, "exception": self.formatException(record.exc_info)}
        level = record.levelname.lower()
        return Line(record.created, level, record.name, record.getMessage(), facts)

    def format_line(self, line: Line) -> str:
        """Return the line as text."""
        members = {
            "timestamp": format_instant(datetime.fromtimestamp(line.created, UTC)),
            "level": line.level,
            "logger": line.logger,
            "event": line.event,
            **self._members,
            **line.facts,
        }
        return redact_keys(self._render(members))


def json_formatter(**members: object) -> LineFormatter:
    """Return a formatter for lines of JSON. Every line also has the given members."""
    return LineFormatter(_encode, **members)


def text_formatter(*, colors: bool) -> LineFormatter:
    """Return a formatter for people. Raises: MissingExtra if structlog is not installed."""
    with requires_extra("http", "structlog"):
        from structlog.dev import ConsoleRenderer  # JSON does not need it.
    render = ConsoleRenderer(colors=colors)
    return LineFormatter(lambda members: str(render(None, "", members)))


class UnbufferedStream:
    """Writes text to a file descriptor, in UTF-8.

    A thread whose write to `sys.stderr` blocks holds the lock of its buffer, which the interpreter
    requires to end the process.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> None:
        """Write the text, in several parts if the system takes only a part. Raises: OSError."""
        rest = text.encode("utf-8", "backslashreplace")
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def flush(self) -> None:
        """Do nothing."""


class BufferedHandler(logging.Handler):
    """Writes lines to a stream ten times per second; warnings, errors and audit lines at once.

    A thread formats and writes the lines. The handlers of the standard library cost two to three
    times as much CPU time per line: they need a record for each, and write each on its own.
    """

    def __init__(
        self,
        stream: TextIO | UnbufferedStream,
        formatter: LineFormatter,
        *,
        interval: float = _WRITE_INTERVAL,
    ) -> None:
        """Write to the stream once per `interval`, in seconds."""
        super().__init__()
        self._interval = interval
        self._stream = stream
        self._formatter = formatter
        self._queue: deque[Line | Event] = deque()
        """An event is set once the lines before it are written."""
        self._wake = Event()
        self._write_lock = Lock()
        self._write_started: float | None = None
        self._closed = False
        self._writer = Thread(target=self._run, name="recipient-fields-log", daemon=True)
        self._writer.start()

    def log(self, logger: str, level: int, event: str, facts: Mapping[str, object]) -> None:
        """Queue a line. If the queue is full, write it first, which can block."""
        if len(self._queue) >= _QUEUE_SIZE:
            self._write_queue()
        self.log_or_drop(logger, level, event, facts)

    def log_or_drop(self, logger: str, level: int, event: str, facts: Mapping[str, object]) -> None:
        """Queue a line, or drop it if the queue is full.

        This never blocks and takes no lock, so that signal handlers can call it.
        """
        if len(self._queue) < _QUEUE_SIZE:
            name = logging.getLevelName(level).lower()
            self._queue.append(Line(time(), name, logger, event, facts))

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record. If the queue is full and the stream is blocked, drop the record."""
        try:
            line = self._formatter.line(record)
            if len(self._queue) >= _QUEUE_SIZE:
                self.flush()
            if len(self._queue) < _QUEUE_SIZE:
                self._queue.append(line)
            if record.levelno >= logging.WARNING or record.name == AUDIT:
                self.flush()
        except Exception:  # noqa: BLE001 (like every handler of `logging`)
            self.handleError(record)

    def flush(self) -> None:
        """Wait until the queued lines are written, or until one write has taken a second.

        `logging` holds a lock during this call, and needs the lock to end the process.
        """
        if not self._writer.is_alive():  # In a forked process, or after `close`.
            self._write_queue()
            return
        if self._time_left() <= 0:
            return
        written = Event()
        self._queue.append(written)
        self._wake.set()
        while self._writer.is_alive() and (timeout := self._time_left()) > 0:
            if written.wait(timeout):
                return

    def close(self) -> None:
        """Write the queued lines. `logging` calls this when the process ends."""
        self.flush()
        self._closed = True
        self._wake.set()
        super().close()

    def _time_left(self) -> float:
        """Return the number of seconds until the stream counts as blocked."""
        started = self._write_started
        return _BLOCKED_AFTER if started is None else started + _BLOCKED_AFTER - monotonic()

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(self._interval)
            self._wake.clear()
            self._write_queue()

    def _write_queue(self) -> None:
        with self._write_lock:
            while self._queue:
                self._write_started = monotonic()
                count = min(len(self._queue), _LINES_PER_WRITE)
                entries = [self._queue.popleft() for _ in range(count)]
                lines = [self._format(entry) for entry in entries if isinstance(entry, Line)]
                with suppress(OSError, ValueError):  # A failure of the log can't be logged.
                    self._stream.write("".join(lines))
                    self._stream.flush()
                self._write_started = None
                for entry in entries:
                    if isinstance(entry, Event):
                        entry.set()

    def _format(self, line: Line) -> str:
        try:
            return f"{self._formatter.format_line(line)}\n"
        except Exception as error:  # noqa: BLE001 (the `repr` of a fact can raise any error)
            facts = {"error": f"The facts can't be formatted: {type(error).__name__}"}
            return f"{self._formatter.format_line(line._replace(facts=facts))}\n"


def start_log(level: str, log_format: str, stream: TextIO) -> BufferedHandler:
    """Write records from `level` on, and all audit records, to the stream.

    `log_format` is `json`, `text` or `auto`, which is `text` on a terminal and `json`
    otherwise. At level info, libraries log warnings only, because waitress logs paths at info.
    """
    is_readable = log_format == "text" or (log_format == "auto" and stream.isatty())
    formatter = text_formatter(colors=stream.isatty()) if is_readable else json_formatter()
    handler = BufferedHandler(_unbuffered(stream), formatter)
    libraries = "warning" if level == "info" else level
    logging.basicConfig(level=libraries.upper(), handlers=[handler])
    logging.getLogger("psycopg").setLevel(libraries.upper())  # psycopg sets its own level.
    # The pool would log every attempt during an outage. The storage logs the outage itself.
    logging.getLogger("psycopg.pool").setLevel("DEBUG" if level == "debug" else "ERROR")
    logging.getLogger("recipient_fields").setLevel(level.upper())
    logging.getLogger(AUDIT).setLevel("INFO")
    return handler


def _unbuffered(stream: TextIO) -> TextIO | UnbufferedStream:
    try:
        return UnbufferedStream(stream.fileno())
    except UnsupportedOperation:  # A stream in memory has no descriptor.
        return stream
