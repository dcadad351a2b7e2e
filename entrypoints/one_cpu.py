"""A process that stays on one CPU, and moves to where others leave more of one.

Python lets one thread of a process run at a time. While a creation waits for its commit another one
goes on, and on another CPU that is dear: it is woken there, finds the interpreter taken, and sleeps
again. On one CPU the system only lets the next one run.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import SystemRandom
from threading import Event, Thread
from time import monotonic, process_time

from attrs import frozen

_logger = logging.getLogger("recipient_fields.service")

_STAT = Path("/proc/stat")
_FIRST_LOOK_SECONDS = 0.1
_LOOK_SECONDS = (0.75, 1.25)
"""How often it is looked whether another CPU is better: at random, lest processes move as one."""
_WORTH_MOVING = 0.2
"""How much less of another CPU others must use: less is chance, and each move makes caches cold."""
_MOSTLY_OURS = 0.5
"""Where others use less of its CPU, a thread that wakes lets the one that runs go on.

To push that one aside is in vain, as it has the interpreter. But with a busy program on that CPU,
each of our turns would wait for the end of one of its own.
"""
_CPU = re.compile(r"^cpu([0-9]+) (.*)$", re.MULTILINE)
_USED = (0, 1, 2, 5, 6, 7)
"""Of the times of a CPU, see proc(5): user, nice, system, irq, softirq, steal."""

_chance = SystemRandom()


@contextmanager
def on_one_cpu() -> Iterator[None]:
    """Stay on one CPU within the block, of those that the process may run on.

    Without effect where the system has no such thing, or Python runs threads side by side.
    """
    if not (hasattr(os, "sched_setaffinity") and _STAT.exists() and _one_thread_runs()):
        yield
        return
    ended = Event()
    looking = Thread(target=_keep_looking, args=(ended,), name="recipient-fields-cpu", daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()


def best_cpu(held: int | None, used: Mapping[int, float]) -> int:
    """The held CPU, or the one of which others use so much less that moving is worth it.

    `used` are parts of a CPU, 0 to 1; among those used alike, chance decides.
    """
    best = min(used, key=lambda cpu: (round(used[cpu], 1), _chance.random()))
    if held is None or held not in used or used[held] >= used[best] + _WORTH_MOVING:
        return best
    return held


@frozen
class _Look:
    """What had been used when it was looked."""

    at: float
    by_all: Mapping[int, float]
    """Seconds of each CPU."""
    by_us: float


class OneCpu:
    """Where the process may run, and where it is held."""

    def __init__(self, stat: Path = _STAT) -> None:
        self._stat = stat
        self._permitted = os.sched_getaffinity(0)
        self._usual = os.sched_getscheduler(0) == os.SCHED_OTHER
        self._held: int | None = None
        self._last = self._look()

    def choose(self) -> None:
        """Move to the best CPU, as far as what was used since the last call tells."""
        affinity = os.sched_getaffinity(0)
        if affinity != self._expected:  # Somebody else has set it meanwhile.
            self._permitted, self._held = affinity, None
        last, self._last = self._last, self._look()
        used = self._used_by_others(last, self._last)
        if used:
            cpu = best_cpu(self._held, used)
            if cpu != self._held:
                _logger.debug("moves to CPU %d", cpu)
            self._held = cpu
            # Each time: a thread may have been started by one that was yet to move.
            self._hold({cpu}, patiently=used[cpu] < _MOSTLY_OURS)

    def leave(self) -> None:
        """Run anywhere again."""
        if self._held is not None:
            self._hold(self._permitted, patiently=False)
            self._held = None

    @property
    def _expected(self) -> set[int]:
        return self._permitted if self._held is None else {self._held}

    def _used_by_others(self, last: _Look, now: _Look) -> dict[int, float]:
        seconds = now.at - last.at
        used = {
            cpu: (now.by_all[cpu] - last.by_all[cpu]) / seconds
            for cpu in self._permitted & last.by_all.keys() & now.by_all.keys()
        }
        if self._held in used:
            used[self._held] -= (now.by_us - last.by_us) / seconds
        return used

    def _look(self) -> _Look:
        return _Look(monotonic(), _seconds_used(self._stat.read_text("ascii")), process_time())

    def _hold(self, cpus: set[int], *, patiently: bool) -> None:
        """Have every thread run there; one that is started runs as its starter does.

        `patiently`: pushing nobody aside. Where somebody chose how we are scheduled, that holds.
        """
        policy = os.SCHED_BATCH if patiently else os.SCHED_OTHER
        for thread in _threads():
            with suppress(ProcessLookupError):  # It has ended.
                os.sched_setaffinity(thread, cpus)
        for thread in _threads() if self._usual else ():
            with suppress(ProcessLookupError):
                os.sched_setscheduler(thread, policy, os.sched_param(0))


def _threads() -> list[int]:
    """The numbers by which the system knows ours."""
    return [int(thread.name) for thread in Path("/proc/self/task").iterdir()]


def _seconds_used(stat: str) -> dict[int, float]:
    """By the number of each CPU, of a text like `/proc/stat`."""
    ticks = os.sysconf("SC_CLK_TCK")
    used = {}
    for cpu, told in _CPU.findall(stat):
        times = told.split()
        used[int(cpu)] = sum(int(times[kind]) for kind in _USED if kind < len(times)) / ticks
    return used


def _keep_looking(ended: Event) -> None:
    try:
        one_cpu = OneCpu()
    except OSError as error:
        _logger.warning("can't see how busy the CPUs are, and runs on any: %s", error)
        return
    try:
        seconds = _FIRST_LOOK_SECONDS
        while not ended.wait(seconds):
            one_cpu.choose()
            seconds = _chance.uniform(*_LOOK_SECONDS)
    except OSError as error:
        _logger.warning("no longer chooses its CPU, and runs on any: %s", error)
    finally:
        with suppress(OSError):  # Where the system lets nobody choose, nothing is left to undo.
            one_cpu.leave()


def _one_thread_runs() -> bool:
    gil_enabled = getattr(sys, "_is_gil_enabled", None)  # Since Python 3.13.
    return gil_enabled is None or bool(gil_enabled())
