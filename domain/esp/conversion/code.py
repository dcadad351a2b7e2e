"""Code of an ESP as trees: what its profile contains as text is read by its own grammar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve

from ..languages.blocks import Certainty, Tag, build_tree, with_texts
from ..languages.tree import (
    Assignment,
    Branch,
    Call,
    Condition,
    Expression,
    Filter,
    Filtered,
    Literal,
    Node,
    Opaque,
    Operation,
    Output,
    Path,
    Raw,
    Text,
)
from ..profiles.profile import Profile

SLOT = "recipient_fields_slot"
"""A name that the languages read as a path. It stands for the value in a pattern."""
DEFAULT = "recipient_fields_default"
"""The default in a pattern."""
LENGTH, LESS = "777", "776"
"""The argument of `truncate` and `date` in a pattern, and the number before it."""
SLOTS = {SLOT, DEFAULT, LENGTH, LESS}


def read_tree(profile: Profile, text: str) -> tuple[Node, ...]:
    """Return the tree of a template."""
    return read_tags(profile.find_tags(text), text)


def read_tags(tags: Iterable[Tag], text: str) -> tuple[Node, ...]:
    """Return the tree of a template with these tags."""
    return build_tree(with_texts(text, map(_covered, tags)))


def has_code(profile: Profile, text: str) -> bool:
    """Return whether the ESP reads a part of the text as code."""
    return any(tag.certainty is not Certainty.POSSIBLE for tag in profile.find_tags(text))


def find_literal(profile: Profile, text: str, before: str) -> str | None:
    """Return code that shows the text as it is, or None if the ESP has no such code.

    `before` is the character before the code.
    """
    if not has_code(profile, text):
        return text
    codes = (
        f"{{% raw %}}{text}{{% endraw %}}",
        f"{{% verbatim %}}{text}{{% endverbatim %}}",
        text.replace("{{", r"\{{"),
    )
    shown = before + text
    return next((code for code in codes if _find_shown(profile, before + code) == shown), None)


def _find_shown(profile: Profile, code: str) -> str | None:
    """Return the text that the code shows, or None if the ESP reads a part of it as code."""
    shown = ""
    for node in read_tree(profile, code):
        match node:
            case Text():
                shown += code[node.start : node.end]
            case Raw():
                shown += code[node.text_start : node.text_end]
            case _:
                return None
    return shown


def _covered(tag: Tag) -> Tag:
    """Return the tag with statements that together cover all of it."""
    if len(tag.parts) == 1 and tag.parts[0].start == tag.start:
        return tag
    ends = [*(part.start for part in tag.parts[1:]), tag.end]
    starts = [tag.start, *ends]
    parts = (
        evolve(part, start=start, end=end)
        for part, start, end in zip(tag.parts, starts, ends, strict=False)
    )
    return evolve(tag, parts=tuple(parts))


def read_output(profile: Profile, code: str) -> Expression:
    """Return the value that the code shows, or a null if it is no such tag."""
    match read_tree(profile, code):
        case (Output(value=value),):
            return value
    return Literal(None)


def read_test(profile: Profile, code: str) -> Expression:
    """Return the test of a block with this code, or a null if it is no such block."""
    match read_tree(profile, profile.conditions.block(code, "x", "")):
        case (Condition(branches=(Branch(test=test), *_)),) if test is not None:
            return test
        case (Opaque(name=name, arguments=arguments, named=named),):
            return Call(name, arguments, named)
    return Literal(None)


def match_code(pattern: Expression, value: Expression, slots: dict[str, Expression]) -> bool:
    """Return whether the code has the form of the pattern, and note what its slots contain."""
    match pattern, value:
        case Path((str() as name,)), _ if name in SLOTS:
            return slots.setdefault(name, value) == value
        case Literal(name), Literal(str() as path) if name == SLOT:  # It is a path in quotes.
            return match_code(Path((SLOT,)), Path(tuple(path.split("."))), slots)
        case Literal(str() | int() as name), _ if str(name) in SLOTS:
            return slots.setdefault(str(name), value) == value
        case Literal(str() as text), Literal(str() as written) if text.endswith(DEFAULT):
            prefix = text.removesuffix(DEFAULT)
            slots[DEFAULT] = Literal(written.removeprefix(prefix))
            return written.startswith(prefix)
        case Filtered(inner, filters), Filtered(other, others) if len(others) >= len(filters):
            split = len(others) - len(filters)
            before = Filtered(other, others[:split]) if split else other
            return match_code(inner, before, slots) and all(
                left.name == right.name and _match_arguments(left, right, slots)
                for left, right in zip(filters, others[split:], strict=True)
            )
        case Call(name), Call(other_name) if name.lower() == other_name.lower():
            return _match_arguments(pattern, value, slots)
        case Operation(name, operands), Operation(other_name, others) if name == other_name:
            return match_all(operands, others, slots)
    return pattern == value


def _match_arguments(
    pattern: Filter | Call, value: Filter | Call, slots: dict[str, Expression]
) -> bool:
    named, others = dict(pattern.named), dict(value.named)
    return named.keys() == others.keys() and match_all(
        (*pattern.arguments, *named.values()),
        (*value.arguments, *(others[name] for name in named)),
        slots,
    )


def find_shape(node: Node, text: str) -> Expression:
    """Return a node as an expression, so that a pattern can be several tags. Blocks have no blocks.

    A null is the shape of what no pattern contains.
    """
    match node:
        case Text(start, end):
            return Literal(text[start:end])
        case Output(value=value, is_raw=is_raw):
            return Call("raw" if is_raw else "output", (value,))
        case Assignment(name=name, value=value) if not isinstance(value, tuple):
            return Call("assign", (Literal(name), value))
        case Condition(branches=branches):
            parts = [
                (each.test or Literal(None), *_in_block(each.nodes, text)) for each in branches
            ]
            return Call("if", tuple(Call("branch", each) for each in parts))
        case Opaque(name=name, arguments=arguments, nodes=tuple() as nodes):
            return Call(f"block {name}", (*arguments, *_in_block(nodes, text)))
    return Literal(None)


def _in_block(nodes: Sequence[Node], text: str) -> Iterator[Expression]:
    for each in nodes:
        is_shape = isinstance(each, Text | Output)
        yield find_shape(each, text) if is_shape else Literal(None)


def match_all(
    patterns: Sequence[Expression], values: Sequence[Expression], slots: dict[str, Expression]
) -> bool:
    """Return whether each code has the form of the pattern at its position."""
    return len(patterns) == len(values) and all(
        match_code(pattern, value, slots) for pattern, value in zip(patterns, values, strict=True)
    )
