"""The root conftest of a mutation run: few examples, always the same, and no server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import CodeType

import pytest
from hypothesis import HealthCheck, Phase, settings

collect_ignore = ["tests/domain/test_architecture.py"]
"""It checks which packages the files import, and mutated files import mutmut."""

MAX_CPU_SECONDS = 40
"""CPU seconds after which a test counts as failed."""
MAX_SECONDS = 300
"""Seconds after which a test counts as failed, for example because of a deadlock."""

_MEASUREMENTS = {
    "assert_grows_linearly",
    "find_growth",
    "count_calls",
    "tracemalloc",
    "lines_of_python",
    "process_time",
    "thread_time",
}

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
def pytest_runtest_protocol() -> None:
    """Let a signal end the process if the test takes too long."""
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_CPU_SECONDS)
    signal.alarm(MAX_SECONDS)


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
    """Deselect tests of other storages, of methods that mutmut has added, and of what code costs.

    The storages are memory and SQLite, and only memory in tests of HTTP, for speed. Functions that
    mutmut has changed cost more.
    """
    left_out = {
        item
        for item in items
        if _uses_other_storage(item) or "__mutmut_" in item.nodeid or _measures_cost(item)
    }
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _measures_cost(item: pytest.Item) -> bool:
    code = getattr(getattr(item, "function", None), "__code__", None)
    return code is not None and not _MEASUREMENTS.isdisjoint(_names(code))


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names in the code, and in the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _uses_other_storage(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    parameters = {} if call is None else call.params
    copied = {parameters.get("source"), parameters.get("target")}
    return (
        parameters.get("storage") not in {None, "memory"}
        or "postgres" in copied
        or "migrated_database" in getattr(item, "fixturenames", ())
    )
