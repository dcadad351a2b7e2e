"""A process of two threads that looks for the best CPU when it is told to, by lines of JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Event, Thread
from time import process_time

from recipient_fields.entrypoints.one_cpu import OneCpu


def main() -> None:
    """Answer each line with where and how the threads run then; `stat` stands for `/proc/stat`."""
    stat = Path(sys.argv[1])
    Thread(target=Event().wait, daemon=True).start()
    one_cpu = OneCpu(stat)
    for line in sys.stdin:
        [(order, told)] = json.loads(line).items()
        if order == "look":
            stat.write_text(told)
            one_cpu.choose()
        elif order == "permit":
            for task in _tasks():
                os.sched_setaffinity(task, told)
        elif order == "work":
            end = process_time() + told
            while process_time() < end:
                pass
        elif order == "leave":
            one_cpu.leave()
        places = {tuple(sorted(os.sched_getaffinity(task))) for task in _tasks()}
        policies = {os.sched_getscheduler(task) for task in _tasks()}
        sys.stdout.write(f"{json.dumps([sorted(places), sorted(policies)])}\n")
        sys.stdout.flush()


def _tasks() -> list[int]:
    return [int(task.name) for task in Path("/proc/self/task").iterdir()]


if __name__ == "__main__":
    main()
