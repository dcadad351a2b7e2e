"""The limit for the size of each history, which removes the oldest records."""

from __future__ import annotations

import logging
from threading import Lock, Thread
from time import monotonic, sleep

from recipient_fields.domain import (
    HistoryLimit,
    OrganizationId,
    OrganizationNotFound,
    RecipientFieldsError,
)

from ..accounts.administration import SERVICE, audit
from ..ports.fields import HistoryRepository

__all__ = ["DEFAULT_HISTORY_LIMIT", "HistoryLimits"]

DEFAULT_HISTORY_LIMIT = HistoryLimit(256 * 1024 * 1024)
"""About 200,000 changes of fields without large values."""

_INTERVAL = 1.0
"""Seconds between two checks of one history, each of which is a query."""

_log = logging.getLogger(__name__)


def ignore_change(_: OrganizationId) -> None:
    """Do nothing: histories have no limit."""


class HistoryLimits:
    """Checks the histories of changed organizations, and reduces those that exceed the limit.

    A thread checks a history about a second after a change, so that changes do not wait. It ends
    when no history is left to check. If `in_caller` is true, because the storage belongs to the
    calling thread, the change itself waits for a check, at most once per second and organization.

    Any number of processes can do this for one storage.
    """

    def __init__(
        self,
        history: HistoryRepository,
        limit: HistoryLimit = DEFAULT_HISTORY_LIMIT,
        *,
        in_caller: bool = False,
    ) -> None:
        self._history, self._limit, self._in_caller = history, limit, in_caller
        self._lock = Lock()
        self._changed: set[OrganizationId] = set()
        self._next_check: dict[OrganizationId, float] = {}
        self._is_running = False

    def note_change(self, organization_id: OrganizationId) -> None:
        """Check the history of this organization soon. It has changed."""
        if organization_id in self._changed:
            return
        if self._in_caller:
            self._check_in_caller(organization_id)
            return
        with self._lock:
            self._changed.add(organization_id)
            starts, self._is_running = not self._is_running, True
        if starts:
            self._start()

    def reduce(self, organization_id: OrganizationId) -> int:
        """Remove the oldest records of a history that exceeds the limit, and return their number.

        The audit log has a record.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        target = self._limit.target(self._history.size(organization_id))
        records = 0 if target is None else self._history.prune_to_size(organization_id, target)
        if records:
            facts = {"organization": organization_id, "records": records}
            audit("History", "pruned", by=SERVICE, **facts, limit=self._limit.bytes)
        return records

    def _start(self) -> None:
        try:
            Thread(target=self._run, name="history-limits", daemon=True).start()
        except RuntimeError as error:  # The next change tries again.
            self._is_running = False
            _log.warning("No thread for the sizes of histories can be started: %s", error)

    def _run(self) -> None:
        try:
            self._check_changed()
        except BaseException:  # The next change starts another thread.
            self._is_running = False
            raise

    def _check_changed(self) -> None:
        while True:
            sleep(_INTERVAL)
            with self._lock:
                changed, self._changed = self._changed, set()
                if not changed:
                    self._is_running = False
                    return
            for organization_id in changed:
                self._try_to_reduce(organization_id)

    def _check_in_caller(self, organization_id: OrganizationId) -> None:
        now = monotonic()
        if now >= self._next_check.get(organization_id, now):
            self._next_check[organization_id] = now + _INTERVAL
            self._try_to_reduce(organization_id)

    def _try_to_reduce(self, organization_id: OrganizationId) -> None:
        try:
            self.reduce(organization_id)
        except OrganizationNotFound:
            pass  # It was deleted, with its history.
        except RecipientFieldsError as error:  # The next change leads to another check.
            _log.warning("The size of history %s was not checked: %s", organization_id, error)
