"""A source distribution and the wheel built from it, shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from .distributions import build, copy_tree, wheel_in

LEFTOVERS = (
    "build/lib/recipient_fields/domain/renamed.py",
    "domain/__pycache__/fields.cpython-311.pyc",
    "tests/__pycache__/conftest.cpython-311.pyc",
    "domain/notes.txt",
    "conftest.py",
    "recipient-fields.db",
    "secrets.env",
)
"""Files that a distribution must not contain."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the distributions from a tree that contains leftover files."""
    source = copy_tree(tmp_path_factory.mktemp("build") / "checkout")
    for leftover in LEFTOVERS:
        path = source / leftover
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Left behind\n")
    return build(source)


@pytest.fixture(scope="session")
def wheel(made: Path) -> Path:
    return wheel_in(made)
