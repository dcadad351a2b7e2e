"""Each module of the package has one name, so that each of its classes exists once."""

from __future__ import annotations

import re

import pytest

from .distributions import ROOT

BY_A_SECOND_NAME = re.compile(
    r"^ *(from|import) (domain|application|adapters|entrypoints|tests|\.+contract)\b", re.M
)


@pytest.mark.parametrize(
    "line",
    [
        "import domain",
        "from adapters.memory import MemoryStorage",
        "    from ..contract import strategies",
        "from tests.contract import StorageContract",
    ],
)
def test_a_second_name_is_found(line):
    assert BY_A_SECOND_NAME.search(f"import re\n{line}\n")


def test_tests_import_the_package_only_by_its_installed_name() -> None:
    found = {
        path: match[0]
        for path in (ROOT / "tests").rglob("*.py")
        if path != ROOT / "tests/packaging/test_imports.py"
        for match in BY_A_SECOND_NAME.finditer(path.read_text("utf-8"))
    }

    assert found == {}
