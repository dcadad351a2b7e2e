"""Paths: how each language writes the members of a value, and the positions in a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from ..errors import NotExpressible

Part: TypeAlias = str | int
PathWriter: TypeAlias = Callable[[str, Sequence[Part]], str]
"""Returns the expression of the member of a value at these parts. Raises: NotExpressible."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNSAFE = re.compile(r"""["'\\{}\[\]|%\r\n]|[-~]\Z|\A~""")
_LIQUID_WORDS = {
    *("and", "as", "blank", "by", "cols", "contains", "continue", "else", "empty", "false"),
    *("first", "for", "if", "in", "last", "limit", "nil", "not", "null", "offset", "or"),
    *("required", "reversed", "true", "with"),
}
"""Keywords of Liquid after a dot: `event.first` is the first member, not the one called `first`."""
_METHODS = frozenset(each for each in dir(dict) if not each.startswith("_"))
"""What Django calls if an object has no such member: a missing `event.items` is its items."""
_VIEWS = {"items", "keys", "values"}
"""Methods whose results have no positions, so that `event.items.0` is safe."""


def write_liquid(value: str, parts: Sequence[Part]) -> str:
    """Return the path in Liquid."""
    if "size" in parts:
        raise NotExpressible("LiquidJS reads a missing `size` as the number of members.")
    return _write(value, parts, _LIQUID_WORDS)


def write_hubl(value: str, parts: Sequence[Part]) -> str:
    """Return the path in HubL."""
    return _write(value, parts, _METHODS)


def _write(value: str, parts: Sequence[Part], reserved: Container[str]) -> str:
    """Return the path with brackets around positions, and names that are no words or reserved."""
    for part in parts:
        is_word = isinstance(part, str) and _WORD.fullmatch(part) and part not in reserved
        value += f".{part}" if is_word else f"[{_quoted(part)}]"
    return value


def write_django(value: str, parts: Sequence[Part]) -> str:
    """Return the path in Django's language, which has no other names than words."""
    for part, after in _pairs(parts):
        if not _is_django_name(part, after):
            raise NotExpressible(f"{{title}} has no safe way to write the name `{part}`.")
        value += f".{part}"
    return value


def write_with_lookup(value: str, parts: Sequence[Part]) -> str:
    """Return the path with Klaviyo's filter `lookup` from the first name that is no word."""
    has_filter = False
    for part, after in _pairs(parts):
        if has_filter and isinstance(part, int):
            raise NotExpressible("No source establishes a position after the filter `lookup`.")
        has_filter = has_filter or not _is_django_name(part, after)
        value += f"|lookup:'{_safe(part)}'" if has_filter else f".{part}"
    return value


def write_handlebars(value: str, parts: Sequence[Part]) -> str:
    """Return the path in Handlebars. Without a value, it begins with the name of the first part."""
    for part in parts:
        is_word = isinstance(part, str) and _WORD.fullmatch(part) is not None
        segment = str(part) if is_word else f"[{_safe(part)}]"
        value = f"{value}.{segment}" if value else segment
    return value


def _pairs(parts: Sequence[Part]) -> Iterator[tuple[Part, Part | None]]:
    """Yield each part with the one after it."""
    return zip_longest(parts, parts[1:])


def _is_django_name(part: Part, after: Part | None) -> bool:
    if isinstance(part, int):
        return True
    is_safe = part not in _METHODS or (part in _VIEWS and isinstance(after, int))
    return is_safe and _WORD.fullmatch(part) is not None and not part.startswith("_")


def _quoted(part: Part) -> str:
    return str(part) if isinstance(part, int) else f'"{_safe(part)}"'


def _safe(part: Part) -> str:
    """Return a name that can be in quotes and brackets. Raises: NotExpressible otherwise."""
    text = str(part)
    if _UNSAFE.search(text) is not None:
        raise NotExpressible(f"{{title}} has no safe way to write the name `{text}`.")
    return text
