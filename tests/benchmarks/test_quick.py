"""The benchmarks run without errors. Their figures are not checked here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .program import NOT_INSTALLED, PARTS

pytestmark = pytest.mark.slow

RUN = Path(__file__).with_name("run.py")


def test_every_part_runs_and_every_response_is_correct(server_url):
    done = subprocess.run(
        [sys.executable, RUN, "--quick", "--postgres", server_url],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(f"\n{part}\n" in done.stdout for part in PARTS if part not in NOT_INSTALLED)
