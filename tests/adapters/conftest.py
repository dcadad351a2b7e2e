from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from recipient_fields.application import when_about_to_wait

# For a night: pytest tests/adapters --hypothesis-profile=long
settings.register_profile("long", max_examples=5_000, stateful_step_count=100, deadline=None)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where a SQLite file may be made."""
    return tmp_path / "fields.db"


@pytest.fixture
def waits() -> Iterator[list[str]]:
    """Holds an item for each wait that this thread is told of."""
    told: list[str] = []
    when_about_to_wait(lambda: told.append("a wait"))
    yield told
    when_about_to_wait(lambda: None)
