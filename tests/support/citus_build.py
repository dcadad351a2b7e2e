"""A PostgreSQL with Citus, which is built against a copy of the server in the test wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .postgres import PROGRAMS, installed_packages

SOURCE = "citus-14.0.1"
MISSING = f"""\
This needs the source of Citus. Download the tag v14.0.1 from https://github.com/citusdata/citus,
and put it as {SOURCE}.tar.xz, with a build.sh that installs it, into a folder. Then run

    make test-citus CITUS_SOURCE=FOLDER
"""

_SHOWN_LINES = 20
"""Lines of the output of a failed build."""


def build(source: Path, target: Path) -> Path:
    """Build in the target folder unless it is built, and return the folder of the programs.

    The source is a folder with the archive and its `build.sh`, whose head lists what it requires.
    """
    programs = target / PROGRAMS
    if (programs.parent / "share" / "postgresql" / "extension" / "citus.control").exists():
        return programs
    archive = source / f"{SOURCE}.tar.xz"
    if not archive.exists():
        pytest.exit(MISSING, returncode=pytest.ExitCode.USAGE_ERROR)
    shutil.rmtree(target, ignore_errors=True)
    packages = installed_packages()
    for part in (PROGRAMS.parent, Path(f"{PROGRAMS.parts[0]}.libs")):
        shutil.copytree(packages / part, target / part, symlinks=True)
    subprocess.run(["tar", "-xf", archive, "-C", target], check=True)
    for extension in ("columnar", "distributed"):
        link = target / SOURCE / "src" / "backend" / extension / "safeclib"
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to("../../../vendor/safestringlib/safeclib")
    built = subprocess.run(
        ["bash", source / "build.sh", target / SOURCE],
        env={**os.environ, "PG_CONFIG": str(programs / "pg_config")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if built.returncode != 0:  # Otherwise, each test would try again.
        last = "".join(built.stdout.splitlines(keepends=True)[-_SHOWN_LINES:])
        pytest.exit(
            f"The build of Citus failed:\n\n{last}", returncode=pytest.ExitCode.INTERNAL_ERROR
        )
    return programs
