"""Who sends a load: wrk where it is installed, else a client of our own."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeAlias
from urllib.parse import urlsplit

from attrs import asdict, frozen

from ..support.waiting import TIMEOUT
from .traffic import NUMBER, Load

_FOLDER = Path(__file__).parent


@frozen(kw_only=True)
class Outcome:
    """What a client saw; times in seconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    wrong: int
    repeated: int
    """Answers with an entity tag that one before them had."""


Client: TypeAlias = Callable[[str, Load, float], Outcome]
"""Sends a load to a URL for so many seconds."""


def bundled(url: str, load: Load, seconds: float) -> Outcome:
    """Our own client: Python, but a process of its own. It lets no request go unanswered."""
    host = urlsplit(url)
    told = {"host": host.hostname, "port": host.port, "seconds": seconds, "number": NUMBER}
    client = str(_FOLDER / "client.py")
    return _run(load, json.dumps({**asdict(load), **told}), sys.executable, "-P", client)


def wrk(url: str, load: Load, seconds: float) -> Outcome:
    """wrk, which knows whole seconds only."""
    with NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_lua(load))
        script.write((_FOLDER / "wrk.lua").read_text())
        script.flush()
        options = (
            *("--threads", "1", "--connections", str(load.connections)),
            *("--duration", f"{math.ceil(seconds)}s", "--timeout", "10s"),
        )
        return _run(load, "", "wrk", *options, "--script", script.name, url)


def usual_client() -> Client:
    """The client that takes least from the server beside it."""
    return wrk if shutil.which("wrk") else bundled


def _run(load: Load, told: str, *command: str) -> Outcome:
    done = subprocess.run(
        command, input=told, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr
    outcome = Outcome(**json.loads(done.stdout.splitlines()[-1]))
    assert outcome.wrong == 0, f"{outcome.wrong} of {outcome.requests} answers were wrong"
    return outcome


def _lua(load: Load) -> str:
    requests = ", ".join(json.dumps(request) for request in load.requests)
    return f'given = {{status = {load.status}, number = "{NUMBER}", requests = {{{requests}}}}}\n'
