"""The commands of the Makefile's targets."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .distributions import ROOT, copy_tree


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, without any installation."""
    return copy_tree(tmp_path_factory.mktemp("make") / "clone")


def commands(clone: Path, target: str) -> str:
    """Return the commands that make would run for the target."""
    return subprocess.run(
        ["make", "--dry-run", target], cwd=clone, capture_output=True, text=True, check=True
    ).stdout


def test_serve_and_the_first_page_install_no_development_tools(clone):
    first_email = re.search(
        r"^make (\w+)$", (ROOT / "docs/first-email.md").read_text("utf-8"), re.M
    )
    assert first_email is not None
    for target in ("serve", first_email[1]):
        assert "--requirement requirements.txt" in commands(clone, target)
        assert "requirements-dev.txt" not in commands(clone, target)
    assert "requirements-dev.txt" in commands(clone, "test")


def test_serve_installs_exactly_the_requirements_of_the_service() -> None:
    locked = {canonicalize_name(each.name) for each in _lines(ROOT / "requirements.txt")}
    assert locked == _closure("recipient-fields", {"cli", "console", "postgres"})


def test_make_test_skips_slow_tests_and_test_all_runs_them(clone):
    assert '--dist loadfile --hypothesis-profile brief -m "not slow"' in commands(clone, "test")
    test_all = commands(clone, "test-all")
    assert '--dist loadfile -m "not slow"' in test_all
    assert "python -m pytest -m slow" in test_all


def test_the_mutation_run_finds_its_files() -> None:
    listed = "from run import AREAS, TESTS; print(*TESTS, *sum(AREAS.values(), ()), sep='\\n')"
    names = subprocess.run(
        [sys.executable, "-c", listed],
        cwd=ROOT / "tests/mutation",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [name for name in names if not any(ROOT.glob(name))] == []


def _lines(lock: Path) -> Iterator[Requirement]:
    """Yield the requirements of a lock file that apply to this machine."""
    for line in lock.read_text().splitlines():
        if line[:1].isalnum():
            requirement = Requirement(line.rstrip(" \\"))
            if requirement.marker is None or requirement.marker.evaluate():
                yield requirement


def _closure(name: str, extras: set[str]) -> set[str]:
    """Return the names of all distributions that this one requires with these extras."""
    seen: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        distribution, extra = waiting.pop()
        if (distribution, extra) in seen:
            continue
        seen.add((distribution, extra))
        for requirement in map(Requirement, requires(distribution) or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                needed = canonicalize_name(requirement.name)
                waiting += [(needed, each) for each in ("", *requirement.extras)]
    return {distribution for distribution, _ in seen} - {name}
