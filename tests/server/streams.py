"""Streams of requests as the host reads them, and as h11 does: the oracle of the framing tests."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import h11
from attrs import frozen
from waitress.adjustments import Adjustments

from recipient_fields.entrypoints.http.bodies import LARGEST_BODY
from recipient_fields.entrypoints.http.problems import STATUSES
from recipient_fields.entrypoints.server.framing import FramedRequest

T = TypeVar("T")

SETTINGS = Adjustments(max_request_body_size=LARGEST_BODY)


@frozen
class Accepted:
    """A request that was read to its end."""

    method: str
    target: str
    body: bytes
    end: int
    """Where in the stream it ends."""


@frozen
class Reading:
    """What was made of a stream."""

    accepted: tuple[Accepted, ...]
    refused: str | None = None
    """The code of the refusal that ended it, if one did."""


def as_read(stream: bytes, sizes: Iterable[int] = ()) -> Reading:
    """What the host makes of the stream when it comes in pieces of these sizes, and then at once.

    Waitress feeds its parser in the same way: each request what the one before has left.
    """
    accepted: list[Accepted] = []
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
                return Reading(tuple(accepted), request.error.code)
            if request.completed:
                body = request.get_body_stream().read()
                assert len(body) == int(request.headers.get("CONTENT_LENGTH", 0))
                assert "TRANSFER_ENCODING" not in request.headers
                accepted.append(Accepted(request.command, request.request_uri, body, at))
                request.close()
                request = FramedRequest(SETTINGS)
    return Reading(tuple(accepted))


def as_h11_reads(stream: bytes) -> Iterator[Accepted]:
    """The requests that h11 accepts, up to the first that it refuses or that is not complete."""
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
        yield Accepted(head.method.decode(), head.target.decode(), body, begin)


def disagreement(stream: bytes, chance: random.Random) -> object:
    """Where the host and h11, or the host and itself, read the stream in two ways; None if nowhere.

    A request that one of them refuses is no disagreement: nobody acts on it.
    """
    ours = as_read(stream)
    in_pieces = as_read(stream, (chance.choice((1, 1, 2, 7, 50)) for _ in stream))
    if ours != in_pieces:
        return ours, in_pieces
    for one, other in zip(ours.accepted, as_h11_reads(stream), strict=False):
        if one != other:
            return one, other
    return None


def streams(chance: random.Random) -> Iterator[bytes]:
    """Pipelined requests without end, some good, most a little off."""
    while True:
        stream = b"".join(_request(chance) for _ in range(chance.choice((1, 1, 2, 3))))
        for _ in range(chance.choice((0, 0, 0, 0, 1, 1, 2, 4))):
            stream = _mutated(stream, chance)
        yield stream


def _request(chance: random.Random) -> bytes:
    fields = _mostly(chance, [[b"Host: localhost"]], [[], [b"Host: h", b"Host: h"]])
    fields = fields + _mostly(
        chance, [[], chance.sample(_FIELDS, 1)], [[chance.choice(_ODD_FIELDS)]]
    )
    body = b""
    match chance.choice("nllcccx"):
        case "l":
            body = chance.choice((b"", b"{}", b"GET / HTTP/1.1\r\n\r\n", b"\r\n" * 5))
            fields.append(b"Content-Length: %d" % len(body))
        case "c":
            body = _chunked(chance)
            fields.append(b"Transfer-Encoding: chunked")
        case "x":
            body = _chunked(chance)
            fields += chance.sample(_FRAMINGS, chance.choice((1, 2)))
    chance.shuffle(fields)
    line = b"%b %b %b" % (
        _mostly(chance, (b"GET", b"POST", b"BREW"), (b"get", b"", b"G(T")),
        _mostly(
            chance, (b"/", b"/a?b=%20", b"http://h/x", b"*"), (b"http://[::1/", b"x", b"/\x80")
        ),
        _mostly(chance, (b"HTTP/1.1",) * 5 + (b"HTTP/1.0",), (b"HTTP/9.9", b"HTTP/1.2", b"")),
    )
    return b"\r\n".join([line, *fields, b"", body])


def _chunked(chance: random.Random) -> bytes:
    parts = []
    for _ in range(chance.choice((0, 1, 2))):
        content = chance.choice((b"{", b"0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
        good, odd = (b"%x", b"%X", b"0%x", b"%x;a=b", b'%x;a="\\""'), (b"%x ;a", b"%x;", b"0x%x")
        parts.append(_mostly(chance, good, odd) % len(content) + b"\r\n" + content + b"\r\n")
    last = _mostly(chance, (b"0\r\n", b"0;x\r\n", b"00\r\n"), (b"-0\r\n", b"\r\n", b"0\n"))
    trailer = _mostly(
        chance, (b"", b"A: b\r\n", b"Content-Length: 5\r\n"), (b"A\r\n", b" A: b\r\n")
    )
    return b"".join(parts) + last + trailer + b"\r\n"


def _mostly(chance: random.Random, usual: Sequence[T], odd: Sequence[T]) -> T:
    return chance.choice(odd if chance.random() < 0.04 else usual)


def _mutated(stream: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(stream) + 1)
    match chance.choice("iiddrrsl"):
        case "i":
            return stream[:at] + chance.choice(_BITS) + stream[at:]
        case "d":
            return stream[:at] + stream[at + chance.choice((1, 1, 2, 5)) :]
        case "r":
            return stream[:at] + chance.choice(_BITS) + stream[at + 1 :]
        case "s":
            old, new = chance.sample((b"\r\n", b"\n", b"\r", b": ", b"1", b"0"), 2)
            return stream[:at] + stream[at:].replace(old, new, 1)
        case _:
            lines = stream.split(b"\r\n")
            lines.insert(chance.randrange(len(lines)), chance.choice(lines))
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
