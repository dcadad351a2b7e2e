"""What hostile bodies cost in ratio to a body of the same size that holds one long text."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from statistics import median
from time import thread_time

from falcon.testing import create_environ

from recipient_fields.application import StoredKeyValidator
from recipient_fields.entrypoints.composition import open_core
from recipient_fields.entrypoints.http.app import create_app

from ..http.api import FIELDS
from ..http.hostile_bodies import HOSTILE, LONG_TEXT
from .measuring import Bench
from .reports import Report, milliseconds, table

MOST_RATIO = 5


def bodies(bench: Bench) -> Report:
    """The CPU time of the WSGI application for one POST of each body, in this process."""
    post = _application()
    post(HOSTILE[LONG_TEXT]())
    rows = sorted((_measure(bench, post, name) for name in HOSTILE), reverse=True)
    cells = [
        (name, f"{status}", milliseconds(seconds), f"**{ratio:.1f}**")
        for ratio, seconds, status, name in rows
    ]
    worst = rows[0][0]
    return Report(
        f"{table(_HEAD, cells)}\n\n"
        f"The costliest takes {worst:.1f} times as much as one long text (at most {MOST_RATIO})"
        f" {'✓' if worst <= MOST_RATIO else '✗'}"
    )


def _measure(
    bench: Bench, post: Callable[[bytes], tuple[int, float]], name: str
) -> tuple[float, float, int, str]:
    """Ratio, seconds, status and name; the text is measured beside each body."""
    text, body = HOSTILE[LONG_TEXT](), HOSTILE[name]()
    rounds = bench.rounds_of(partial(post, text), partial(post, body))
    ratio = median(seconds / base for (_, base), (_, seconds) in rounds)
    return ratio, median(seconds for _, (_, seconds) in rounds), rounds[0][1][0], name


def _application() -> Callable[[bytes], tuple[int, float]]:
    """A POST to the application over a storage in memory: its status and its seconds of CPU."""
    logging.getLogger("recipient_fields").setLevel(logging.ERROR)
    core = open_core("memory:")
    organization = core.administration.create_organization("Bench")
    issued = core.administration.issue_key(organization.id, name="Bench")
    validator = StoredKeyValidator(core.storage.api_keys)
    app = create_app(core.fields, validator, core.storage.check)
    headers = {
        "Authorization": f"Bearer {issued.plain.reveal()}",
        "Content-Type": "application/json",
    }

    def post(body: bytes) -> tuple[int, float]:
        environ = create_environ(FIELDS, method="POST", headers=headers, body=body)
        statuses: list[str] = []
        written: list[bytes] = []

        def start_response(status: str, *_: object) -> Callable[[bytes], object]:
            statuses.append(status)
            return written.append

        begun = thread_time()
        b"".join(app(environ, start_response))
        return int(statuses[0][:3]), thread_time() - begun

    return post


_HEAD = ("Body of 1 MiB", "Status", "CPU, ms", "CPU ÷ one long text")
