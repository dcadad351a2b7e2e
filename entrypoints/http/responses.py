"""The successful responses of every kind of data, and a cache of those to reads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from threading import Lock

import falcon
from attrs import Factory, define, field, frozen
from falcon import Request, Response

from recipient_fields.domain import Credential, OrganizationId

from .heavy_requests import HEAVY_SIZE, HeavyRequests
from .requests import precondition
from .resource import READS

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


def in_slot(
    heavy: HeavyRequests, credential: Credential, create: Callable[[], ReadResponse]
) -> Callable[[], ReadResponse]:
    """Return the function that creates the response from the catalog, in a slot if it is large."""

    def create_in_slot() -> ReadResponse:
        with heavy.reading_catalog(credential) as request:
            response = create()
            request.require_slot_above(HEAVY_SIZE, [len(response.body)])
            return response

    return create_in_slot


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
