"""Waits that are told of before they begin.

The thread that asks may have others to look after: the service's own, for example, polls all
connections between two answers. Whoever runs such a thread says by `when_about_to_wait` how it is
to be told, and an adapter calls `about_to_wait` before it waits for a lock, a disk or an answer
that may take more than a millisecond. Where nobody wants to be told, nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local


class _Thread(local):
    tell: Callable[[], None] | None = None


_this_thread = _Thread()


def when_about_to_wait(tell: Callable[[], None]) -> None:
    """Have `tell` called before this thread waits; it must neither wait nor raise."""
    _this_thread.tell = tell


def about_to_wait() -> None:
    """Say that this thread may now wait for long. Costs nothing to speak of."""
    if _this_thread.tell is not None:
        _this_thread.tell()
