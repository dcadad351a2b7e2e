from pathlib import Path

import pytest
from hypothesis import settings

# For a night: pytest tests/adapters --hypothesis-profile=long
settings.register_profile("long", max_examples=5_000, stateful_step_count=100, deadline=None)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where a SQLite file may be made."""
    return tmp_path / "fields.db"
