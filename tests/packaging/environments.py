"""New virtual environments, in which processes do not find the tree of the project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from .distributions import ROOT

TIMEOUT = 60
"""Seconds after which a process is taken to hang."""

_PIN = re.compile(r"^[a-z0-9._-]+==[^\\\n]+", re.MULTILINE)


@frozen
class Environment:
    """A virtual environment, and an empty working directory for its processes."""

    folder: Path
    workplace: Path

    @classmethod
    def create(cls, folder: Path) -> Environment:
        """Create an environment without any package, including pip."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        workplace = folder.with_name(f"{folder.name}-workplace")
        workplace.mkdir()
        return cls(folder, workplace)

    def install(self, requirement: str) -> None:
        """Run `pip install` with the versions in requirements.txt."""
        pins = self.folder / "constraints.txt"
        pins.write_text("\n".join(_PIN.findall((ROOT / "requirements.txt").read_text("utf-8"))))
        self._pip("install", "--quiet", "--constraint", str(pins), requirement)
        self._pip("check")

    def installed(self) -> set[str]:
        """Return the names of all installed packages."""
        packages = json.loads(self._pip("list", "--format", "json"))
        return {package["name"] for package in packages}

    def script(self, name: str) -> Path:
        """Return the path of the command with this name."""
        return self.folder / "bin" / name

    def run(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a process in the working directory and return it."""
        return subprocess.run(
            command,
            cwd=self.workplace,
            env=self.variables(**variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )

    def python(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a Python program with warnings as errors."""
        return self.run(self.script("python"), "-W", "error", "-c", program, *arguments)

    @contextmanager
    def demonstration(self) -> Iterator[list[str]]:
        """Run `serve --demo` and yield the lines of its greeting."""
        with subprocess.Popen(
            [
                *(self.script("recipient-fields"), "--storage", "memory:"),
                *("serve", "--demo", "--listen", "127.0.0.1:0"),
            ],
            cwd=self.workplace,
            env=self.variables(),
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            try:
                lines = [next(process.stderr)]
                while not lines[-1].endswith("/docs\n"):
                    lines.append(next(process.stderr))
                yield lines
            finally:
                process.terminate()
                process.communicate(timeout=TIMEOUT)

    def variables(self, **ours: str) -> dict[str, str]:
        """Return environment variables without those of Python and of this project."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "RECIPIENT_FIELDS_", "VIRTUAL_ENV"))
        }
        return {**kept, **ours}

    def _pip(self, *arguments: str) -> str:
        run = subprocess.run(
            [sys.executable, "-m", "pip", "--python", self.script("python"), *arguments],
            cwd=self.workplace,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout
