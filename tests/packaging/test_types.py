"""The types of the installed package, as the type checkers of its users find them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from .environments import Environment

pytestmark = pytest.mark.slow

CONSUMER = Path(__file__).with_name("consumer.py")
TOOLS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """Install the wheel in a new environment that also finds the packages of this one."""
    environment = Environment.create(tmp_path_factory.mktemp("types") / "venv")
    (packages,) = (environment.folder / "lib").glob("python*/site-packages")
    subprocess.run(
        (
            *(sys.executable, "-m", "pip", "--python", environment.script("python")),
            *("install", "--quiet", "--no-deps", "--no-index", wheel),
        ),
        check=True,
    )
    (packages / "behind.pth").write_text(sysconfig.get_path("purelib"))
    return environment


@pytest.fixture(scope="module")
def consumer(installed: Environment) -> Path:
    """Copy the module to a folder where only installed packages are found."""
    return Path(shutil.copy(CONSUMER, installed.workplace))


def verified(installed: Environment) -> dict[str, Any]:
    """Return pyright's report on the public types of the package and of the packages in it."""
    # It uses the interpreter in PATH and ignores --pythonpath.
    path = f"{installed.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    run = installed.run(
        *(TOOLS / "basedpyright", "--outputjson", "--ignoreexternal"),
        *("--verifytypes", "recipient_fields"),
        PATH=path,
    )
    report: dict[str, Any] = json.loads(run.stdout)["typeCompleteness"]
    return report


def test_every_public_symbol_has_a_complete_type(installed: Environment) -> None:
    report = verified(installed)

    assert Path(report["pyTypedPath"]).is_relative_to(installed.folder)
    assert len(report["symbols"]) > 1_000
    assert [
        (symbol["name"], [found["message"] for found in symbol["diagnostics"]])
        for symbol in report["symbols"]
        if symbol["isExported"]
        if not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]
    ] == []
    assert report["completenessScore"] == 1


def test_the_consumer_runs(installed: Environment, consumer: Path) -> None:
    run = installed.run(installed.script("python"), "-W", "error", consumer, installed.workplace)

    assert (run.returncode, run.stderr) == (0, "")


def test_the_consumer_passes_mypy(installed: Environment, consumer: Path) -> None:
    run = installed.run(
        *(TOOLS / "mypy", "--strict", "--python-executable", installed.script("python")),
        *("--cache-dir", installed.workplace / "cache", consumer),
    )

    assert run.returncode == 0, run.stdout + run.stderr


def test_the_consumer_passes_pyright(installed: Environment, consumer: Path) -> None:
    settings = installed.workplace / "strict.json"
    settings.write_text(json.dumps({"typeCheckingMode": "strict", "include": [consumer.name]}))

    run = installed.run(
        *(TOOLS / "basedpyright", "--project", settings),
        *("--pythonpath", installed.script("python")),
    )

    assert run.returncode == 0, run.stdout + run.stderr
