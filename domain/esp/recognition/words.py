"""The words of a tag: the paths, filters, functions and tags in its tree."""

from __future__ import annotations

from itertools import takewhile
from typing import TypeAlias, TypeGuard

from attrs import Factory, define

from ..languages import tree
from ..languages.blocks import Closing, Divider, Opening, Statement, Tag
from ..languages.tree import (
    Assignment,
    Branch,
    Call,
    Condition,
    Expression,
    Filtered,
    Literal,
    Loop,
    Opaque,
    Operation,
    Output,
    Unread,
)
from ..profiles.profile import Syntax, Vocabulary

Path: TypeAlias = tuple[str, ...]
"""The parts of a path: `a["b"].c` has three. The first one is its root."""

_IN_LOOPS = {"break", "continue", "cycle", "tablerow"}
_ENDS_OF_LOOPS = {"/each", "NEXT", "endfor", "endtablerow"}
_BEFORE_FIRST_NAME = {"decrement", "increment", "tablerow"}
_BEFORE_NAMES = {"from", "import", "macro"}
"""Tags whose first argument, or all, are names that they set: `{% from 'x' import NAME %}`."""


def _is_path(parts: tuple[object, ...]) -> TypeGuard[Path]:
    """Return whether all parts are texts."""
    return all(isinstance(part, str) for part in parts)


def _is_name(part: object) -> bool:
    return isinstance(part, str | int)


@define
class Words:
    """The words of a tag, in its order.

    `tags` are the names of statements and blocks that only some ESPs have. `arguments` are paths in
    such a statement, whose syntax is not known. `in_calls` are paths in the arguments of functions.
    `sets` are the names that the tag gives to values. `is_block` is whether the tag
    begins, divides or ends a block. `text_of` is the tag whose first argument is
    a text.
    """

    vocabulary: Vocabulary
    tags: list[str] = Factory(list)
    paths: list[Path] = Factory(list)
    arguments: list[Path] = Factory(list)
    in_calls: set[Path] = Factory(set)
    filters: list[str] = Factory(list)
    functions: list[str] = Factory(list)
    sets: set[str] = Factory(set)
    is_block: bool = False
    is_loop: bool = False
    is_condition: bool = False
    text_of: str | None = None

    @classmethod
    def of(cls, tag: Tag, vocabulary: Vocabulary) -> Words:
        """Return the words of a tag, which is read once."""
        if cls not in tag.derived:
            words = cls(vocabulary)
            for part in tag.parts:
                words._read(part)
            tag.derived[cls] = words
        found: Words = tag.derived[cls]
        return found

    def _read(self, part: Statement) -> None:
        match part:
            case Opening(start, end):
                self.is_block = True
                self._read(part.build(start, end, [Branch(start, end, None, ())]))
            case Output(value=value):
                self._add(value)
            case Condition(branches=branches):
                self.is_condition = True
                for branch in branches:
                    self._add(branch.test)
            case Loop(items=items, variables=variables):
                self.is_loop = True
                self.sets.update(variables)
                self._add(items, *(value for _, value in part.options))
            case Assignment(name=name, value=value):
                self.sets.update(each.partition(".")[0] for each in name.split(", "))
                if not isinstance(value, tuple):
                    self._add(value)
            case Opaque():
                self._read_opaque(part)
            case Divider(test=test):
                self.is_block = self.is_condition = test is not None
                self._add(test)
            case Closing(word=word):
                self.is_block = True
                self.is_loop = word in _ENDS_OF_LOOPS
                self.tags.append(word)
            case Unread(meant=Output(value=value)):
                self._add(value)

    def _read_opaque(self, tag: Opaque) -> None:
        self.is_loop = tag.name in _IN_LOOPS
        match tag.arguments:
            case [tree.Path(parts)] if not tag.name:  # `{{#items}}` of Handlebars
                self.tags.append(".".join(map(str, parts)))
            case [Literal(str()), *_]:
                self.text_of = tag.name
        if tag.name:
            self.tags.append(tag.name)
        if tag.name == "with":
            self.sets.update(name for name, _ in tag.named)
            self._add(*(value for _, value in tag.named))
            return
        if tag.name == "macro":
            self.sets.update(each.name for each in tag.arguments if isinstance(each, Call))
        inner = Words(self.vocabulary)
        inner._add(*tag.arguments, *(value for _, value in tag.named))
        if tag.name in _BEFORE_FIRST_NAME:
            self.sets.update(path[0] for path in inner.paths[:1])
        if tag.name in _BEFORE_NAMES or any(name == "save" for name, _ in tag.named):
            self.sets.update(path[0] for path in inner.paths)
        if self.vocabulary.syntax is Syntax.HANDLEBARS:  # The arguments of a helper are values.
            self.paths += inner.paths
            self.functions += inner.functions
        else:
            self.arguments += inner.paths

    def _add(self, *expressions: str | int | Expression | None) -> None:
        for expression in expressions:
            match expression:
                case tree.Path(parts):
                    self._add_path(parts)
                case Filtered():
                    self._add_filtered(expression)
                case Call():
                    self._add_call(expression)
                case Operation("is", (value, Call(_, arguments))):  # a test, such as `is defined`
                    self._add(value, *arguments)
                case Operation(_, operands):
                    self._add(*operands)

    def _add_path(self, parts: tuple[str | int | Expression, ...]) -> None:
        if _is_path(parts):
            self.paths.append(parts)
            return
        names = tuple(str(part) for part in takewhile(_is_name, parts))
        if names:
            self.paths.append(names)
        self._add(*parts[len(names) :])

    def _add_filtered(self, filtered: Filtered) -> None:
        value, filters = filtered.value, list(filtered.filters)
        while filters and filters[0].name in self.vocabulary.member_filters:
            match value, filters[0].arguments:
                case tree.Path(parts), (Literal(str() as name),):
                    value = tree.Path((*parts, name))
                case _:
                    break
            self.filters.append(filters.pop(0).name)
        self._add(value)
        for each in filters:
            self.filters.append(each.name)
            self._add(*each.arguments, *(value for _, value in each.named))

    def _add_call(self, call: Call) -> None:
        *path, name = call.name.split(".")
        if path:  # The call of a method, such as `contact.city.split(" ")`.
            self.paths.append(tuple(path))
        elif name:
            self.functions.append(name)
        first = len(self.paths)
        match call.arguments:
            case [Literal(str() as text), *_] if name in self.vocabulary.path_functions:
                self.paths.append(tuple(text.split(".")))
        self._add(*call.arguments, *(value for _, value in call.named))
        self.in_calls.update(self.paths[first:])
