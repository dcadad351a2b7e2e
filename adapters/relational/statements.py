"""The named statements of the `.sql` files in a package, and how a database renders them.

A line `-- name: sentence` begins a text, which ends before the next such line. In a text, `:name`
is a value, `{name}` is another text, and `{name(arguments)}` a method of the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol

from attrs import field, frozen

from .dialect import Dialect

_TITLE = re.compile(r"^-- (\w+): (.+)\n", re.MULTILINE)
_NAME = re.compile(r"\{(\w+)\}")
_CALL = re.compile(r"\{(\w+)\(\s*([^{}]*?)\s*\)\}")


def read_scripts(package: str, folder: str = "") -> Mapping[str, str]:
    """Return the texts of the `.sql` files in a folder of a package by name, in their order."""
    paths = sorted(files(package).joinpath(folder).iterdir(), key=lambda path: path.name)
    scripts = (each for each in paths if each.name.endswith(".sql"))
    return {each.name.removesuffix(".sql"): each.read_text("utf-8") for each in scripts}


class Statement(Hashable, Protocol):
    """A statement. Equal ones have the same text."""

    @property
    def template(self) -> str:
        """The SQL, in which only methods of the dialect are to be replaced."""


@frozen(eq=False)
class NamedStatement(Statement):
    """A text of an `.sql` file. There is one object for each."""

    name: str
    sentence: str
    template: str = field(repr=False)

    if not TYPE_CHECKING:  # It takes a third of the time, and the type is that of `Hashable`.
        __hash__ = object.__hash__


@frozen
class ComposedStatement(Statement):
    """A statement that contains the name of a table."""

    template: str


class Statements:
    """The texts of the `.sql` files in a package, which are read at the first use."""

    def __init__(self, package: str, included: Statements | None = None) -> None:
        """Read the files of this package. Its texts can also contain the `included` ones."""
        self._package = package
        self._included = included

    @cached_property
    def by_name(self) -> Mapping[str, NamedStatement]:
        """The texts by name."""
        scripts = read_scripts(self._package).values()
        parts = [part for each in scripts for part in _TITLE.split(each)[1:]]
        texts = dict(zip(parts[::3], map(str.strip, parts[2::3]), strict=True))

        def text_of(found: re.Match[str]) -> str:
            text = texts.get(found[1])
            return getattr(self._included, found[1]).template if text is None else complete(text)

        def complete(text: str) -> str:
            return _NAME.sub(text_of, text)

        sentences = zip(texts, parts[1::3], strict=True)
        return {name: NamedStatement(name, each, complete(texts[name])) for name, each in sentences}

    def __getattr__(self, name: str) -> NamedStatement:
        """Return the text with this name. Later uses find it as an attribute."""
        try:
            statement = vars(self)[name] = self.by_name[name]
        except KeyError:
            raise AttributeError(name) from None
        return statement


SQL = Statements("recipient_fields.adapters.relational")


@cache
def render(statement: Statement, dialect: Dialect) -> str:
    """Return the SQL of the statement for a database."""

    def fragment(call: re.Match[str]) -> str:
        arguments = re.split(r",\s+", call[2]) if call[2] else ()
        return str(getattr(dialect, call[1])(*arguments))

    text, calls = statement.template, 1
    while calls:  # The innermost calls first.
        text, calls = _CALL.subn(fragment, text)
    return text
