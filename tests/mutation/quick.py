"""The root conftest of a mutation run: few examples, always the same, and only memory storage."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

collect_ignore = ["tests/domain/test_architecture.py"]
"""It checks which packages the files import, and mutated files import mutmut."""

settings.register_profile(
    "mutation",
    max_examples=30,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    """Load the profile after the other conftests, which load one for the whole suite."""
    settings.load_profile("mutation")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the same id in every run of one process.

    mutmut calls pytest several times. From the second call on, pytest escapes the stored results of
    an `ids` function again, and a mutant whose tests have other ids would count as killed.
    """
    for mark in metafunc.definition.iter_markers("parametrize"):
        if callable(mark.kwargs.get("ids")) and mark._param_ids_from is not None:
            object.__setattr__(mark._param_ids_from, "_param_ids_generated", None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of other storages than memory, and tests that measure the time.

    Functions that mutmut has changed are slower.
    """
    left_out = {
        item for item in items if _storage_of(item) not in {None, "memory"} or _measures_time(item)
    }
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _measures_time(item: pytest.Item) -> bool:
    code = getattr(getattr(item, "function", None), "__code__", None)
    return code is not None and not {"perf_counter", "process_time"}.isdisjoint(code.co_names)


def _storage_of(item: pytest.Item) -> object:
    call = getattr(item, "callspec", None)
    return None if call is None else call.params.get("storage")
