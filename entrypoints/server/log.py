"""The log: what `logging` is told, by us and by libraries, one line a record.

JSON for machines, or structlog's rendering for a terminal. Whoever embeds the service configures
`logging` themselves, and gets the same records.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from threading import Event, Lock, Thread
from time import monotonic, time
from typing import TextIO

from recipient_fields.application import AUDIT
from recipient_fields.application.extras import requires_extra
from recipient_fields.domain import RecipientFieldsError, format_instant, redact_keys

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("auto", "json", "text")

_BATCH_SECONDS = 0.1
_LARGEST_BATCH = 1_000
"""Lines; more than that make the caller write, so that a stream that takes none slows us down."""
_LINES_AT_ONCE = 50
_PATIENCE_SECONDS = 1.0
"""A write of so many lines that has lasted so long is one that nobody reads: no end of a process
waits for it."""

_encode = json.JSONEncoder(default=repr).encode  # `dumps` would make an encoder for each line.


class Lines(logging.Formatter):
    """One line a record: when, how grave, from whom, what, and the `facts` that belong to it.

    A traceback is Python's own, which shows no values. A key that found its way in, as in an error
    message of a library's, is taken out.
    """

    def __init__(self, render: Callable[[dict[str, object]], str], **always: object) -> None:
        super().__init__()
        self._render = render
        self._always = always
        self._second = (-1, "")

    def format(self, record: logging.LogRecord) -> str:
        """The line of the record."""
        facts: dict[str, object] = getattr(record, "facts", {})
        if record.exc_info:
            facts = {**facts, "exception": self.formatException(record.exc_info)}
        return self.line(record.created, record.levelname, record.name, record.getMessage(), facts)

    def line(
        self, created: float, level: str, logger: str, event: str, facts: Mapping[str, object]
    ) -> str:
        """The line of what happened."""
        told = {
            "timestamp": self._timestamp(created),
            "level": level.lower(),
            "logger": logger,
            "event": event,
            **self._always,
            **facts,
        }
        return redact_keys(self._render(told))

    def _timestamp(self, created: float) -> str:
        """The instant as everywhere, but the second is spelled once for all of its records."""
        second, milliseconds = divmod(int(created * 1_000), 1_000)
        if second != self._second[0]:
            spelled = format_instant(datetime.fromtimestamp(second, UTC)).removesuffix("000Z")
            self._second = (second, spelled)
        return f"{self._second[1]}{milliseconds:03}Z"


def json_lines(**always: object) -> Lines:
    """Lines of JSON, each of which has these members as well."""
    return Lines(_encode, **always)


def readable_lines(*, colors: bool) -> Lines:
    """Lines for people."""
    with requires_extra("http", "structlog"):
        from structlog.dev import ConsoleRenderer  # Services that write JSON do without.
    render = ConsoleRenderer(colors=colors)
    return Lines(lambda told: str(render(None, "", told)))


class Batches(logging.Handler):
    """Writes lines to the stream ten times a second; warnings, errors and audit lines at once.

    A write for each line costs more than answering some of the requests that the lines are about.
    To spell one amid a request costs several times as much as among others, so that waits as well.
    """

    def __init__(self, stream: TextIO, lines: Lines) -> None:
        super().__init__()
        self.setFormatter(lines)
        self._format = lines
        self._stream = stream
        self._lines: deque[Callable[[], str]] = deque()
        self._writing = Lock()
        self._writes_since: float | None = None
        self._wanted = Event()
        self._awaited: deque[Event] = deque()
        self._closing = False
        self._writer = Thread(target=self._keep_writing, name="recipient-fields-log", daemon=True)
        self._writer.start()

    def log(self, logger: str, level: int, event: str, facts: Mapping[str, object]) -> None:
        """Take a line without the detour of a record, which costs twice as much as the line."""
        self._take(self._line(logger, level, event, facts))

    def offer(self, logger: str, level: int, event: str, facts: Mapping[str, object]) -> None:
        """As `log`, for who must not wait: dropped where the stream does not take what there is.

        It takes no lock, so that a signal's handler may call it whatever it interrupts.
        """
        if len(self._lines) < _LARGEST_BATCH:
            self._lines.append(self._line(logger, level, event, facts))

    def emit(self, record: logging.LogRecord) -> None:
        """Take the line of the record; dropped where the stream takes nothing for a second.

        `logging` holds a lock meanwhile that it needs to end the process.
        """
        try:
            line = self.format(record)
            if len(self._lines) >= _LARGEST_BATCH:
                self.flush()
            if len(self._lines) < _LARGEST_BATCH:
                self._lines.append(lambda: line)
            if record.levelno >= logging.WARNING or record.name == AUDIT:
                self.flush()
        except Exception:  # noqa: BLE001 (as every handler of `logging`: it must not fail its caller)
            self.handleError(record)

    def flush(self) -> None:
        """Have what was taken written, but do not wait for a stream that nobody reads."""
        if not self._writer.is_alive():  # After a fork, or once closed.
            self._write()
            return
        if self._patience() <= 0:
            return
        written = Event()
        self._awaited.append(written)
        self._wanted.set()
        while self._writer.is_alive() and (patience := self._patience()) > 0:
            if written.wait(patience):
                return

    def close(self) -> None:
        """Write the rest; `logging` calls this when the process ends."""
        self.flush()
        self._closing = True
        self._wanted.set()
        super().close()

    def _line(
        self, logger: str, level: int, event: str, facts: Mapping[str, object]
    ) -> Callable[[], str]:
        named = logging.getLevelName(level)
        return partial(self._format.line, time(), named, logger, event, facts)

    def _take(self, line: Callable[[], str]) -> None:
        self._lines.append(line)
        if len(self._lines) >= _LARGEST_BATCH:
            self._try_to_write()

    def _patience(self) -> float:
        """For how many seconds the write that goes on is worth waiting for."""
        since = self._writes_since
        return _PATIENCE_SECONDS if since is None else since + _PATIENCE_SECONDS - monotonic()

    def _keep_writing(self) -> None:
        closing = False
        while not closing:
            self._wanted.wait(_BATCH_SECONDS)
            self._wanted.clear()
            closing = self._closing
            awaited = [self._awaited.popleft() for _ in range(len(self._awaited))]
            if self._lines or awaited:
                self._try_to_write()
            for written in awaited:
                written.set()

    def _try_to_write(self) -> None:
        with suppress(OSError, ValueError):  # A log that can't be written has nowhere to say so.
            self._write()

    def _write(self) -> None:
        with self._writing:
            try:
                while self._lines:
                    self._writes_since = monotonic()  # A reader that is slow reads nevertheless.
                    number = min(len(self._lines), _LINES_AT_ONCE)
                    lines = [_spelled(self._lines.popleft()) for _ in range(number)]
                    self._stream.write("".join(lines))
                    self._stream.flush()
            finally:
                self._writes_since = None


def is_readable(style: str, stream: TextIO) -> bool:
    """Are the lines of that style, one of FORMATS, for people on this stream?"""
    return style == "text" or (style == "auto" and stream.isatty())


def start_log(level: str, style: str, stream: TextIO) -> Batches:
    """Write what is at least as grave as `level` to the stream; audit lines whatever the level.

    `style` is one of FORMATS; `auto` is readable on a terminal, and JSON elsewhere. Libraries are
    heard from warnings on, or when debugging: at info, Waitress tells of paths.
    """
    readable = is_readable(style, stream)
    lines = readable_lines(colors=stream.isatty()) if readable else json_lines()
    handler = Batches(stream, lines)
    libraries = "warning" if level == "info" else level
    logging.basicConfig(level=libraries.upper(), handlers=[handler])
    logging.getLogger("psycopg").setLevel(libraries.upper())  # Else it chooses for itself.
    # In an outage it would warn of every attempt. The storage logs the outage itself.
    logging.getLogger("psycopg.pool").setLevel("DEBUG" if level == "debug" else "ERROR")
    logging.getLogger("recipient_fields").setLevel(level.upper())
    logging.getLogger(AUDIT).setLevel("INFO")
    return handler


class AuditNotWritten(RecipientFieldsError):
    """What was done could not be written to the audit log."""


class _Trail(logging.Handler):
    """A file to which each line is appended in one write, and that must not miss one."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        super().__init__()  # Last, as `logging` closes at the end whatever has come so far.

    def emit(self, record: logging.LogRecord) -> None:
        """Append the record's line. AuditNotWritten, where other handlers of `logging` go on."""
        try:
            self._append(f"{self.format(record)}\n".encode())
        except OSError as error:
            raise AuditNotWritten(
                f"The audit log can't be written: {error.strerror}. What was asked for has happened"
                " all the same, but a new key is not shown. See `keys list`, and revoke it."
            ) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
        super().close()

    def _append(self, line: bytes) -> None:
        if os.write(self._file, line) < len(line):  # As on a disk that has little room left.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def audit_trail(path: str) -> Iterator[None]:
    """Append the audit lines of this block to the file, with the user's number.

    OSError where it can't be opened, AuditNotWritten where a line can't be written.
    """
    audit = logging.getLogger(AUDIT)
    trail = _Trail(path)
    trail.setFormatter(json_lines(user=os.getuid()))
    audit.addHandler(trail)
    audit.setLevel("INFO")
    try:
        yield
    finally:
        audit.removeHandler(trail)
        trail.close()


def _spelled(line: Callable[[], str]) -> str:
    """The line; one that can't be spelled is left out, as it must not cost those behind it."""
    try:
        return f"{line()}\n"
    except Exception:  # noqa: BLE001 (a fact's own `repr` may raise anything)
        return ""
