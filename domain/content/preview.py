"""The preview of content: what a recipient reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal

from ..conditions import Value, evaluate, read_value
from ..errors import Rule
from ..fields.field import RecipientField
from ..instants import format_instant
from .checks import require_fields
from .errors import InvalidContent
from .filters import apply_filters
from .resolution import FieldResolver
from .tree import Block, Content, Node, Reference, Text

__all__ = ["MAX_PREVIEW_LENGTH", "preview_content"]

MAX_PREVIEW_LENGTH = 4_194_304
"""The number of characters in a preview. Short references can mean long values."""


def preview_content(
    content: Content,
    fields: Iterable[RecipientField],
    values: Mapping[str, object],
    *,
    resolved: Mapping[str, str] | None = None,
) -> str:
    """Return the content for a recipient with these values, by the keys of the fields.

    `values` has the form that `evaluate` accepts. Expressions stay as they are, because only the
    ESP can evaluate them. `resolved` is that of the ExportedContent whose preview this is, if any.

    Raises: InvalidContent if `check_content` raises it, or if the preview is too long;
    InvalidRecipient if a value has another type than its field; TypeError if the content is not
    parsed.
    """
    resolver = FieldResolver({str(field.key): field for field in fields}, resolved)
    require_fields(content, resolver)
    parts: list[str] = []
    length = 0
    for part in _render(content.nodes, resolver, values):
        length += len(part)
        if length > MAX_PREVIEW_LENGTH:
            message = f"The preview would have more than {MAX_PREVIEW_LENGTH:,} characters."
            raise InvalidContent([content.lines.violation(0, Rule.TOO_LONG, message)])
        parts.append(part)
    return "".join(parts)


def _render(
    nodes: Iterable[Node], resolver: FieldResolver, values: Mapping[str, object]
) -> Iterator[str]:
    for node in nodes:
        match node:
            case Text():
                yield node.text
            case Reference():
                yield _value(node, resolver, values)
            case Block():
                yield from _render(_shown(node, resolver, values), resolver, values)


def _shown(block: Block, resolver: FieldResolver, values: Mapping[str, object]) -> tuple[Node, ...]:
    """Return the nodes of the first branch whose condition is true."""
    for branch in block.branches:
        condition = branch.condition
        if condition is None or evaluate(
            resolver.resolve(condition), resolver.fields_of(condition), values
        ):
            return branch.nodes
    return ()


def _value(reference: Reference, resolver: FieldResolver, values: Mapping[str, object]) -> str:
    if reference.is_expression:
        return f"{{{{recipient.{reference.key} | expression}}}}"
    field = resolver.get(reference.key)
    value = read_value(str(field.key), field.data_type, values.get(str(field.key)))
    if value is None:
        return reference.default or ""
    return format_value(apply_filters(value, reference.filters))


def format_value(value: Value) -> str:
    """Return the value as a reader sees it: `true`, `3`, `0.5`, `2026-11-20`."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime():
            return format_instant(value)
        case date():
            return value.isoformat()
    decimal = Decimal(str(value))
    return format(decimal.to_integral() if decimal == decimal.to_integral() else decimal, "f")
