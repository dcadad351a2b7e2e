"""The successful responses of every kind of data, a cache of those to reads, and large ones.

Hosts send a large response without a copy of the whole response for each client.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Final
from weakref import finalize

import falcon
from attrs import Factory, define, field, frozen
from falcon import Request, Response

from recipient_fields.domain import Credential, OrganizationId

from .heavy_requests import HEAVY_SIZE, HeavyRequests, Slots
from .problems import RequestRejected
from .requests import credential, precondition
from .resource import KIBIBYTE, MEBIBYTE, READS

_NO_HEADERS: Mapping[str, str] = {}


@frozen
class ReadResponse:
    """The response to a read. It is the same for all readers of this version."""

    version_tag: str
    body: bytes
    headers: Mapping[str, str] = Factory(dict)


def digest_response(body: bytes, headers: Mapping[str, str] = _NO_HEADERS) -> ReadResponse:
    """Return the response with a body that can change without a new revision of the catalog."""
    return ReadResponse(sha256(body).hexdigest()[:32], body, headers)


def send(req: Request, resp: Response, response: ReadResponse) -> None:
    """Send 200 with the response, or 304 if the client already has this version."""
    resp.etag = response.version_tag
    resp.set_headers(response.headers)
    if req.method in READS and precondition(req).excludes(response.version_tag):
        resp.status = falcon.HTTP_304
        return
    resp.data = response.body


_ENTRY_OVERHEAD = 500
"""Bytes that an entry needs in addition to its body, headers and target: an estimate."""
_MAX_SHARE = 8
"""An organization may fill one eighth of the cache, so that none evicts all others."""


class ResponseCache:
    """The responses to reads, per organization and revision of its catalog.

    The credential contains the revision that was current when the API key was checked. The storage
    would return the same response for that revision, so an entry is never stale. Every request
    still validates its API key. The cache holds at most `max_bytes` and evicts the organization
    that was used least recently. An organization that fills its share gets no new entries until its
    catalog changes.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = Lock()
        self._organizations: OrderedDict[OrganizationId, _Entries] = OrderedDict()

    def send(
        self,
        req: Request,
        resp: Response,
        create: Callable[[], ReadResponse],
        heavy: HeavyRequests | None = None,
    ) -> None:
        """Send the entry of the request's URL, or the new one. `heavy` has slots for large ones."""

        def create_in_slot() -> ReadResponse:
            if heavy is None:
                return create()
            with heavy.reading_catalog(credential(req)) as request:
                response = create()
                request.require_slot_above(HEAVY_SIZE, [len(response.body)])
                return response

        send(req, resp, self.get_or_create(credential(req), req.relative_uri, create_in_slot))

    def get_or_create(
        self, credential: Credential, target: str, create: Callable[[], ReadResponse]
    ) -> ReadResponse:
        """Return the entry of this target, or create it."""
        revision = credential.catalog_revision
        if revision is None:
            return create()
        response = self._find(credential.organization_id, revision, target)
        if response is None:
            response = create()
            self._add(credential.organization_id, revision, target, response)
        return response

    def _find(
        self, organization_id: OrganizationId, revision: int, target: str
    ) -> ReadResponse | None:
        with self._lock:
            entries = self._organizations.get(organization_id)
            if entries is None or entries.revision != revision:
                return None
            self._organizations.move_to_end(organization_id)
            return entries.responses.get(target)

    def _add(
        self, organization_id: OrganizationId, revision: int, target: str, response: ReadResponse
    ) -> None:
        headers = sum(map(len, response.headers.values()))
        size = len(response.body) + headers + len(target) + _ENTRY_OVERHEAD
        with self._lock:
            entries = self._organizations.get(organization_id)
            # A lower revision is also another catalog: the storage was restored from a backup.
            if entries is not None and entries.revision != revision:
                self._evict(organization_id)
                entries = None
            used = 0 if entries is None else entries.bytes
            if size + used > self._max_bytes // _MAX_SHARE:
                return
            if entries is None:
                entries = self._organizations[organization_id] = _Entries(revision)
            if entries.responses.setdefault(target, response) is not response:
                return
            entries.bytes += size
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._evict(next(iter(self._organizations)))

    def _evict(self, organization_id: OrganizationId) -> None:
        entries = self._organizations.pop(organization_id, None)
        if entries is not None:
            self._bytes -= entries.bytes


@define
class _Entries:
    """The entries of one organization, all of one revision."""

    revision: int
    responses: dict[str, ReadResponse] = field(factory=dict)
    bytes: int = 0


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
        self.interrupted: int = 0
        """The number of responses that were interrupted."""

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
        self.interrupted += len(oldest.responses)
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
