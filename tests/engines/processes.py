"""The engines of other languages: one process per engine that renders batches of templates."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from recipient_fields.domain.esp.profiles.profile import Engine

from ..support.node import BUILD, NODE, install_packages, run
from .errors import NotRendered

HERE = Path(__file__).parent
GO_PACKAGES = Path("/usr/share/gocode")


def render_batch(
    engine: Engine, language: str, cases: Sequence[tuple[str, Mapping[str, object]]]
) -> list[str | NotRendered]:
    """Render each template with its values, in order.

    `language` is `liquid`, `django`, or one of those of handlebars.js. Skips the test if the engine
    is not installed.
    """
    process = _process(engine, os.getpid())
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([language, cases]) + "\n")
    process.stdin.flush()
    return [
        NotRendered(each["error"]) if "error" in each else each["text"]
        for each in json.loads(process.stdout.readline())
    ]


@cache
def _process(engine: Engine, _parent: int) -> subprocess.Popen[str]:
    """Return a process for this one: a fork must not share it."""
    command, variables = _COMMANDS.get(engine, _node_command)()
    process = subprocess.Popen(
        command,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    atexit.register(process.communicate)
    return process


_Command = tuple[Sequence[str | Path], Mapping[str, str]]


def _node_command() -> _Command:
    packages = install_packages(HERE / "javascript", "engines")
    return [NODE, HERE / "javascript" / "render.cjs"], {"NODE_PATH": str(packages)}


def _ruby_command() -> _Command:
    ruby = shutil.which("ruby")
    if ruby is None or subprocess.run([ruby, "-e", 'require "liquid"'], check=False).returncode:
        _skip(Engine.RUBY_LIQUID)
    return [str(ruby), HERE / "ruby" / "render.rb"], {}


def _go_command() -> _Command:
    """Build the program, unless it is built."""
    go = shutil.which("go")
    if go is None or not (GO_PACKAGES / "src" / "github.com" / "flosch" / "pongo2").exists():
        _skip(Engine.PONGO2)
    folder = BUILD / "pongo2"
    folder.mkdir(parents=True, exist_ok=True)
    variables = {"GOPATH": GO_PACKAGES, "GO111MODULE": "off", "GOCACHE": folder / "cache"}
    settings = [f"{name}={value}" for name, value in variables.items()]
    with (folder / "lock").open("w") as lock:  # several processes can run tests
        fcntl.flock(lock, fcntl.LOCK_EX)
        run("env", *settings, go, "build", "-o", folder / "render", HERE / "go" / "render.go")
    return [folder / "render"], {}


_COMMANDS: Mapping[Engine, Callable[[], _Command]] = {
    Engine.RUBY_LIQUID: _ruby_command,
    Engine.PONGO2: _go_command,
}


def _skip(engine: Engine) -> None:
    pytest.skip(f"{engine.value} is not installed: `make test-engines` installs it.")
