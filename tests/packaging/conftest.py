"""One build for all: the source distribution, and the wheel that is built of it."""

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
"""What must not get into a distribution."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a release is made of, built where somebody has left things behind."""
    source = copy_tree(tmp_path_factory.mktemp("build") / "checkout")
    for leftover in LEFTOVERS:
        path = source / leftover
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Left behind\n")
    return build(source)


@pytest.fixture(scope="session")
def wheel(made: Path) -> Path:
    return wheel_in(made)
