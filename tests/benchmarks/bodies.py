"""The cost of hostile bodies, compared with one long text of the same size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

from ..http.api import FIELDS
from ..http.hostile_bodies import HOSTILE, LONG_TEXT
from .measuring import Bench
from .reports import Report, milliseconds, table
from .wsgi import Application

MAX_RATIO = 5
SHOWN = 10
"""The number of bodies in the table, the most expensive ones."""


def bodies(bench: Bench) -> Report:
    """Measure the CPU time of the WSGI application for one POST of each body, in this process."""
    post = partial(Application().post, FIELDS)
    post(HOSTILE[LONG_TEXT]())
    rows = sorted((_measure(bench, post, name) for name in HOSTILE), reverse=True)
    cells = [
        (name, f"{status}", milliseconds(seconds), f"**{ratio:.1f}**")
        for ratio, seconds, status, name in rows[:SHOWN]
    ]
    worst = rows[0][0]
    return Report(
        f"{table(_HEAD, cells)}\n\n"
        f"Maximum: {worst:.1f} times one long text (goal: at most {MAX_RATIO})"
        f" {'✓' if worst <= MAX_RATIO else '✗'}"
    )


def _measure(
    bench: Bench, post: Callable[[bytes], tuple[int, float]], name: str
) -> tuple[float, float, int, str]:
    """Return ratio, seconds, status and name. The text is measured in turns with each body."""
    text, body = HOSTILE[LONG_TEXT](), HOSTILE[name]()
    rounds = bench.rounds_of(partial(post, text), partial(post, body))
    ratio = median(seconds / base for (_, base), (_, seconds) in rounds)
    return ratio, median(seconds for _, (_, seconds) in rounds), rounds[0][1][0], name


_HEAD = ("Body of 1 MiB", "Status", "CPU, ms", "CPU ÷ one long text")
