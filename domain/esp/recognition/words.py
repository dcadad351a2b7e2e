"""The words of a tag: the paths, filters, functions and tags in its tree, and what they show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from itertools import takewhile
from typing import TypeAlias, TypeGuard

from attrs import Factory, define, frozen

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

_LOOP_STATES = {"forloop", "loop", "tablerowloop"}
_INTERPOLATION = re.compile(r"(?<![^.])\$\.")
"""The mark of `${…}` in a path."""
NAMED_BY_USERS = {Syntax.AMPSCRIPT, Syntax.MERGE_TAGS, Syntax.PERCENT_TAGS}
"""The languages in which each name that is not one of the ESP is that of a field."""


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
        """Return the words of a tag, as an ESP with this vocabulary reads it."""
        words = cls(vocabulary)
        for part in tag.parts:
            words._read(part)
        return words

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
        match tag.arguments:
            case [*_, tree.Path(("as",)), tree.Path((str() as name,))]:  # `{% now "Y" as year %}`
                self.sets.add(name)
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
        if tag.name in _BEFORE_NAMES:
            self.sets.update(path[0] for path in inner.paths)
        named = (value for name, value in tag.named if name == "save")
        self.sets.update(str(each.parts[0]) for each in named if isinstance(each, tree.Path))
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


@frozen
class Variables:
    """The variables of Salesforce in a text, in small letters: as they are read, and those set."""

    read: Mapping[str, str]
    assigned: frozenset[str]


def find_variables(tags: Iterable[Tag], vocabulary: Vocabulary) -> Variables:
    """Return the variables in tags of the ESP with this vocabulary."""
    words = [Words.of(tag, vocabulary) for tag in tags]
    paths = (path for each in words for path in (*each.paths, *each.arguments))
    names = (root for root, *_ in paths if root.startswith("@") and not root.startswith("@@"))
    assigned = (name.lower() for each in words for name in each.sets)
    return Variables({name.lower(): name for name in names}, frozenset(assigned))


class TagRole(Enum):
    """What a tag shows."""

    FIELD = "field"
    """A field of the recipient."""
    SYSTEM = "system"
    """A link, or data of the sender, the account or the message."""
    EVENT = "event"
    """Data of the event or message that caused the send."""
    NESTED = "nested"
    """A member of an object or list."""
    ASSIGNED = "assigned"
    """A local variable, or its assignment."""
    LOOP = "loop"
    """The begin or end of a loop, or its state."""
    NONE = "none"
    """No value."""


_BY_IMPORTANCE = (
    *(TagRole.FIELD, TagRole.SYSTEM, TagRole.EVENT, TagRole.NESTED),
    *(TagRole.LOOP, TagRole.ASSIGNED, TagRole.NONE),
)


@frozen
class Shown:
    """What a tag shows for one dialect, and the names of fields and of system values in it."""

    role: TagRole
    names: tuple[str, ...] = ()
    system_names: tuple[str, ...] = ()


def find_shown(words: Words) -> Shown:
    """Return what the tag with these words shows. Fields come first, then system values."""
    found = list(_values(words))
    roles = [role for role, _ in found]
    if words.sets:
        roles.append(TagRole.ASSIGNED)
    role = min(roles, key=_BY_IMPORTANCE.index, default=TagRole.NONE)
    names, system_names = (
        tuple(dict.fromkeys(name for role, name in found if role is wanted))
        for wanted in (TagRole.FIELD, TagRole.SYSTEM)
    )
    return Shown(TagRole.LOOP if words.is_loop else role, names, system_names)


def _values(words: Words) -> Iterator[tuple[TagRole, str]]:
    vocabulary = words.vocabulary
    for path in dict.fromkeys((*words.paths, *words.arguments)):
        if path[0] not in words.sets:
            role, name = role_of(path, vocabulary)
            is_argument = vocabulary.syntax is Syntax.AMPSCRIPT and path in words.in_calls
            if not (role is TagRole.SYSTEM and is_argument):
                yield role, name
    for tag in words.tags:
        if tag in vocabulary.system_tags:
            yield TagRole.SYSTEM, tag


def role_of(path: Path, vocabulary: Vocabulary) -> tuple[TagRole, str]:
    """Return what the value with this path is for the ESP, and its name."""
    root, name = path[0], _INTERPOLATION.sub("", ".".join(path))
    if root in _LOOP_STATES & vocabulary.local:
        return TagRole.LOOP, name
    if root in vocabulary.local or not root:
        return TagRole.NONE, name
    if vocabulary.is_system(".".join(path)):
        return TagRole.SYSTEM, name
    if root in vocabulary.fields and len(path) > 1:
        is_field = re.fullmatch(vocabulary.field_pattern, path[1]) is not None
        role = TagRole.NESTED if len(path) > 2 else TagRole.FIELD
        return (role if is_field else TagRole.ASSIGNED), path[1] if len(path) == 2 else name
    if root in vocabulary.bare_fields and len(path) == 1:
        return TagRole.FIELD, root
    if root in vocabulary.events or (len(path) == 1 and vocabulary.is_event(root)):
        return TagRole.EVENT, name
    if root in vocabulary.nested:
        return TagRole.NESTED, name
    if vocabulary.variable_mark and root.startswith(vocabulary.variable_mark):
        return TagRole.ASSIGNED, name
    if vocabulary.syntax in NAMED_BY_USERS:
        is_field = re.fullmatch(vocabulary.field_pattern, name) is not None
        return (TagRole.FIELD if is_field else TagRole.NONE), name
    if not vocabulary.can_have(path):
        return TagRole.ASSIGNED, name
    if len(path) > 1:
        return TagRole.NESTED, name
    is_field = re.fullmatch(vocabulary.field_pattern, root, re.ASCII) is not None
    return (TagRole.FIELD if is_field else TagRole.NONE), name
