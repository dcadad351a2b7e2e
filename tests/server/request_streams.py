"""Streams of requests, parsed by the server and by h11, with which it must agree."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import h11
from attrs import frozen
from waitress.adjustments import Adjustments

from recipient_fields.entrypoints.http.problems import STATUSES
from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE
from recipient_fields.entrypoints.server.framing import FramedRequest

T = TypeVar("T")

SETTINGS = Adjustments(max_request_body_size=MAX_BODY_SIZE)


@frozen
class ParsedRequest:
    """A complete request."""

    method: str
    target: str
    body: bytes
    end: int
    """The position in the stream behind it."""


@frozen
class ParsedStream:
    """The result of parsing a stream."""

    accepted: tuple[ParsedRequest, ...]
    rejection: str | None = None
    """The error code of the request that was rejected, if one was."""


def parse(stream: bytes, sizes: Iterable[int] = ()) -> ParsedStream:
    """Parse a stream that arrives in pieces of these sizes and a last one, as Waitress does.

    Each request receives the bytes that the one before did not take.
    """
    accepted: list[ParsedRequest] = []
    request, at = FramedRequest(SETTINGS), 0
    for piece in _pieces(stream, sizes):
        rest = piece
        while rest:
            taken = request.received(rest)
            assert 0 < taken <= len(rest)
            at, rest = at + taken, rest[taken:]
            if request.error:
                assert request.error.code in STATUSES
                assert request.completed
                assert not rest
                return ParsedStream(tuple(accepted), request.error.code)
            if request.completed:
                body = request.get_body_stream().read()
                assert len(body) == int(request.headers.get("CONTENT_LENGTH", 0))
                assert "TRANSFER_ENCODING" not in request.headers
                accepted.append(ParsedRequest(request.command, request.request_uri, body, at))
                request.close()
                request = FramedRequest(SETTINGS)
    return ParsedStream(tuple(accepted))


def parse_with_h11(stream: bytes) -> Iterator[ParsedRequest]:
    """Yield the requests that h11 accepts, up to the first invalid or incomplete one."""
    begin = 0
    while begin < len(stream):
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(stream[begin:])
        head, body = None, b""
        while not isinstance(event := _next_event(connection), h11.EndOfMessage):
            if isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                return
        assert head is not None
        begin = len(stream) - len(connection.trailing_data[0])
        yield ParsedRequest(head.method.decode(), head.target.decode(), body, begin)


def disagreement(stream: bytes, rng: random.Random) -> object:
    """Return two different results of parsing the stream, by the server and h11 or in pieces.

    Return None if there are none. A request that one of the parsers rejects makes no difference.
    """
    ours = parse(stream)
    in_pieces = parse(stream, (rng.choice((1, 1, 2, 7, 50)) for _ in stream))
    if ours != in_pieces:
        return ours, in_pieces
    for one, other in zip(ours.accepted, parse_with_h11(stream), strict=False):
        if one != other:
            return one, other
    return None


def streams(rng: random.Random) -> Iterator[bytes]:
    """Yield pipelined requests, some valid, most with small faults."""
    while True:
        stream = b"".join(_request(rng) for _ in range(rng.choice((1, 1, 2, 3))))
        for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2, 4))):
            stream = _mutated(stream, rng)
        yield stream


def _request(rng: random.Random) -> bytes:
    fields = _mostly(rng, [[b"Host: localhost"]], [[], [b"Host: h", b"Host: h"]])
    fields = fields + _mostly(rng, [[], rng.sample(_FIELDS, 1)], [[rng.choice(_ODD_FIELDS)]])
    body = b""
    match rng.choice("nllcccx"):
        case "l":
            body = rng.choice((b"", b"{}", b"GET / HTTP/1.1\r\n\r\n", b"\r\n" * 5))
            fields.append(b"Content-Length: %d" % len(body))
        case "c":
            body = _chunked(rng)
            fields.append(b"Transfer-Encoding: chunked")
        case "x":
            body = _chunked(rng)
            fields += rng.sample(_FRAMINGS, rng.choice((1, 2)))
    rng.shuffle(fields)
    line = b"%b %b %b" % (
        _mostly(rng, (b"GET", b"POST", b"BREW"), (b"get", b"", b"G(T")),
        _mostly(
            rng,
            (b"/", b"/a?b=%20", b"http://h/x", b"*"),
            (b"http://[::1/", b"x", b"/\x80"),
        ),
        _mostly(rng, (b"HTTP/1.1",) * 5 + (b"HTTP/1.0",), (b"HTTP/9.9", b"HTTP/1.2", b"")),
    )
    return b"\r\n".join([line, *fields, b"", body])


def _chunked(rng: random.Random) -> bytes:
    parts = []
    for _ in range(rng.choice((0, 1, 2))):
        content = rng.choice((b"{", b"0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
        good, odd = (b"%x", b"%X", b"0%x", b"%x;a=b", b'%x;a="\\""'), (b"%x ;a", b"%x;", b"0x%x")
        parts.append(_mostly(rng, good, odd) % len(content) + b"\r\n" + content + b"\r\n")
    last = _mostly(rng, (b"0\r\n", b"0;x\r\n", b"00\r\n"), (b"-0\r\n", b"\r\n", b"0\n"))
    trailer = _mostly(rng, (b"", b"A: b\r\n", b"Content-Length: 5\r\n"), (b"A\r\n", b" A: b\r\n"))
    return b"".join(parts) + last + trailer + b"\r\n"


def _mostly(rng: random.Random, usual: Sequence[T], odd: Sequence[T]) -> T:
    return rng.choice(odd if rng.random() < 0.04 else usual)


def _mutated(stream: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(stream) + 1)
    match rng.choice("iiddrrsl"):
        case "i":
            return stream[:at] + rng.choice(_BITS) + stream[at:]
        case "d":
            return stream[:at] + stream[at + rng.choice((1, 1, 2, 5)) :]
        case "r":
            return stream[:at] + rng.choice(_BITS) + stream[at + 1 :]
        case "s":
            old, new = rng.sample((b"\r\n", b"\n", b"\r", b": ", b"1", b"0"), 2)
            return stream[:at] + stream[at:].replace(old, new, 1)
        case _:
            lines = stream.split(b"\r\n")
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            return b"\r\n".join(lines)


def _next_event(connection: h11.Connection) -> object:
    try:
        return connection.next_event()
    except h11.RemoteProtocolError:
        return None


def _pieces(stream: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        if at >= len(stream):
            return
        yield stream[at : at + size]
        at += size
    if at < len(stream):
        yield stream[at:]


_FRAMINGS = [
    b"Content-Length: 5",
    b"Content-Length: 5",
    b"Content-Length: 0",
    b"Content-Length: +5",
    b"Content-Length: 5, 5",
    b"Content-Length : 5",
    b"Content-Length: " + b"9" * 5_000,
    b"Content_Length: 5",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: Chunked",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding:",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer_Encoding: chunked",
    b"Transfer-Encoding\t: chunked",
    b" Transfer-Encoding: chunked",
]
_FIELDS = [
    b"Connection: close",
    b"Connection: keep-alive",
    b"Expect: 100-continue",
    b"X: y",
    b"X:",
    b"X:\ty\x80\t",
    b"Upgrade: h2c",
]
_ODD_FIELDS = [b" folded", b"No colon", b"X : y", b"X: \x00", b"X: a\rb", b"X: a\nb", b": y"]
_BITS = [bytes([byte]) for byte in range(256)] + [
    b"\r\n",
    b"\r\n\r\n",
    b"0",
    b";",
    b"\n\n",
    b" ",
] * 20
