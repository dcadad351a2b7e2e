"""The clients that send a load: wrk if it is installed, otherwise the bundled client."""

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
class RunResult:
    """The results of a run. Times are in seconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    wrong: int
    repeated: int
    """Responses with an entity tag that an earlier response had."""


Client: TypeAlias = Callable[[str, Load, float], RunResult]
"""Sends a load to a URL for a number of seconds."""


def bundled(url: str, load: Load, seconds: float) -> RunResult:
    """Send the load with the bundled client, in another process. It waits for every response."""
    host = urlsplit(url)
    parameters = {"host": host.hostname, "port": host.port, "seconds": seconds, "number": NUMBER}
    client = str(_FOLDER / "client.py")
    return _run(load, json.dumps({**asdict(load), **parameters}), sys.executable, "-P", client)


def wrk(url: str, load: Load, seconds: float) -> RunResult:
    """Send the load with wrk, whose durations are whole seconds."""
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
    """Return the client that uses the least CPU time."""
    return wrk if shutil.which("wrk") else bundled


def _run(load: Load, stdin: str, *command: str) -> RunResult:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr
    result = RunResult(**json.loads(done.stdout.splitlines()[-1]))
    assert result.wrong == 0, f"{result.wrong} of {result.requests} responses were wrong"
    return result


def _lua(load: Load) -> str:
    requests = ", ".join(json.dumps(request) for request in load.requests)
    return f'load = {{status = {load.status}, number = "{NUMBER}", requests = {{{requests}}}}}\n'
