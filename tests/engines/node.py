"""The engines in JavaScript: one process of Node.js that renders batches of templates."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ..support.node import NODE, install_packages
from .errors import NotRendered

JAVASCRIPT = Path(__file__).parent / "javascript"


def render_batch(
    engine: str, cases: Sequence[tuple[str, Mapping[str, object]]]
) -> list[str | NotRendered]:
    """Render each template with its values, in order."""
    process = _process(os.getpid())
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([engine, cases]) + "\n")
    process.stdin.flush()
    return [
        NotRendered(each["error"]) if "error" in each else each["text"]
        for each in json.loads(process.stdout.readline())
    ]


@cache
def _process(_parent: int) -> subprocess.Popen[str]:
    """Return a process for this one: a fork must not share it."""
    packages = install_packages(JAVASCRIPT, "engines")
    process = subprocess.Popen(
        [NODE, JAVASCRIPT / "render.cjs"],
        env={"NODE_PATH": str(packages)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    atexit.register(process.communicate)
    return process
