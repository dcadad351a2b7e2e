"""Packages that import a module when one of its names is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str, *modules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package with the names in `__all__` of its modules.

    `__getattr__` imports the modules in this order until one has the name. So each module is after
    those that it imports, and the modules that need most imports are at the end.
    """

    def get(name: str) -> Any:
        imported = (import_module(f".{each}", package) for each in modules)
        if name == "__all__":
            return [public for module in imported for public in module.__all__]
        if not name.startswith("_"):
            for module in imported:
                if name in module.__all__:
                    value = getattr(module, name)
                    setattr(sys.modules[package], name, value)
                    return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(get("__all__"))
