"""Fixtures that the pages require."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.redaction import log_lines_with_secrets
from .blocks import ROOT


@pytest.fixture
def clone(tmp_path: Path) -> dict[str, str]:
    """Put the examples of the clone into the folder in which the blocks of a page run."""
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "docs").symlink_to(ROOT / "docs")
    return {}


@pytest.fixture
def demonstration() -> Iterator[dict[str, str]]:
    """Run a service with demonstration data. Yield its URL and API key."""
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
            lines = [next(process.stderr)]
            while "shown this once" not in lines[-1]:
                lines.append(next(process.stderr))
            assert log_lines_with_secrets("".join(lines)) == []
            (url,) = re.findall(r"http://\S+", lines[0])
            (key,) = re.findall(r"rfk_\w+", lines[-1])
            yield {"URL": url, "API_KEY": key}
        finally:
            process.terminate()
