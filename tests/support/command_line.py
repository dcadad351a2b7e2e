"""The command `recipient-fields`, in this process or in its own."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from attrs import frozen
from click.testing import CliRunner

from recipient_fields.entrypoints.cli import main

from .redaction import SECRET
from .waiting import TIMEOUT

SCRIPT = str(Path(sys.executable).with_name("recipient-fields"))
STORAGE_LINE = re.compile(r"^(?:Storage: \S+:|Copying \S+ to \S+).*\n", re.MULTILINE)
"""What commands that change a storage print first."""
NOT_CONFIRMED = (
    "Standard input is not a terminal to confirm this, so nothing was changed. To confirm,"
    " add --yes."
)


@frozen
class Run:
    """The result of a command. Standard error must not contain a secret.

    `err` is standard error without `storage`, the line that names the storage.
    """

    status: int
    out: str
    err: str
    storage: str = ""

    @classmethod
    def of(cls, status: int, out: str, err: str) -> Run:
        """Return the result, with the line that names the storage apart."""
        return cls(status, out, STORAGE_LINE.sub("", err), "".join(STORAGE_LINE.findall(err)))

    def __attrs_post_init__(self) -> None:
        assert SECRET.search(self.err) is None

    def document(self) -> Any:
        """Return the JSON document on standard output; the command must have succeeded."""
        assert self.status == 0, self.err
        (line,) = self.out.splitlines()
        return json.loads(line)

    def table(self) -> list[str]:
        """Return the lines on standard output; the command must have succeeded."""
        assert self.status == 0, self.err
        return self.out.splitlines()

    def messages(self) -> str:
        """Return standard error; the command must have succeeded."""
        assert self.status == 0, self.err
        return self.err

    def failure(self) -> str:
        """Return the error message of one line; the command must have failed."""
        assert (self.status, self.out) == (1, "")
        (line,) = self.err.splitlines()
        assert line.startswith("Error: ")
        return line.removeprefix("Error: ")

    def usage_error(self) -> str:
        """Return the error message about the arguments; the command must have rejected them."""
        assert (self.status, self.out) == (2, "")
        assert self.err.startswith("Usage: ")
        message = self.err.partition("\nError: ")[2]
        assert message
        return message.removesuffix("\n")


@frozen
class CommandLine:
    """Runs commands with one storage in this process."""

    storage: str

    def __call__(
        self,
        *arguments: str | int | Path,
        stdin: str | None = None,
        reply: str | None = None,
        **environment: str,
    ) -> Run:
        """Run a command with `stdin` on standard input, or with `reply` typed at a terminal."""
        ours = [variable for variable in os.environ if variable.startswith("RECIPIENT_FIELDS_")]
        variables = {
            **dict.fromkeys(ours),
            "RECIPIENT_FIELDS_STORAGE": self.storage,
            **environment,
        }
        result = CliRunner().invoke(
            main,
            [str(a) for a in arguments],
            stdin if reply is None else _Terminal(reply.encode()),
            variables,
            catch_exceptions=False,
        )
        return Run.of(result.exit_code, result.stdout, result.stderr)


class _Terminal(BytesIO):
    """Standard input that pretends to be a terminal."""

    def isatty(self) -> bool:
        return True


@frozen
class Script:
    """Runs the installed script, or that of another version, with one storage in a new process."""

    storage: str
    path: str = SCRIPT

    def __call__(self, *arguments: str | int | bytes, **settings: Any) -> Run:
        process = self.start(*arguments, **settings)
        with process:
            out, err = process.communicate(timeout=TIMEOUT)
        return Run.of(
            process.returncode, (out or b"").decode("utf-8"), err.decode(errors="replace")
        )

    def at_a_terminal(
        self, *arguments: str | int, reply: str = "", stdin: BinaryIO | None = None
    ) -> tuple[int, str]:
        """Run the command at a pseudoterminal, and type `reply` at its first prompt.

        Standard input can be a file instead. Return the exit status and the output.
        """
        terminal, program_end = pty.openpty()
        try:
            process = self.start(
                *arguments, stdin=stdin or program_end, stdout=program_end, stderr=program_end
            )
            os.close(program_end)
            with process:
                shown, replied = b"", False
                with suppress(OSError):  # EIO: the last process has closed the terminal.
                    while chunk := os.read(terminal, 4096):
                        shown += chunk
                        if b"[y/n]" in shown.lower() and not replied:
                            replied = True
                            os.write(terminal, reply.encode())
                status = process.wait(TIMEOUT)
        finally:
            os.close(terminal)
        return status, shown.decode("utf-8")

    def start(
        self,
        *arguments: str | int | bytes,
        environment: dict[str, str] | None = None,
        **settings: Any,
    ) -> subprocess.Popen[bytes]:
        """Start the process and return it."""
        return subprocess.Popen(
            [self.path, *(a if isinstance(a, bytes) else str(a) for a in arguments)],
            env=environment_with({"RECIPIENT_FIELDS_STORAGE": self.storage, **(environment or {})}),
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                **settings,
            },
        )


def environment_with(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of this process with only these RECIPIENT_FIELDS_ variables."""
    others = {k: v for k, v in os.environ.items() if not k.startswith("RECIPIENT_FIELDS_")}
    return {**others, **variables}
