"""Third-party distributions, built and installed next to this package."""

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
"""Seconds after which a process is considered to hang."""

_GENERATED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")


@frozen
class Installation:
    """A folder with installed distributions, and the sources of the example."""

    packages: Path
    source: Path

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a process that finds these packages first."""
        paths = filter(None, (str(self.packages), os.environ.get("PYTHONPATH")))
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def run(self, *command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a process in the folder and return it."""
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
        """Run pytest without a cache and return the process."""
        command = (sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", *arguments)
        return self.run(*command, cwd=cwd)


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Installation]:
    """Return a function that builds the wheel of a distribution and installs it in an empty folder.

    It uses no package index and installs no dependencies.
    """
    offline = ("--quiet", "--no-index", "--no-deps", "--disable-pip-version-check")

    def pip(*arguments: str | Path) -> None:
        run = subprocess.run(
            [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr

    def installed(distribution: Path) -> Installation:
        folder = tmp_path_factory.mktemp(distribution.name)
        source = shutil.copytree(distribution, folder / "source", ignore=_GENERATED)
        wheels, packages = folder / "wheels", folder / "packages"
        pip("wheel", "--no-build-isolation", *offline, "--wheel-dir", wheels, source)
        pip("install", *offline, "--target", packages, *wheels.iterdir())
        return Installation(packages, source)

    return installed


@pytest.fixture(scope="session")
def duckdb(install: Callable[[Path], Installation]) -> Installation:
    """Install the example of a storage in DuckDB."""
    return install(EXAMPLE)


@pytest.fixture(scope="session")
def this_package(install: Callable[[Path], Installation]) -> Installation:
    """Install this package."""
    return install(ROOT)
