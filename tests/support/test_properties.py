"""Properties hold on a machine of any speed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_a_busy_machine_fails_no_property(monkeypatch: pytest.MonkeyPatch) -> None:
    """For Hypothesis, a minute passes while a value is generated, and another in the test."""
    late, read = [0.0], time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: late[0] + read())

    def pass_a_minute(value: int) -> int:
        late[0] += 60
        return value

    @settings(database=None)
    @given(st.integers().map(pass_a_minute))
    def holds(value: int) -> None:
        pass_a_minute(value)

    holds()
