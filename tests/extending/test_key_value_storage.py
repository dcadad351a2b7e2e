"""The skeleton of a storage is short, passes the cases of fields, and uses public names."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recipient_fields.application import Storage
from recipient_fields.domain import StorageUnavailable
from recipient_fields.testing import READS, WRITES
from recipient_fields.testing.catalog_changes import change_everything
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition
from recipient_fields.testing.field_changes import add_field

from .conftest import ROOT

pytestmark = pytest.mark.slow

SKELETON = ROOT / "docs" / "examples" / "key_value_storage.py"
ITS_TEST = SKELETON.with_name(f"test_{SKELETON.name}")
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
MAX_TRACED_LINES = 110
"""Of code: without blank lines, comments, imports and docstrings."""


@pytest.mark.parametrize("place", ["where it is", "in another folder"])
def test_the_skeleton_passes_the_contract_of_the_fields(place: str, tmp_path: Path) -> None:
    folder = SKELETON.parent if place == "where it is" else tmp_path
    if folder == tmp_path:
        for file in (SKELETON, ITS_TEST):
            shutil.copy(file, folder)
    run = subprocess.run(
        [*_command_on_the_page(), "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"^=*\s*(\d+) passed in", run.stdout, re.MULTILINE)
    assert passed is not None, run.stdout + run.stderr
    assert int(passed[1]) > 200


GROUPS = """
from test_key_value_storage import KeyValueStorage
import pytest
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.testing import CatalogContract

class TestCatalog(CatalogContract):
    @pytest.fixture
    def storage(self):
        return KeyValueStorage({})

class TestWithKeys(TestCatalog):
    @pytest.fixture
    def storage(self):
        storage, memory = KeyValueStorage({}), MemoryStorage()
        storage.api_keys, storage.integrations = memory.api_keys, memory.integrations
        storage.esp_connections = memory.esp_connections
        return storage
"""


def test_a_group_whose_suite_is_not_used_is_reported(tmp_path: Path) -> None:
    for file in (SKELETON, ITS_TEST):
        shutil.copy(file, tmp_path)
    (tmp_path / "test_groups.py").write_text(GROUPS)
    command = (sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider")
    run = subprocess.run(
        (*command, "-k", "suites or organization_is_found", "test_groups.py"),
        cwd=tmp_path,
        env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"^1 failed, 3 passed", run.stdout, re.MULTILINE), run.stdout
    message = "The storage has API keys and integrations, so use IntegrationContract."
    assert message in run.stdout


def _command_on_the_page() -> list[str]:
    """Return the command that the page shows for the skeleton's test."""
    found = re.search(rf"^(?:python -m )?pytest .*{ITS_TEST.name}$", PAGE, re.MULTILINE)
    assert found is not None
    program, *arguments = found[0].split()
    return [str(Path(sys.executable).with_name(program)), *arguments]


def test_the_skeleton_has_at_most_110_lines_of_code() -> None:
    text = SKELETON.read_text("utf-8")
    left_out = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = [
        line
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#") and number not in left_out
    ]
    assert len(lines) <= MAX_TRACED_LINES


class Store(dict[str, str]):
    """A key/value store that can fail."""

    fails = False

    def get(self, key: str, default: Any = None) -> Any:
        if self.fails:
            raise OSError("no space left on device")
        return super().get(key, default)


@pytest.mark.parametrize(
    "call",
    [
        each
        for name, each in {**READS, **WRITES}.items()
        if name.startswith("fields.") and name != "fields.change restoring"
    ],
)
def test_a_failing_store_raises_storage_unavailable(call: Callable[[Storage], object]) -> None:
    skeleton = runpy.run_path(str(SKELETON))
    store = Store()
    storage: Storage = skeleton["KeyValueStorage"](store)
    ours = storage.organizations.add("ACME", NOW).id
    add_field(storage.fields, ours, a_definition(), author=AUTHOR)
    store.fails = True
    with pytest.raises(StorageUnavailable, match=r"^Key/value store: no space left on device$"):
        call(storage)


def test_changes_of_several_fields_are_stored_together() -> None:
    storage: Storage = runpy.run_path(str(SKELETON))["KeyValueStorage"](Store())
    ours = storage.organizations.add("ACME", NOW).id
    for key in ("city", "age", "zip"):
        add_field(storage.fields, ours, a_definition(key), author=AUTHOR)
    applied = storage.fields.change(ours, change_everything, author=AUTHOR, at=NOW)
    stored = storage.fields.all(ours).fields
    assert [(field.key, field.name) for field in stored if field not in applied.created] == [
        ("age", "Years"),
        ("zip", stored[1].name),
    ]
    assert stored[2:] == applied.created
    assert [field.key for field in applied.created] == ["town", "city"]
