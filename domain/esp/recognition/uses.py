"""The uses of fields in a text that is written in the languages of one ESP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from ..languages import tree
from ..languages.blocks import Tag, build_tree
from ..languages.tree import (
    Assignment,
    Call,
    Condition,
    Expression,
    Filtered,
    Literal,
    Loop,
    Node,
    Opaque,
    Operation,
    Output,
    Unread,
)
from ..profiles.profile import Profile, Syntax, Vocabulary
from .words import Path, TagRole, Words, role_of

_EQUALITIES = frozenset({"!=", "==", "eq", "equals", "ifEq", "ne", "notEquals", "unlessEq"})
"""The operators and helpers that compare a value with whole values."""


@frozen(kw_only=True)
class NativeUse:
    """A place where code of an ESP reads a field: the field's name there, and the offset.

    `is_member` is whether the code reads a member of the value, which is a list or an object then.
    `is_shown` is whether the code shows the value. `compared` contains the texts with which it is
    compared.
    """

    name: str
    start: int
    is_member: bool = False
    is_shown: bool = False
    compared: tuple[str, ...] = ()


@frozen
class _Scope:
    """The names that are no fields at a place, because the code has set them.

    `depth` is the number of blocks of Handlebars around the place in which names are members of
    another value.
    """

    vocabulary: Vocabulary
    variables: frozenset[str]
    assigned: set[str]
    depth: int = 0

    def inside(self, variables: Iterable[str], *, is_member: bool) -> _Scope:
        """Return the scope of a block with its own variables, or with the members of a value."""
        is_lasting = self.vocabulary.syntax is Syntax.LIQUID
        return evolve(
            self,
            variables=self.variables.union(variables),
            assigned=self.assigned if is_lasting else set(self.assigned),
            depth=self.depth + is_member,
        )

    def find_name(self, path: Path) -> tuple[str, bool] | None:
        """Return the name of the field that the path means, and whether it means a member of it."""
        if self.vocabulary.syntax is Syntax.HANDLEBARS:
            depth = self.depth
            if path[:2] == ("@", "root"):
                path, depth = path[2:], 0
            while path[:1] in ((".",), ("this",), ("..",)):
                depth -= path[0] == ".."
                path = path[1:]
            if depth:
                return None
        if not path or path[0] in self.variables or path[0] in self.assigned:
            return None
        own = path[:2] if path[0] in self.vocabulary.fields else path
        role, name = role_of(own, self.vocabulary)
        return (name, own != path) if role is TagRole.FIELD else None


def find_uses(text: str, profile: Profile) -> Iterator[NativeUse]:
    """Yield the uses of fields in the text, as the ESP reads it, in its order.

    Names that the code sets are no fields: variables of loops, assigned names, and in Handlebars
    the names in a block that reads the members of a value.
    """
    scope = _Scope(profile.vocabulary, frozenset(), set())
    yield from _uses(build_tree(profile.find_tags(text)), scope)


def _uses(nodes: Iterable[Node], scope: _Scope) -> Iterator[NativeUse]:
    is_handlebars = scope.vocabulary.syntax is Syntax.HANDLEBARS
    for node in nodes:
        match node:
            case Output(start, value=value) | Unread(start, meant=Output(value=value)):
                yield from _of(Output(start, start, value), value, scope, is_shown=True)
            case Condition(branches=branches):
                for branch in branches:
                    if branch.test is not None:
                        yield from _of_test(branch.start, branch.test, scope)
                    yield from _uses(branch.nodes, scope)
            case Loop(start=start, items=items, variables=variables):
                for value in (items, *(value for _, value in node.options)):
                    yield from _of_test(start, value, scope)
                inner = scope.inside(variables, is_member=is_handlebars)
                yield from _uses(node.nodes, inner)
                yield from _uses(node.otherwise, scope)
            case Assignment(start, _, name, assigned):
                if isinstance(assigned, tuple):
                    yield from _uses(assigned, scope)
                else:
                    yield from _of_test(start, assigned, scope)
                scope.assigned.update(each.partition(".")[0] for each in name.split(", "))
            case Opaque():
                yield from _of_tag(node, scope)


def _of_tag(tag: Opaque, scope: _Scope) -> Iterator[NativeUse]:
    is_handlebars = scope.vocabulary.syntax is Syntax.HANDLEBARS
    alone = evolve(tag, nodes=None)
    names = Words.of(Tag(tag.start, tag.end, (alone,)), scope.vocabulary).sets
    call = Call(tag.name, tag.arguments, tag.named)
    # The arguments of a block of Handlebars are values, also those of `with`.
    node = Output(tag.start, tag.start, call) if is_handlebars else alone
    yield from _of(node, call, scope, is_shown=tag.nodes is None)
    if tag.nodes is None:
        scope.assigned.update(names)
        return
    is_member = is_handlebars and tag.name in {"", "with"}
    has_scope = is_member or bool(names)
    yield from _uses(tag.nodes, scope.inside(names, is_member=is_member) if has_scope else scope)


def _of_test(start: int, value: Expression, scope: _Scope) -> Iterator[NativeUse]:
    yield from _of(Output(start, start, value), value, scope, is_shown=False)


def _of(
    node: Output | Opaque, expression: Expression, scope: _Scope, *, is_shown: bool
) -> Iterator[NativeUse]:
    """Yield one use per field in the node, with the texts with which it is compared."""
    compared: dict[str, list[str]] = {}
    for name, texts in _comparisons(expression, scope):
        compared.setdefault(name, []).extend(texts)
    for name, is_member in _names(node, scope):
        yield NativeUse(
            name=name,
            start=node.start,
            is_member=is_member,
            is_shown=is_shown and name not in compared,
            compared=tuple(compared.get(name, ())),
        )


def _names(node: Output | Opaque, scope: _Scope) -> Iterator[tuple[str, bool]]:
    """Yield the names of the fields in the node, and whether it reads a member, once each."""
    words = Words.of(Tag(node.start, node.end, (node,)), scope.vocabulary)
    paths = (path for path in (*words.paths, *words.arguments) if path[0] not in words.sets)
    yield from dict.fromkeys(filter(None, map(scope.find_name, paths)))


def _comparisons(expression: Expression, scope: _Scope) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields that are compared with texts, and these texts."""
    match expression:
        case Operation(operator, operands) | Call(operator, operands):
            is_choice = operator == "contains" and _is_list(operands[0])
            if operator in _EQUALITIES or is_choice:
                texts = list(_texts(operands))
                for each in operands if texts else ():
                    if _is_value(each, scope.vocabulary):
                        yield from ((name, texts) for name, _ in _names(Output(0, 0, each), scope))
            for each in operands:
                yield from _comparisons(each, scope)


def _is_list(expression: Expression) -> bool:
    match expression:
        case Operation("list"):
            return True
    return False


def _texts(operands: Iterable[Expression]) -> Iterator[str]:
    for operand in operands:
        match operand:
            case Literal(str() as text):
                yield text
            case Operation("list", items):
                yield from _texts(items)


def _is_value(expression: Expression, vocabulary: Vocabulary) -> bool:
    """Return whether the expression is the value of a field itself, not one that is changed."""
    match expression:
        case tree.Path():
            return True
        case Filtered(value, filters):
            is_member = all(each.name in vocabulary.member_filters for each in filters)
            return is_member and _is_value(value, vocabulary)
        case Call(name):
            return name in vocabulary.path_functions
    return False
