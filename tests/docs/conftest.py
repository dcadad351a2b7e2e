"""Fixtures that the pages require."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.redaction import log_lines_with_keys


@pytest.fixture
def demonstration() -> Iterator[dict[str, str]]:
    """Run a service with demonstration data; return its address and key."""
    with subprocess.Popen(
        [
            *(Path(sys.executable).parent / "recipient-fields", "--storage", "memory:"),
            *("serve", "--demo", "--listen", "127.0.0.1:0"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            told = [next(process.stderr) for _ in range(3)]
            assert log_lines_with_keys("".join(told)) == []
            (url,) = re.findall(r"http://\S+", told[0])
            (key,) = re.findall(r"rfk_\w+", told[-1])
            yield {"URL": url, "API_KEY": key}
        finally:
            process.terminate()
