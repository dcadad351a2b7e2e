"""Reject regular expressions that Python 3.11.2, which Debian 12 has, matches wrongly.

There, a possessive quantifier on a group, such as `(?:a|bc)*+`, skips characters or finds no match
(CPython issues 100061 and 106052). An atomic group, `(?>(?:a|bc)*)`, means the same and works.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_ESCAPES_AND_SETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_SPACES_AND_COMMENTS = re.compile(r"\s+|#.*")
_POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")


def has_possessive_group(pattern: re.Pattern[str] | re.Pattern[bytes]) -> bool:
    """Return whether a quantifier of a group in this pattern is possessive."""
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    text = _ESCAPES_AND_SETS.sub("x", text)
    if pattern.flags & re.VERBOSE:
        text = _SPACES_AND_COMMENTS.sub("", text)
    return _POSSESSIVE_GROUP.search(text) is not None


def compiled_patterns(*packages: str) -> list[re.Pattern[str] | re.Pattern[bytes]]:
    """Import all modules of the packages, and return the patterns that they compile.

    Interpolation hides the construct from a search in the source, so these are the final patterns.
    They include those of libraries that are imported for the first time.
    """
    patterns: list[re.Pattern[str] | re.Pattern[bytes]] = []
    compile_pattern = re.compile

    def compile_and_record(pattern: Any, flags: int = 0) -> Any:
        patterns.append(compile_pattern(pattern, flags))
        return patterns[-1]

    re.compile = compile_and_record
    try:
        for package in packages:
            _import_all(import_module(package))
    finally:
        re.compile = compile_pattern
    return patterns


def _import_all(package: ModuleType) -> None:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)


def main() -> None:
    """Fail if a pattern of the product has a possessive quantifier on a group."""
    folders = ("domain", "application", "adapters", "entrypoints")
    patterns = compiled_patterns(*(f"recipient_fields.{folder}" for folder in folders))
    rejected = [each.pattern for each in patterns if has_possessive_group(each)]
    if not patterns or rejected:
        lines = "\n".join(f"  {each!r}" for each in rejected)
        sys.exit(f"Write `(?>(?:…)*)` instead of `(?:…)*+` in these patterns:\n{lines}")


if __name__ == "__main__":
    main()
