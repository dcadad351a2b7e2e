"""The contract suite, installed from a wheel with only the extra `testing`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Installation

pytestmark = pytest.mark.slow

FORGETFUL = """
from attrs import evolve
import pytest
from recipient_fields import testing
from recipient_fields.testing import StorageContract
from recipient_fields.adapters.memory import MemoryStorage

class Forgetful:
    def __init__(self, sound):
        self.sound = sound
    def __getattr__(self, name):
        return getattr(self.sound, name)
    def all(self, organization_id, /):
        return evolve(self.sound.all(organization_id), fields=())
    def find(self, digest, /):
        return evolve(self.sound.find(digest), last_used_at=None)

class TestForgetful(StorageContract):
    @pytest.fixture
    def storage(self):
        storage = MemoryStorage()
        storage.fields = Forgetful(storage.fields)
        storage.api_keys = Forgetful(storage.api_keys)
        return storage

def test_it_is_the_wheels():
    print(testing.__file__)
"""

ALONE = """
import os
import sys
from importlib.abc import MetaPathFinder

brought = {
    *("attr", "attrs", "cattrs", "typing_extensions", "recipient_fields"),
    *("_pytest", "iniconfig", "packaging", "pluggy", "py", "pygments", "pytest"),
    *("_hypothesis_globals", "_hypothesis_pytestplugin", "hypothesis", "sortedcontainers"),
}

class NothingElse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = top in brought | sys.stdlib_module_names or top.startswith("_sysconfigdata")
        if not known:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NothingElse())
os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"  # Others here extend Hypothesis.
from recipient_fields.testing import *
print(StorageContract.__module__)
"""
"""A program that imports the suite and can import only the modules of the extra."""


def test_the_contract_suite_requires_only_the_extra_testing(
    this_package: Installation, tmp_path: Path
) -> None:
    run = this_package.run(sys.executable, "-c", ALONE, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, "recipient_fields.testing.storage\n"), run


@pytest.mark.parametrize(
    ("case", "message"),
    [
        # A comparison in a case, and one in `assertions`.
        ("test_a_changed_field_keeps_its_place", "assert () == (RecipientFie"),
        ("test_the_last_use_of_a_key_only_moves_forward", "At index 6 diff: ('last_used_at'"),
    ],
)
def test_a_failed_case_shows_the_compared_values(
    this_package: Installation, tmp_path: Path, case: str, message: str
) -> None:
    (tmp_path / "test_forgetful.py").write_text(FORGETFUL)
    only = f"{case} or test_it_is_the_wheels"
    run = this_package.tests("-s", "-k", only, cwd=tmp_path)
    assert "1 failed, 1 passed" in run.stdout, run.stdout + run.stderr
    assert str(this_package.packages) in run.stdout
    assert message in run.stdout
