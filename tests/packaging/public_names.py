"""The public names of the library: `docs/library.md` lists them.

`python tests/packaging/public_names.py` writes them to `public_names.txt`, with their members and
signatures.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from inspect import Parameter
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import dedent
from types import FunctionType, UnionType
from typing import Any, NamedTuple, Protocol, Union, get_args, get_origin

import attrs

LIBRARY = Path(__file__).parents[2] / "docs/library.md"
LIST = Path(__file__).with_name("public_names.txt")

_ROW = re.compile(
    r"^\| [^|]+ \| (?P<names>`[^|]+`) \| `(?P<package>[\w.]+)` \| \[[^|]+\]\((?P<page>[^|]+)\) \|$",
    re.MULTILINE,
)
_CALLED = {"__init__", "__new__", "__call__", "__enter__", "__exit__", "__iter__", "__len__"}
"""The special methods that callers use."""
_OPTIONAL = re.compile(r"(?:typing\.)?Optional\[ForwardRef\('([^']+)'\)\]")
"""The form in which attrs writes the type of an optional converter."""
_FORWARD = re.compile(r"ForwardRef\('([^']+)'\)")
_FUNCTION = re.compile(r"<function (\w+) at 0x[0-9a-f]+>")
_ENUMERATED = re.compile(r"<(\w+\.\w+): [^>]*>")
_STARS: dict[object, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
_FULL_NAME = re.compile(r"\b(?:\w+\.)+(\w+)")


class Listed(NamedTuple):
    """A public name, the package to import it from, and the page that teaches it."""

    package: str
    name: str
    page: str

    @property
    def value(self) -> Any:
        """What has this name."""
        return getattr(import_module(self.package), self.name)


def listed(text: str) -> tuple[Listed, ...]:
    """Return the names in the tables of a text, in their order."""
    return tuple(
        Listed(row["package"], name, row["page"])
        for row in _ROW.finditer(text)
        for name in re.findall(r"\w+", row["names"])
    )


PUBLIC = listed(LIBRARY.read_text("utf-8"))


def public_names() -> str:
    """Return one line per public name and member."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    for package, names in groupby(sorted(PUBLIC), key=attrgetter("package")):
        yield package
        for each in names:
            yield from _described(each.name, each.value)


def _described(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"  class {name}({bases})"
        yield from (f"    {member}" for member in _members(value))
    elif isinstance(value, FunctionType):
        yield f"  {name}{_signature(value)}"
    elif get_origin(value) in {Union, UnionType}:  # From Python 3.14 on, these are one class.
        yield f"  {name} = {' | '.join(map(_type, get_args(value)))}"
    elif isinstance(value, str | int | float):
        yield f"  {name} = {_short(str(value))}"
    else:
        yield f"  {name}: {type(value).__name__}"


def _members(described: type) -> Iterator[str]:
    if issubclass(described, Enum):
        yield from (f"{member.name} = {member.value!r}" for member in described)
    for name, value in sorted(_attributes(described).items()):
        if isinstance(value, property):
            yield f"property {name}{_signature(value.fget).removeprefix('(self)')}"
        elif isinstance(value, classmethod | staticmethod):
            yield f"{type(value).__name__} {name}{_signature(value.__func__)}"
        elif isinstance(value, FunctionType):
            yield f"{name}{_signature(value)}"
    for name, annotation in sorted(_annotations(described).items()):
        yield f"{name}: {annotation}"


def _attributes(described: type) -> dict[str, Any]:
    """Return the public members of the class and of our classes that it inherits from.

    The cases of a contract are not public: every version can have others.
    """
    found: dict[str, Any] = {}
    for base in _ours(described):
        found |= vars(base)
    return {
        name: value
        for name, value in found.items()
        if not name.startswith(("_", "test_")) or (name in _CALLED and _is_own(described, value))
    }


def _annotations(described: type) -> dict[str, str]:
    """Return the attributes of values, such as those of attrs classes."""
    found: dict[str, str] = {}
    for base in _ours(described):
        annotations = inspect.get_annotations(base) | dict(_cached_properties(base))
        found |= {name: _type(each) for name, each in annotations.items()}
    return {name: each for name, each in found.items() if not name.startswith("_")}


def _cached_properties(described: type) -> Iterator[tuple[str, str]]:
    """Yield the names and types of cached properties, for which attrs makes slots.

    From Python 3.14 on, the annotations of the class lack them.
    """
    if attrs.has(described):
        (definition,) = ast.parse(dedent(inspect.getsource(described))).body
        for node in ast.walk(definition):
            match node:
                case ast.FunctionDef(
                    name=name,
                    decorator_list=[ast.Name("cached_property")],
                    returns=ast.expr() as type_,
                ):
                    yield name, ast.unparse(type_)


def _ours(described: type) -> list[type]:
    """Return the class and its bases, from the most general one, without those of libraries."""
    return [
        base
        for base in reversed(described.__mro__)
        if base.__module__.startswith("recipient_fields.")
    ]


def _is_own(described: type, method: object) -> bool:
    """Return whether no library has generated the method for a protocol or an enumeration."""
    return (
        not issubclass(described, Enum)
        and getattr(method, "__module__", None) != Protocol.__module__
    )


def _signature(function: Any) -> str:
    """Return the signature in the same form for every version of Python."""
    signature = inspect.signature(function)
    parts: list[str] = []
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    for index, parameter in enumerate(signature.parameters.values()):
        starts = index == 0 or kinds[index - 1] is not parameter.kind
        if (
            parameter.kind is Parameter.KEYWORD_ONLY
            and starts
            and Parameter.VAR_POSITIONAL not in kinds
        ):
            parts.append("*")
        parts.append(_parameter(parameter))
        if (
            parameter.kind is Parameter.POSITIONAL_ONLY
            and kinds[index + 1 : index + 2] != kinds[index : index + 1]
        ):
            parts.append("/")
    returned = (
        "" if signature.return_annotation is Parameter.empty else _type(signature.return_annotation)
    )
    return f"({', '.join(parts)})" + (f" -> {returned}" if returned else "")


def _parameter(parameter: Parameter) -> str:
    stars = _STARS.get(parameter.kind, "")
    typed = "" if parameter.annotation is Parameter.empty else f": {_type(parameter.annotation)}"
    default = "" if parameter.default is Parameter.empty else f" = {_default(parameter.default)}"
    return f"{stars}{parameter.name}{typed}{default}"


def _default(value: object) -> str:
    if value is attrs.NOTHING:
        return "..."
    text = value.__name__ if isinstance(value, FunctionType) else repr(value)
    return _FUNCTION.sub(r"\1", _ENUMERATED.sub(r"\1", text))


def _type(annotation: object) -> str:
    if annotation is None:
        return "None"
    named = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return _short(_FORWARD.sub(r"\1", _OPTIONAL.sub(r"\1 | None", named)))


def _short(text: str) -> str:
    """Return the text with names instead of full names."""
    return _FULL_NAME.sub(r"\1", text)


if __name__ == "__main__":
    LIST.write_text(public_names(), "utf-8")
