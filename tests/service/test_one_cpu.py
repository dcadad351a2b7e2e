"""A process stays on one CPU, and moves to where others leave more of one."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from recipient_fields.entrypoints.one_cpu import best_cpu, on_one_cpu

from ..cli.commands import HANGS
from .service import Service, eventually

CPUS = sorted(os.sched_getaffinity(0))
assert len(CPUS) > 1, "These tests need two CPUs."
MOVING = Path(__file__).with_name("moving.py")


class Moving:
    """A process of two threads that looks when it is told to, at a `/proc/stat` of ours."""

    policies: Sequence[int] = ()
    """How its threads are scheduled since the last order."""

    def __init__(
        self, stat: Path, *, counted: Iterable[int] = CPUS, by: tuple[str, ...] = ()
    ) -> None:
        """`by`: the command that runs it, where it is not run directly."""
        self._used = dict.fromkeys(counted, 0)
        self._idle = dict.fromkeys(counted, 0)
        stat.write_text(self._text())
        self._process = subprocess.Popen(
            (*by, sys.executable, "-P", MOVING, str(stat)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def works(self, *, on: int) -> None:
        """It uses that CPU for a tenth of a second."""
        self._used[on] += os.sysconf("SC_CLK_TCK") // 10
        self._tells(work=0.1)

    def looks(self, *, used: Collection[int] = ()) -> list[list[int]]:
        """Where its threads may run, once others have used only these CPUs for an hour."""
        for cpu in self._used:
            times = self._used if cpu in used else self._idle
            times[cpu] += 3600 * os.sysconf("SC_CLK_TCK")
        return self._tells(look=self._text())

    def permitted(self, *cpus: int) -> None:
        """Somebody else has its threads run there."""
        assert self._tells(permit=cpus) == [[*cpus]]

    def leaves(self) -> list[list[int]]:
        """Where its threads may run at the end."""
        return self._tells(leave=None)

    def end(self) -> None:
        """End the process."""
        self._process.communicate(timeout=HANGS)

    def _tells(self, **order: object) -> list[list[int]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        places: list[list[int]]
        places, self.policies = json.loads(self._process.stdout.readline())
        return places

    def _text(self) -> str:
        """In clock ticks: what others use is `user`, the rest is `idle` and `iowait`."""
        total = sum(self._used.values())
        lines = [
            f"cpu{cpu} {self._used[cpu]} 0 0 {self._idle[cpu]} {self._idle[cpu]} 0 0 0"
            for cpu in self._used
        ]
        return "\n".join([f"cpu {total} 0 0 7 7 0 0 0", *lines, "intr 8 9"])


@pytest.fixture
def moving(tmp_path: Path) -> Iterable[Moving]:
    moving = Moving(tmp_path / "stat")
    yield moving
    moving.end()


@pytest.mark.parametrize(
    ("held", "used", "best"),
    [
        (None, {0: 0.5, 1: 0.1}, 1),
        (0, {0: 0.5, 1: 0.1}, 1),
        (0, {0: 0.25, 1: 0.1}, 0),
        (1, {0: 0.0, 1: 0.19}, 1),
        (1, {0: 0.0, 1: 0.21}, 0),
        (2, {0: 0.3, 1: 0.1}, 1),
        (3, {3: 0.9, 5: 0.8, 6: 0.1}, 6),
    ],
)
def test_the_cpu_that_others_use_least_unless_it_is_hardly_better(
    held: int | None, used: Mapping[int, float], best: int
) -> None:
    assert best_cpu(held, used) == best


def test_processes_that_start_on_an_idle_machine_spread() -> None:
    assert {best_cpu(None, {0: 0.01, 1: 0.0, 2: 0.02}) for _ in range(200)} == {0, 1, 2}


def test_each_thread_stays_where_others_use_least(moving: Moving) -> None:
    first, *others = CPUS

    assert moving.looks(used=others) == [[first]]
    for _ in range(10):
        assert moving.looks(used=CPUS) == [[first]]


def test_it_moves_when_others_use_its_cpu(moving: Moving) -> None:
    first, second = CPUS[:2]
    moving.looks(used=set(CPUS) - {first})

    assert moving.looks(used=set(CPUS) - {second}) == [[second]]
    assert moving.looks(used=set(CPUS) - {first}) == [[first]]


def test_its_own_work_makes_no_cpu_worse(moving: Moving) -> None:
    [[cpu]] = moving.looks()

    moving.works(on=cpu)

    assert moving.looks() == [[cpu]]


def test_it_keeps_to_what_somebody_else_permits_meanwhile(moving: Moving) -> None:
    first, second = CPUS[:2]
    moving.looks(used=set(CPUS) - {first})

    moving.permitted(second)

    assert moving.looks(used=[second]) == [[second]]
    assert moving.looks(used=[second]) == [[second]]
    assert moving.leaves() == [[second]]


def test_it_may_run_anywhere_again(moving: Moving) -> None:
    moving.looks()

    assert moving.leaves() == [CPUS]


def test_its_threads_push_one_another_aside_only_where_others_use_its_cpu_too(
    moving: Moving,
) -> None:
    others = CPUS[1:]

    moving.looks(used=others)
    assert moving.policies == [os.SCHED_BATCH]
    moving.looks(used=CPUS)
    assert moving.policies == [os.SCHED_OTHER]
    moving.looks(used=others)
    assert moving.policies == [os.SCHED_BATCH]
    moving.leaves()
    assert moving.policies == [os.SCHED_OTHER]


def test_how_somebody_else_has_it_scheduled_is_left(tmp_path: Path) -> None:
    moving = Moving(tmp_path / "stat", by=("chrt", "--idle", "0"))

    for used in CPUS[1:], CPUS:
        moving.looks(used=used)
        assert moving.policies == [os.SCHED_IDLE]
    moving.end()


def test_a_machine_whose_cpus_are_counted_in_another_way_holds_nothing(tmp_path: Path) -> None:
    moving = Moving(tmp_path / "stat", counted=[4_095])

    assert moving.looks(used=[4_095]) == [CPUS]

    moving.end()


def test_where_the_system_refuses_it_runs_anywhere_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)

    with on_one_cpu():
        eventually(lambda: "no longer chooses its CPU" in caplog.text)
        eventually(lambda: places(os.getpid()) == {frozenset(CPUS)})


def places(process_id: int) -> set[frozenset[int]]:
    """Where each thread of the process may run."""
    found = set()
    for task in Path(f"/proc/{process_id}/task").iterdir():
        with suppress(ProcessLookupError):  # It has ended.
            found.add(frozenset(os.sched_getaffinity(int(task.name))))
    return found


def test_a_service_stays_on_one_cpu(start: Callable[..., Service]) -> None:
    service = start("--log-level", "debug")

    first = service.tells("moves to CPU ([0-9]+)")[1]

    eventually(lambda: sum(map(len, places(service.process_id))) == 1)
    assert int(first) in CPUS


def test_a_service_runs_anywhere_if_it_is_told_to(start: Callable[..., Service]) -> None:
    anywhere, one = start("--any-cpu"), start()

    eventually(lambda: sum(map(len, places(one.process_id))) == 1)

    assert places(anywhere.process_id) == {frozenset(CPUS)}
