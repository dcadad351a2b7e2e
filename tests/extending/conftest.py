"""Distributions of others, built and installed beside this package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "duckdb-storage"
TIMEOUT = 600
"""Seconds after which a process is taken to hang."""

_MADE = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")


@frozen
class Installation:
    """A folder that distributions are installed into, and the sources of the example."""

    packages: Path
    source: Path

    def environment(self) -> dict[str, str]:
        """That of a process which finds the packages before any others."""
        paths = filter(None, (str(self.packages), os.environ.get("PYTHONPATH")))
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def run(self, *command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """A process that ran there, however it ended."""
        return subprocess.run(
            command,
            cwd=cwd,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )

    def tests(self, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """A run of pytest that leaves nothing behind but its report."""
        command = (sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", *arguments)
        return self.run(*command, cwd=cwd)


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Installation]:
    """Build the wheel of a distribution, from a copy of it, and install it where nothing else is.

    Without any index, and without what it depends on.
    """
    offline = ("--quiet", "--no-index", "--no-deps", "--disable-pip-version-check")

    def pip(*arguments: str | Path) -> None:
        run = subprocess.run(
            [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr

    def installed(distribution: Path) -> Installation:
        folder = tmp_path_factory.mktemp(distribution.name)
        source = shutil.copytree(distribution, folder / "source", ignore=_MADE)
        wheels, packages = folder / "wheels", folder / "packages"
        pip("wheel", "--no-build-isolation", *offline, "--wheel-dir", wheels, source)
        pip("install", *offline, "--target", packages, *wheels.iterdir())
        return Installation(packages, source)

    return installed


@pytest.fixture(scope="session")
def duckdb(install: Callable[[Path], Installation]) -> Installation:
    """The example of a storage in DuckDB."""
    return install(EXAMPLE)


@pytest.fixture(scope="session")
def ourselves(install: Callable[[Path], Installation]) -> Installation:
    """This package, as whoever extends it has it."""
    return install(ROOT)
