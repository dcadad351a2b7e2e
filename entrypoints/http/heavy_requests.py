"""The slots for heavy requests, which read or render so much that they delay all others.

Hosts without `wsgi.file_wrapper` also have slots for large responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from threading import Lock, RLock
from time import monotonic
from typing import ClassVar, Final

from attrs import frozen
from falcon import Request

from recipient_fields.application import ContentService
from recipient_fields.domain import Credential, OrganizationId, RecipientField

from .problems import RequestRejected
from .requests import credential, parse_body, read_body
from .resource import KIBIBYTE, MEBIBYTE, Resource

HEAVY_SIZE: Final = MEBIBYTE
"""A request is heavy if the catalog that it reads, or its response, has more bytes."""
HEAVY_BODY_SIZE: Final = 64 * KIBIBYTE
"""A check of recipients, and an export or a preview of content, is also heavy if its body has more
bytes."""
DEFAULT_THREADS: Final = 4
"""The default of `serve --threads`."""
_ASSUMED_SECONDS: Final = 10.0
"""How long the next requests of unknown size are assumed to be heavy, after one was."""


class HeavyRequests:
    """The slots for heavy requests of one application.

    There is one slot for every four threads of the host, and at least one. If there are several,
    one organization never has all of them. No request waits for a slot. A request has its slot
    until its response is rendered: `UnreadResponses` limits what clients have not received.

    On a host without `wsgi.file_wrapper`, a large response occupies a thread until its client has
    received it. `sending` has one slot for every two threads, and one for each organization.
    """

    def __init__(self, threads: int = DEFAULT_THREADS) -> None:
        number = max(1, threads // 4)
        self._slots = Slots(number, share=max(1, number - 1))
        self.sending: Slots = Slots(max(1, threads // 2), share=1)
        self._lock = Lock()
        self._assumed_heavy_until: dict[OrganizationId, float] = {}

    @property
    def rejected(self) -> int:
        """The number of requests that found no free slot. Any thread may read it."""
        return self._slots.rejected + self.sending.rejected

    @contextmanager
    def request(self, organization_id: OrganizationId) -> Iterator[HeavyRequest]:
        """Return a request that may become heavy, and free its slot at the end of the block."""
        request = HeavyRequest(self._slots, organization_id)
        try:
            yield request
        finally:
            if request.has_slot:
                self._slots.free(organization_id)

    @contextmanager
    def reading_catalog(self, credential: Credential) -> Iterator[HeavyRequest]:
        """Take a slot for the block if the organization's catalog is large.

        If the key validator does not know its size, it is of unknown size.
        Raises: RequestRejected as `overloaded` if no slot is free.
        """
        organization_id, size = credential.organization_id, credential.catalog_size
        reading = self.reading_unknown_size if size is None else self.request
        with reading(organization_id) as request:
            request.require_slot_above(HEAVY_SIZE, [size or 0])
            yield request

    @contextmanager
    def reading_unknown_size(self, organization_id: OrganizationId) -> Iterator[HeavyRequest]:
        """Take a slot for the block if such a request of the organization was heavy just now.

        The size of a page of history is known only when it was read, which takes as long as to
        render it. So a client that repeats a heavy request is rejected before anything is read.
        Raises: RequestRejected as `overloaded` if no slot is free.
        """
        with self.request(organization_id) as request:
            if self._assumed_heavy_until.get(organization_id, 0) > monotonic():
                request.take_slot()
            try:
                yield request
            finally:
                if request.is_heavy:
                    self._assume_heavy(organization_id)

    def _assume_heavy(self, organization_id: OrganizationId) -> None:
        now = monotonic()
        with self._lock:
            valid = {each: end for each, end in self._assumed_heavy_until.items() if end > now}
            self._assumed_heavy_until = {**valid, organization_id: now + _ASSUMED_SECONDS}


class Slots:
    """A number of slots, of which one organization has at most its share."""

    def __init__(self, number: int, *, share: int) -> None:
        self._number = number
        self._share = share
        # A large response can be deleted, which frees its slot, while its thread has the lock.
        self._lock = RLock()
        self._taken: Counter[OrganizationId] = Counter()
        self.rejected: int = 0
        """How often no slot was free. Any thread may read it."""

    def take(self, organization_id: OrganizationId) -> None:
        """Take a slot. Raises: RequestRejected as `overloaded` if the organization gets none."""
        with self._lock:
            is_free = self._taken.total() < self._number
            if not is_free or self._taken[organization_id] >= self._share:
                self.rejected += 1
                raise RequestRejected("overloaded", _MESSAGE)
            self._taken[organization_id] += 1

    def free(self, organization_id: OrganizationId) -> None:
        """Free a slot of the organization."""
        with self._lock:
            self._taken[organization_id] -= 1
            if not self._taken[organization_id]:
                del self._taken[organization_id]


class HeavyRequest:
    """A request that takes a slot once it is known to be heavy."""

    def __init__(self, slots: Slots, organization_id: OrganizationId) -> None:
        self._slots = slots
        self._organization_id = organization_id
        self.has_slot: bool = False
        self.is_heavy: bool = False
        """Whether its size has exceeded a limit, even if it found no free slot."""

    def require_slot_above(self, limit: int, sizes: Iterable[int]) -> None:
        """Take a slot if the sum of the sizes exceeds the limit.

        It reads no further sizes once their sum exceeds the limit, because computing them takes
        time.
        Raises: RequestRejected as `overloaded` if no slot is free.
        """
        if not self.is_heavy and any(total > limit for total in accumulate(sizes)):
            self.is_heavy = True
            self.take_slot()

    def take_slot(self) -> None:
        """Take a slot, unless the request has one.

        Raises: RequestRejected as `overloaded` if no slot is free.
        """
        if not self.has_slot:
            self._slots.take(self._organization_id)
            self.has_slot = True


@frozen
class LargeBodies(Resource):
    """A resource that computes something from a body and the catalog, and stores nothing."""

    requires_write: ClassVar[bool] = False

    service: ContentService
    heavy: HeavyRequests

    @contextmanager
    def reading(self, req: Request) -> Iterator[tuple[HeavyRequest, object]]:
        """Read the body, and return its JSON. Take a slot for the block if the request is heavy.

        Raises: RequestRejected.
        """
        body = read_body(req, self)  # Without a slot, because a client can send it slowly.
        with self.heavy.reading_catalog(credential(req)) as request:
            request.require_slot_above(HEAVY_BODY_SIZE, [len(body)])
            yield request, parse_body(body, self)


def field_sizes(fields: Iterable[RecipientField | None]) -> Iterator[int]:
    """Return the bytes of each field in a response."""
    return (each.size for each in fields if each is not None)


_MESSAGE = "Too many large requests are in progress. Retry shortly, with fewer at the same time."
