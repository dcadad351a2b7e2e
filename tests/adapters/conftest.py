from pathlib import Path

import pytest
from hypothesis import settings

# For a long run: pytest tests/adapters --hypothesis-profile=long
settings.register_profile("long", max_examples=5_000, stateful_step_count=100, deadline=None)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the path of a SQLite file that does not exist."""
    return tmp_path / "fields.db"
