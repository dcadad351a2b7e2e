import sys
from pathlib import Path

import pytest
from hypothesis import settings

# For a long run: pytest tests/adapters --hypothesis-profile=long
settings.register_profile(
    "long", settings.get_profile("suite"), max_examples=5_000, stateful_step_count=100
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the path of a SQLite file that does not exist."""
    return tmp_path / "fields.db"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the list of the waits before retries, which take no time."""
    waits: list[float] = []
    monkeypatch.setattr("recipient_fields.adapters.network.sleep", waits.append)
    return waits


@pytest.fixture
def without_urllib3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every module that needs urllib3 be imported again, without it."""
    adapters = ("client", "esp", "introspection", "network")
    for adapter in (f"recipient_fields.adapters.{each}" for each in adapters):
        for name in [each for each in sys.modules if each.startswith(adapter)]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(adapter, raising=False)
    monkeypatch.setitem(sys.modules, "urllib3", None)
