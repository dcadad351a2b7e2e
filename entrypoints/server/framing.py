"""The framing of HTTP requests on a connection, parsed strictly (RFC 9112).

A proxy in front of the service may read the same bytes differently, and so see other requests. This
parser therefore repairs and guesses nothing: it rejects each request that has two readings.
"""

from __future__ import annotations

import re
from itertools import takewhile
from time import monotonic
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import FixedStreamReceiver

from . import limits

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
_AUTHORITY = rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?"

_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Z]+) ([\x21\x22\x24-\x7e]+) HTTP/(1\.[01])")
_TARGET = re.compile(
    rb"(?:(?i:https?)://" + _AUTHORITY + rb"(?P<absolute>/[^?]*)?|(?P<origin>/[^?]*))"
    rb"(?:\?(?P<query>.*))?|(?P<asterisk>\*)"
)
_FIELD = re.compile(rb"(" + _TOKEN + rb"):(" + _TEXT + rb")")
_HOST = re.compile(_AUTHORITY.decode())
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?!\n|\Z)")
"""A control character, or a CR or LF that ends no line."""
_CHUNK_LINE = re.compile(
    rb"([0-9A-Fa-f]{1,16})(?:;" + _TOKEN + rb"(?:=(?:" + _TOKEN + rb"|"
    rb'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*'
)
_ONCE = frozenset({"HOST", "CONTENT_LENGTH", "TRANSFER_ENCODING"})
_OF_REJECTIONS = frozenset({b"x-request-id", b"accept", b"authorization"})
"""The headers on which the response to a malformed request depends."""
_LINE_END = b"\r\n"
_HEAD_END = b"\r\n\r\n"


class Rejection(Exception):
    """The error of a request that the application does not receive."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
        """An error code of docs/errors.md."""


class ChunkedBody:
    """A chunked body. Extensions and trailers are checked, limited and dropped."""

    def __init__(self, buffer: OverflowableBuffer, largest: int) -> None:
        """Limit the content to `largest` bytes, and the lines around it to as many again."""
        self.completed: bool = False
        self._buffer = buffer
        self._largest = largest
        self._chunk_rest = 0
        self._line = b""
        self._chunk_ends = False
        self._last_chunk_read = False
        self._framing = 0
        self._trailers = 0

    def __len__(self) -> int:
        return len(self._buffer)

    def getbuf(self) -> OverflowableBuffer:
        """Return the buffer of the content. Waitress closes it."""
        return self._buffer

    def getfile(self) -> Any:
        """Return the content as a file."""
        return self._buffer.getfile()

    def received(self, s: bytes) -> int:
        """Take bytes up to the end of the body, and return their number.

        Raises: Rejection if they are not chunks, or too many.
        """
        size = len(s)
        while s and not self.completed:
            s = self._take_content(s) if self._chunk_rest else self._take_line(s)
        return size - len(s)

    def _take_content(self, data: bytes) -> bytes:
        content, rest = data[: self._chunk_rest], data[self._chunk_rest :]
        self._buffer.append(content)
        self._chunk_rest -= len(content)
        self._chunk_ends = not self._chunk_rest
        return rest

    def _take_line(self, data: bytes) -> bytes:
        line, newline, rest = data.partition(b"\n")
        self._line += line + newline
        self._framing += len(line) + len(newline)
        if self._framing > self._largest:
            raise Rejection("payload_too_large")
        if self._last_chunk_read:
            self._trailers += len(line) + len(newline)
            if self._trailers > limits.MAX_TRAILERS_SIZE:
                raise Rejection("headers_too_large")
        elif len(self._line) > limits.MAX_CHUNK_LINE_LENGTH:
            _reject_malformed()
        if newline:
            if not self._line.endswith(_LINE_END):
                _reject_malformed()
            line, self._line = self._line[:-2], b""
            self._read_line(line)
        return rest

    def _read_line(self, line: bytes) -> None:
        if self._chunk_ends:
            if line:
                _reject_malformed()
            self._chunk_ends = False
        elif self._last_chunk_read:
            if line and not _FIELD.fullmatch(line):
                _reject_malformed()
            self.completed = not line
        else:
            self._begin_chunk(_match(_CHUNK_LINE, line)[1])

    def _begin_chunk(self, size: bytes) -> None:
        self._chunk_rest = int(size, 16)
        self._last_chunk_read = self._chunk_rest == 0
        if len(self._buffer) + self._chunk_rest > self._largest:
            raise Rejection("payload_too_large")


class FramedRequest(HTTPRequestParser):
    """One request, as far as it was received. A rejected one has an `error`."""

    headers: dict[str, str]
    error: Any
    body_rcv: Any

    header_plus: bytes
    headers_finished: bool
    completed: bool
    connection_close: bool
    expect_continue: bool
    content_length: int
    url_scheme: str
    version: str = "1.1"
    command: Any = ""
    path: str = ""
    query: str = ""
    request_uri: str = ""

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.began: float = monotonic()
        """The time of its first byte."""

    def received(self, data: bytes) -> int:
        """Take bytes up to the end of the request, and return their number.

        A rejected request takes all of them.
        """
        try:
            if self.headers_finished:
                return self._receive_body(data)
            return self._receive_head(data)
        except Rejection as rejection:
            self.reject(rejection.code)
            return len(data)

    def reject(self, code: str) -> None:
        """Complete this request as one to be rejected with that error code."""
        if not self.headers:
            self._keep_what_can_be_read()
        self.error = Rejection(code)
        self.connection_close = True
        self.expect_continue = False
        self.completed = True

    def _receive_head(self, data: bytes) -> int:
        self.header_plus += data
        head = self.header_plus.removeprefix(_LINE_END)  # RFC 9112, section 2.2: one empty line.
        end = head.find(_HEAD_END)
        size = len(head) + 1 if end < 0 else end + len(_HEAD_END)
        if _NO_TEXT.search(head, max(len(head) - len(data) - 1, 0), size):
            _reject_malformed()
        if not self.command and (_LINE_END in head or len(head) > limits.MAX_REQUEST_LINE_LENGTH):
            self._read_request_line(head.partition(_LINE_END)[0])
        if size > limits.MAX_HEAD_SIZE:
            raise Rejection("headers_too_large")
        if end < 0:
            return len(data)
        self.parse_header(head[:end])
        self.header_plus = b""
        return len(data) - (len(head) - size)

    def _keep_what_can_be_read(self) -> None:
        """Read what the response depends on: a HEAD, and some headers before the fault."""
        first, *lines = self.header_plus.removeprefix(_LINE_END).split(_LINE_END)
        if first.startswith(b"HEAD "):
            self.command = "HEAD"
        sound = takewhile(_FIELD.fullmatch, lines[:-1] if first else [])  # The last one may go on.
        self.headers = _fields(
            [line for line in sound if line.partition(b":")[0].lower() in _OF_REJECTIONS]
        )

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the whole head, and derive the framing of the body."""
        self.headers_finished = True
        _, *fields = header_plus.split(_LINE_END)
        self.headers = _fields(fields)
        host = self.headers.get("HOST", None if self.version == "1.1" else "")
        if host is None or not _HOST.fullmatch(host):
            _reject_malformed()
        self._read_connection()
        self.body_rcv = self._expected_body()
        self.completed = self.body_rcv is None
        expectation = self.headers.get("EXPECT", "").lower() if self.version == "1.1" else ""
        self.expect_continue = expectation == "100-continue" and not self.completed

    def _read_request_line(self, line: bytes) -> None:
        if len(line) > limits.MAX_REQUEST_LINE_LENGTH:
            raise Rejection("uri_too_long")
        method, target, version = _match(_REQUEST_LINE, line).groups()
        parts = _match(_TARGET, target)
        path = parts["absolute"] or parts["origin"] or parts["asterisk"] or b"/"
        self.command, self.version = method.decode(), version.decode()
        self.request_uri = target.decode()
        self.path = unquote_to_bytes(path).decode("latin-1")
        self.query = (parts["query"] or b"").decode()
        self.url_scheme = self.adj.url_scheme

    def _read_connection(self) -> None:
        options = {o.strip(" \t").lower() for o in self.headers.get("CONNECTION", "").split(",")}
        persistent = self.version == "1.1" or "keep-alive" in options
        self.connection_close = "close" in options or not persistent

    def _expected_body(self) -> ChunkedBody | FixedStreamReceiver | None:
        coding = self.headers.pop("TRANSFER_ENCODING", None)
        length = self.headers.get("CONTENT_LENGTH")
        largest: int = self.adj.max_request_body_size
        if coding is not None:
            if self.version != "1.1" or length is not None or not coding:
                _reject_malformed()
            if coding.lower() != "chunked":
                raise Rejection("not_implemented")
            return ChunkedBody(OverflowableBuffer(self.adj.inbuf_overflow), largest)
        if length is None:
            return None
        if not (length.isascii() and length.isdigit()):
            _reject_malformed()
        digits = length.lstrip("0") or "0"
        if len(digits) > len(str(largest)) or int(digits) > largest:
            raise Rejection("payload_too_large")
        self.content_length = int(digits)
        buffer = OverflowableBuffer(self.adj.inbuf_overflow)
        return FixedStreamReceiver(self.content_length, buffer) if self.content_length else None

    def _receive_body(self, data: bytes) -> int:
        taken: int = self.body_rcv.received(data)
        self.completed = self.body_rcv.completed
        if self.completed:  # The application sees a body of known length, however it was sent.
            self.headers["CONTENT_LENGTH"] = str(len(self.body_rcv))
        return taken


def _fields(lines: list[bytes]) -> dict[str, str]:
    """Return the headers by their WSGI names."""
    headers: dict[str, str] = {}
    for line in lines:
        name, value = (part.decode("latin-1") for part in _match(_FIELD, line).groups())
        if "_" in name:  # In WSGI, it would be another spelling of a name with hyphens.
            continue
        name, value = name.upper().replace("-", "_"), value.strip(" \t")
        if name in headers:
            if name in _ONCE:
                _reject_malformed()
            value = f"{headers[name]}, {value}"
        headers[name] = value
    return headers


def _match(pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes]:
    match = pattern.fullmatch(text)
    if match is None:
        _reject_malformed()
    return match


def _reject_malformed() -> NoReturn:
    raise Rejection("malformed_request")
