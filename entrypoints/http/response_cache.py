"""Answers to reads, kept for as long as the catalog they were made from stands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from attrs import define, field

from recipient_fields.domain import Credential, OrganizationId

from .responses import Answer

_OVERHEAD = 500
"""About what an answer takes beside its body, its headers and its target, in bytes."""
_ORGANIZATIONS_AT_LEAST = 8
"""An organization may fill an eighth of the whole, so that none displaces all others."""


class KeptAnswers:
    """What was answered to whom, at which revision of the organization's catalog.

    The credential tells the revision that its bearer meets, read together with the API key. An
    answer that was made for a bearer of that revision is what the storage would give again; so it
    is never stale, and no key is spared its check. At most `most_bytes` are held; the organization
    that was asked about longest ago goes first, and one that fills its share gets no more of it
    until its catalog changes.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = Lock()
        self._shelves: OrderedDict[OrganizationId, _Shelf] = OrderedDict()

    def answer(self, whose: Credential, target: str, make: Callable[[], Answer]) -> Answer:
        """The answer that is kept for that target, or the one that `make` gives now."""
        revision = whose.catalog_revision
        if revision is None:
            return make()
        kept = self._find(whose.organization_id, revision, target)
        if kept is None:
            kept = make()
            self._keep(whose.organization_id, revision, target, kept)
        return kept

    def _find(self, organization_id: OrganizationId, revision: int, target: str) -> Answer | None:
        with self._lock:
            shelf = self._shelves.get(organization_id)
            if shelf is None or shelf.revision != revision:
                return None
            self._shelves.move_to_end(organization_id)
            return shelf.answers.get(target)

    def _keep(
        self, organization_id: OrganizationId, revision: int, target: str, answer: Answer
    ) -> None:
        size = len(answer.body) + sum(map(len, answer.headers.values())) + len(target) + _OVERHEAD
        share = self._most_bytes // _ORGANIZATIONS_AT_LEAST
        with self._lock:
            shelf = self._shelves.get(organization_id)
            # A lower revision, too, is another catalog: the storage was restored from a backup.
            if shelf is not None and shelf.revision != revision:
                self._drop(organization_id)
                shelf = None
            if size + (0 if shelf is None else shelf.bytes) > share:
                return
            if shelf is None:
                shelf = self._shelves[organization_id] = _Shelf(revision)
            if shelf.answers.setdefault(target, answer) is not answer:
                return
            shelf.bytes += size
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._shelves)))

    def _drop(self, organization_id: OrganizationId) -> None:
        shelf = self._shelves.pop(organization_id, None)
        if shelf is not None:
            self._bytes -= shelf.bytes


@define
class _Shelf:
    """What is kept for one organization, all of one revision."""

    revision: int
    answers: dict[str, Answer] = field(factory=dict)
    bytes: int = 0
