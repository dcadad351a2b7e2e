"""Large responses, which hosts send without a copy of the whole response for each client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import Final
from weakref import finalize

from attrs import define, field, frozen
from falcon import Request, Response

from recipient_fields.domain import OrganizationId

from .heavy_requests import HEAVY_SIZE, Slots
from .problems import RequestRejected
from .resource import KIBIBYTE, MEBIBYTE

MAX_UNREAD_BYTES: Final = 16 * MEBIBYTE
"""Two lists of the default maximum."""
_MAX_READ: Final = 128 * KIBIBYTE
"""Hosts read as much as a socket could take, which is often much more than it takes. It is also the
size of the pieces for hosts that read no files."""
_HEADERS: Final = ("ETag", "Link", "Total-Count")
"""The headers of large responses that an error does not have."""


@frozen
class LargeResponses:
    """The middleware that sends large responses so that hosts do not copy them as a whole.

    If the host has `wsgi.file_wrapper` (PEP 3333), it reads a response as a file, as the client
    receives it. Other hosts, such as Granian, receive pieces. They wait in a thread until the
    client has read a piece, so the number of these responses is limited.
    """

    unread: UnreadResponses
    sending: Slots

    def process_response(
        self,
        req: Request,
        resp: Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 (Falcon's signature)
    ) -> None:
        """Replace the body of a large response by a file, or by pieces.

        Raises: RequestRejected as `overloaded` if the host needs pieces and no slot is free.
        """
        body = resp.data
        if body is None or len(body) <= HEAVY_SIZE or req.method == "HEAD":
            return
        if "credential" not in req.context:
            return
        organization_id = req.context.credential.organization_id
        if reads_files(req):
            resp.set_stream(self.unread.open(organization_id, body), len(body))
        elif req.method != "GET" and resp.get_header("ETag"):  # A stored field is not rejected.
            resp.set_stream(ResponsePieces(body, free=lambda: None), len(body))
        else:
            try:
                self.sending.take(organization_id)
            except RequestRejected:
                for name in _HEADERS:
                    resp.delete_header(name)
                raise
            free = partial(self.sending.free, organization_id)
            resp.set_stream(ResponsePieces(body, free), len(body))
        resp.data = None


def reads_files(req: Request) -> bool:
    """Return whether the host reads large responses as files."""
    return "wsgi.file_wrapper" in req.env


class ResponsePieces:
    """A response in pieces of 128 KiB, which a host without `wsgi.file_wrapper` iterates over."""

    def __init__(self, content: bytes, free: Callable[[], None]) -> None:
        self._content = content
        self.close: Callable[[], object] = finalize(self, free)
        """Free the slot, at most once. It is also freed if the host forgets the response."""

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._content), _MAX_READ):
            yield self._content[start : start + _MAX_READ]


class UnreadResponses:
    """The large responses that their clients have not received completely.

    Clients of one body share its bytes. If all bodies exceed `max_bytes`, the oldest one of the
    organization with most bytes is removed, and the connections of its clients end. So clients that
    do not read cannot fill the memory, and one organization cannot interrupt the responses of
    another that has less. The newest body always stays.
    """

    def __init__(self, max_bytes: int = MAX_UNREAD_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._bodies: dict[int, _Body] = {}
        self._interrupted = 0

    @property
    def interrupted(self) -> int:
        """The number of responses that were interrupted. Any thread may read it."""
        return self._interrupted

    def open(self, organization_id: OrganizationId, content: bytes) -> UnreadResponse:
        """Return a file with this content. The host closes it when it has sent the response."""
        with self._lock:
            # The content is alive while its body is here, so that no other one has its id.
            body = self._bodies.setdefault(id(content), _Body(organization_id, content))
            response = UnreadResponse(self, content)
            body.responses.add(response)
            while self._size() > self._max_bytes and self._remove_one(newest=body):
                pass
            return response

    def close(self, response: UnreadResponse, content: bytes) -> None:
        """Forget a response that was sent or whose connection ended."""
        with self._lock:
            body = self._bodies.get(id(content))
            if body is not None:
                body.responses.discard(response)
                if not body.responses:
                    del self._bodies[id(content)]

    def _size(self) -> int:
        return sum(len(body.content) for body in self._bodies.values())

    def _remove_one(self, newest: _Body) -> bool:
        """Remove the oldest body of the organization that has most bytes; return whether it did."""
        sizes: dict[OrganizationId, int] = {}
        for body in self._bodies.values():
            sizes[body.organization_id] = sizes.get(body.organization_id, 0) + len(body.content)
        others = [body for body in self._bodies.values() if body is not newest]
        if not others:
            return False
        oldest = max(others, key=lambda body: sizes[body.organization_id])
        del self._bodies[id(oldest.content)]
        for response in oldest.responses:
            response.interrupt()
        self._interrupted += len(oldest.responses)
        return True


class UnreadResponse:
    """A response as a binary file, which a host reads with its `wsgi.file_wrapper`."""

    def __init__(self, unread: UnreadResponses, content: bytes) -> None:
        self._unread = unread
        self._content: bytes | None = content
        self._size = len(content)
        self._position = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most this many of the next bytes, and at most 128 KiB.

        Raises: ConnectionAbortedError if the response is interrupted.
        """
        content = self._content
        if content is None:
            raise ConnectionAbortedError("too many clients do not read their responses")
        most = _MAX_READ if size is None or size < 0 else min(size, _MAX_READ)
        read = content[self._position : self._position + most]
        self._position += len(read)
        return read

    def seek(self, offset: int, whence: int = 0) -> int:
        """Set the position, relative to the beginning (0), the position (1) or the end (2)."""
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def close(self) -> None:
        """Release the content."""
        content, self._content = self._content, None
        if content is not None:
            self._unread.close(self, content)

    def interrupt(self) -> None:
        """Release the content, so that reading fails."""
        self._content = None


@define(eq=False)
class _Body:
    organization_id: OrganizationId
    content: bytes
    responses: set[UnreadResponse] = field(factory=set)
