"""Running `recipient-fields`, and what a run must look like."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen
from click.testing import CliRunner

from recipient_fields.entrypoints.cli import main

from ..secrecy import MORE_THAN_MAY_BE_SHOWN

SCRIPT = Path(sys.executable).with_name("recipient-fields")
HANGS = 60
"""Seconds after which a process is taken to hang."""


@frozen
class Run:
    """What a command left behind: no key on standard error."""

    status: int
    out: str
    err: str

    def __attrs_post_init__(self) -> None:
        assert MORE_THAN_MAY_BE_SHOWN.search(self.err) is None

    def document(self) -> Any:
        """The one JSON document on standard output of a command that succeeded."""
        assert self.status == 0, self.err
        (line,) = self.out.splitlines()
        return json.loads(line)

    def table(self) -> list[str]:
        """The lines on standard output of a command that succeeded."""
        assert self.status == 0, self.err
        return self.out.splitlines()

    def told(self) -> str:
        """What a command that succeeded told the person at the terminal."""
        assert self.status == 0, self.err
        return self.err

    def failure(self) -> str:
        """The one clear line of a command that failed."""
        assert (self.status, self.out) == (1, "")
        (line,) = self.err.splitlines()
        assert line.startswith("Error: ")
        return line.removeprefix("Error: ")

    def misuse(self) -> str:
        """What was wrong with the way the command was called."""
        assert (self.status, self.out) == (2, "")
        assert self.err.startswith("Usage: ")
        wrong = self.err.partition("\nError: ")[2]
        assert wrong
        return wrong.removesuffix("\n")


@frozen
class CommandLine:
    """The commands over one storage, in this process."""

    storage: str

    def __call__(self, *arguments: str | int, typed: str | None = None, **environment: str) -> Run:
        variables = {"RECIPIENT_FIELDS_STORAGE": self.storage, **environment}
        result = CliRunner().invoke(
            main, [str(a) for a in arguments], typed, variables, catch_exceptions=False
        )
        return Run(result.exit_code, result.stdout, result.stderr)


@frozen
class Script:
    """The installed script over one storage, in a process of its own."""

    storage: str

    def __call__(self, *arguments: str | int | bytes, **settings: Any) -> Run:
        process = self.start(*arguments, **settings)
        with process:
            out, err = process.communicate(timeout=HANGS)
        return Run(process.returncode, (out or b"").decode("utf-8"), err.decode(errors="replace"))

    def start(
        self,
        *arguments: str | int | bytes,
        environment: dict[str, str] | None = None,
        **settings: Any,
    ) -> subprocess.Popen[bytes]:
        """The process, still running."""
        return subprocess.Popen(
            [SCRIPT, *(a if isinstance(a, bytes) else str(a) for a in arguments)],
            env=environment_with({"RECIPIENT_FIELDS_STORAGE": self.storage, **(environment or {})}),
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                **settings,
            },
        )


def environment_with(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with these variables of ours, and no others."""
    others = {k: v for k, v in os.environ.items() if not k.startswith("RECIPIENT_FIELDS_")}
    return {**others, **variables}
