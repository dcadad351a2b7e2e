"""Measure the service: see docs/performance.md.

Run by its path. As under pytest, the tests are a package though the repository's root is not on
`sys.path`, where `import domain` would find a second copy of every class.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

tests = ModuleType("tests")
tests.__path__ = [str(Path(__file__).resolve().parents[1])]
sys.modules["tests"] = tests

if __name__ == "__main__":
    import_module("tests.benchmarks.program").main()
