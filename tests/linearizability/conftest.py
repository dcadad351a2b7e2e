"""The use cases over each storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recipient_fields.application import Core
from recipient_fields.entrypoints.service.selection import open_core


@pytest.fixture
def folder() -> Iterator[Path]:
    """Create a folder, in memory if possible: SQLite waits for the disk at every commit."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the URL of an empty storage."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("emptied_database"))
    return {"memory": "memory:", "sqlite": f"sqlite:{folder / 'fields.db'}"}[request.param]


@pytest.fixture
def another(url: str) -> Iterator[Callable[[], Core]]:
    """Return a function that opens the storage again, as another process would."""
    with ExitStack() as stack:

        def open_another() -> Core:
            core = open_core(url)
            stack.enter_context(closing(core.storage))
            return core

        yield open_another


@pytest.fixture
def core(another: Callable[[], Core]) -> Core:
    return another()
