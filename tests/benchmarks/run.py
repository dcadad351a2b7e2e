"""Measure the service, as docs/internals/performance.md describes.

Run this file by its path. It imports the tests as a package without the root of the repository on
`sys.path`, because `import domain` would load a second copy of every class.
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
