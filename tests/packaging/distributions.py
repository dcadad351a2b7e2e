"""The source distribution and the wheel, built from a copy of the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "": "entrypoints/library",
    "domain/": "domain",
    "application/": "application",
    "adapters/": "adapters",
    "entrypoints/": "entrypoints",
    "testing/": "tests/contract",
}
"""The folders of the package `recipient_fields`, by their paths in it."""

# Generated files, which git ignores, and hidden files, which belong to git and CI.
_GENERATED = shutil.ignore_patterns(
    *(".*", "build", "dist", "mutants", "*.egg-info", "__pycache__", "*.db*")
)


def copy_tree(to: Path) -> Path:
    """Copy the files of the tree that a build uses."""
    shutil.copytree(ROOT, to, ignore=_GENERATED)
    return to


def files_in(folder: Path) -> set[str]:
    """Return the relative paths of all files in the folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def build(source: Path, *what: str) -> Path:
    """Build the source and return the folder of the distributions; by default sdist and wheel."""
    made = source.with_name(f"{source.name}-dist")
    run = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", *what, "--outdir", made, source],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1600000000"},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return made


def wheel_in(made: Path) -> Path:
    """Return the wheel in the folder."""
    (wheel,) = made.glob("*.whl")
    return wheel


def sdist_in(made: Path) -> Path:
    """Return the source distribution in the folder."""
    (sdist,) = made.glob("*.tar.gz")
    return sdist


def files_of_wheel(wheel: Path) -> set[str]:
    """Return the files that a wheel installs."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def files_of_sdist(sdist: Path) -> set[str]:
    """Return the paths of the files in a source distribution, relative to its folder."""
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}
