"""Large responses, whose bytes their clients share while the host sends them."""

from __future__ import annotations

from threading import Lock
from typing import Final

import falcon
from attrs import define, field, frozen

from recipient_fields.domain import OrganizationId

from .resource import KIBIBYTE, MEBIBYTE

_LARGE: Final = MEBIBYTE
"""Hosts buffer smaller responses themselves."""
MAX_UNREAD_BYTES: Final = 16 * MEBIBYTE
"""Two lists of the default maximum."""
_MAX_READ: Final = 128 * KIBIBYTE
"""Hosts read as much as a socket could take, which is often much more than it takes."""


@frozen
class LargeResponses:
    """The middleware that sends large responses as files, if the host has `wsgi.file_wrapper`.

    Such a host (PEP 3333) reads the file as the client receives the response. Without it, a host
    copies the whole response for each client, into memory or into a temporary file.
    """

    unread: UnreadResponses

    def process_response(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 (Falcon's signature)
    ) -> None:
        """Replace the body of a large response by a file."""
        body = resp.data
        if body is None or len(body) <= _LARGE or req.method == "HEAD":
            return
        if "wsgi.file_wrapper" in req.env and "credential" in req.context:
            file = self.unread.open(req.context.credential.organization_id, body)
            resp.data = None
            resp.set_stream(file, len(body))


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
