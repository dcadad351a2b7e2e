"""The preview of content: what a recipient reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from html import escape
from typing import Any, TypeVar

from attrs import Factory, define, frozen

from ..arguments import require_type
from ..conditions import Condition, Operator, Value
from ..conditions.evaluation import RecipientValues, holds
from ..conditions.literals import to_scalar
from ..conditions.tree import comparisons
from ..data_paths import EVENT, LOOP, NUMBER, DataPath
from ..errors import Rule, Violation
from ..fields.protocol import Field
from ..fields.values import DataType
from ..recipients.schema import RecipientSchema
from .checks import require_fields
from .errors import InvalidContent
from .event_data import (
    UnfitData,
    find_value,
    is_set,
    read_list,
    read_texts,
    read_value,
    show_value,
)
from .filters import Filter, apply_filters, input_types, reads_list
from .resolution import EMAIL_KEY, OWN_EMAIL, FieldResolver, data_types
from .surfaces import Surface, find_surface
from .system_values import SystemValue
from .tree import Block, Content, Loop, Node, Reference, SystemReference, Text

__all__ = ["PreviewedContent", "preview_content"]

T = TypeVar("T")

MAX_PREVIEW_LENGTH = 4_194_304
"""The number of characters in a preview. Short references can mean long values."""
MAX_PREVIEWED_VALUE = 100_000
"""The number of characters of a value."""
_MAX_FILTERED = MAX_PREVIEW_LENGTH
"""The number of characters that all filters of a preview return."""
MAX_ROUNDS = 1_000
"""The number of rounds of all loops of a preview, inner ones included."""
_MAX_READ_IN_LOOPS = 100_000
"""The number of texts, tags and comparisons that a preview reads in the rounds of all loops."""
_MAX_SEARCHED = 20_000_000
"""The number of characters in which all conditions of a preview search, with `contains`."""

_EMAIL = "recipient@example.com"
_STAND_INS: Mapping[SystemValue, str] = {
    SystemValue.UNSUBSCRIBE: "https://example.com/unsubscribe",
    SystemValue.UNSUBSCRIBE_ALL: "https://example.com/unsubscribe-all",
    SystemValue.PREFERENCES: "https://example.com/preferences",
    SystemValue.VIEW_IN_BROWSER: "https://example.com/view-in-browser",
    SystemValue.SENDER_NAME: "Example Company",
    SystemValue.SENDER_ADDRESS: "1 Example Street, Example City, EX 12345, Example Country",
}
"""What the preview shows instead of values that only the ESP knows."""


@frozen(kw_only=True)
class PreviewedContent:
    """What a recipient reads: the content with the recipient's values.

    `keys` are the keys of the fields in it, in the order of their first use: not `email`, if it is
    the address of the recipient. `event` are the names of the event data. `unlisted` are the
    violations of values that are not among the allowed values of their fields. The content shows
    them, and its conditions compare them.
    """

    content: str
    surface: Surface
    keys: tuple[str, ...]
    event: tuple[str, ...] = ()
    unlisted: tuple[Violation, ...]


def preview_content(
    content: Content,
    fields: Iterable[Field],
    values: Mapping[str, object],
    *,
    event: Mapping[str, object] | None = None,
    surface: Surface | str | None = None,
    resolved: Mapping[str, str] | None = None,
    definitions: Mapping[str, str] | None = None,
    today: date | None = None,
) -> PreviewedContent:
    """Return the content for a recipient with these values, by the keys of the fields.

    In HTML, the values are escaped, so that a reader sees them. Without a `surface`, content with
    an HTML tag is `html`, and other content `text`. Defaults are written as they are, like the rest
    of the content, but encoded in attributes and URLs. Expressions stay as they are, because only
    the ESP can evaluate them. Links, the sender and a missing address have stand-ins, such as
    `https://example.com/unsubscribe`.

    `event` is the data of the event, by name. `resolved` is that of the ExportedContent whose
    preview this is, if any, and `definitions` are those of a RecipientSchema. `today` is the day of
    the year that `{{today.year}}` shows: without it, this stays.

    Raises: InvalidContent if a field is unknown, if a filter or a condition does not fit the fields
    or the event data, if the content has violations, if the preview is too long, or if its filters
    or conditions read too many characters; InvalidRecipient, with all violations, if a value has
    over 100,000 characters, or if `RecipientSchema.check` rejects values for another reason than
    that they are not allowed values; TypeError if the content is not parsed; ValueError if there is
    no such surface.
    """
    require_type(Iterable, fields=fields)
    require_type(Mapping, values=values)
    require_type(Mapping | None, event=event, resolved=resolved, definitions=definitions)
    require_type(date | None, today=today)
    by_key = {str(field.key): field for field in fields}
    resolver = FieldResolver(by_key, resolved)
    require_fields(content, resolver)
    if resolver.find(EMAIL_KEY) is OWN_EMAIL:
        values = {**values, EMAIL_KEY: values.get(EMAIL_KEY) or _EMAIL}
    schema = RecipientSchema({EMAIL_KEY: OWN_EMAIL, **by_key}, definitions=definitions or {})
    recipient = RecipientValues.read(schema, values, max_length=MAX_PREVIEWED_VALUE)
    surface = find_surface(content, surface)
    reader = _Reader(
        content=content,
        resolver=resolver,
        recipient=recipient,
        data={EVENT: event or {}},
        year=str(SystemValue.YEAR) if today is None else f"{today.year:04}",
        escapes=surface is Surface.HTML,
    )
    parts: list[str] = []
    length = 0
    for part in reader.read(content.nodes):
        length += len(part)
        if length > MAX_PREVIEW_LENGTH:
            message = f"The preview would have more than {MAX_PREVIEW_LENGTH:,} characters."
            raise InvalidContent([content.lines.violation(0, Rule.TOO_LONG, message)])
        parts.append(part)
    used, resolved = content.keys(), resolved or {}
    meant = dict.fromkeys(resolved.get(key, key) for key in used)
    return PreviewedContent(
        content="".join(parts),
        surface=surface,
        keys=tuple(key for key in meant if key in by_key),
        event=content.event_names(),
        unlisted=recipient.unlisted,
    )


@define(kw_only=True)
class _Reader:
    """A reader of the content."""

    content: Content
    resolver: FieldResolver
    recipient: RecipientValues
    data: Mapping[str, object]
    year: str
    escapes: bool
    _shown: dict[tuple[str, tuple[Filter, ...]], str | None] = Factory(dict)
    """What the recipient reads for each key with its filters."""
    _conditions: dict[int, tuple[Condition, Mapping[DataPath, DataType | None]]] = Factory(dict)
    """The conditions with the types of their data, by the offsets of their branches."""
    _filtered: int = 0
    _count: int = 0
    _read_in_loops: int = 0
    _searched: int = 0

    def read(self, nodes: Iterable[Node]) -> Iterator[str]:
        """Yield the parts of the content that the recipient reads."""
        for node in nodes:
            self._count_in_loops(node.start)
            match node:
                case Text():
                    yield node.text
                case Reference():
                    yield self._value(node)
                case SystemReference():
                    yield self.year if node.value is SystemValue.YEAR else _STAND_INS[node.value]
                case Loop():
                    yield from self._rounds(node)
                case Block():
                    yield from self.read(self._shown_nodes(node))

    def _rounds(self, loop: Loop) -> Iterator[str]:
        """Yield what the recipient reads of a loop."""
        items = self._find(loop.items, read_list, loop.start) or ()
        if not items:
            for otherwise in loop.branches[1:]:
                yield from self.read(otherwise.nodes)
        outer = self.data
        for index, item in enumerate(items):
            self._count += 1
            if self._count > MAX_ROUNDS:
                message = f"The loops up to here have more than {MAX_ROUNDS:,} rounds."
                raise self._refuse(loop.start, f"{message} Preview shorter lists.")
            is_first, is_last = index == 0, index == len(items) - 1
            position = {NUMBER: index + 1, "first": is_first, "last": is_last}
            self.data = {**outer, loop.variable: item, LOOP: position}
            yield from self.read(loop.branches[0].nodes)
        self.data = outer

    def _shown_nodes(self, block: Block) -> tuple[Node, ...]:
        """Return the nodes of the first branch whose condition is true."""
        for branch in block.branches:
            if branch.condition is None or self._holds(branch.condition, branch.start):
                return branch.nodes
        return ()

    def _holds(self, condition: Condition, start: int) -> bool:
        if start not in self._conditions:
            resolved = self.resolver.resolve(condition)
            self._conditions[start] = resolved, data_types(resolved)
        resolved, types = self._conditions[start]

        def get(key: str) -> Value | None:
            if not isinstance(key, DataPath):
                return self.recipient.get(key)
            data_type = types[key]
            read = is_set if data_type is None else partial(read_value, [data_type])
            return self._find(key, read, start)

        for each in comparisons(resolved):
            self._count_in_loops(start)
            value = get(each.key) if each.operator is Operator.CONTAINS else None
            self._searched += len(value) if isinstance(value, str) else 0
        if self._searched > _MAX_SEARCHED:
            message = f"The conditions up to here search in more than {_MAX_SEARCHED:,} characters."
            raise self._refuse(start, f"{message} Preview shorter values.")
        return holds(resolved, get)

    def _count_in_loops(self, start: int) -> None:
        """Count what is read in a round. Raises: InvalidContent if it is too much."""
        self._read_in_loops += LOOP in self.data
        if self._read_in_loops > _MAX_READ_IN_LOOPS:
            message = f"The loops up to here read more than {_MAX_READ_IN_LOOPS:,} tags and texts."
            raise self._refuse(start, f"{message} Preview shorter lists.")

    def _find(self, path: DataPath, read: Callable[[object, DataPath], T], start: int) -> T | None:
        """Return the value of the data, or None if it is not set."""
        try:
            value = find_value(self.data[path.root], path)
            return None if value is None else read(value, path)
        except UnfitData as error:
            violation = self.content.lines.violation(start, Rule.TYPE, str(error))
            raise InvalidContent([violation]) from None

    def _value(self, reference: Reference) -> str:
        if reference.is_expression:
            is_data = isinstance(reference.key, DataPath)
            name = reference.key if is_data else f"recipient.{reference.key}"
            return f"{{{{{name} | expression}}}}"
        key = reference.key, reference.filters
        is_fixed = not isinstance(reference.key, DataPath) or reference.key.root == EVENT
        if key not in self._shown or not is_fixed:
            self._shown[key] = self._show(reference)
        shown = self._shown[key]
        if shown is not None or not reference.default:
            return shown or ""
        return self.content.html.fit(reference.default, reference.start, is_html=self.escapes)

    def _show(self, reference: Reference) -> str | None:
        """Return what the recipient reads, or None without a value."""
        if isinstance(reference.key, DataPath):
            value = self._find(reference.key, _reader(reference.filters), reference.start)
        else:
            value = self.recipient.get(self.resolver.get(reference.key).key)
        if value is None:
            return None
        for each in reference.filters:
            value = apply_filters(value, [each])
            self._filtered += len(str(value))
            if self._filtered > _MAX_FILTERED:
                message = f"The filters up to here write more than {_MAX_FILTERED:,} characters."
                raise self._refuse(reference.start, f"{message} Preview shorter values.")
        text = format_value(value)
        return escape(text) if self.escapes else text

    def _refuse(self, start: int, message: str) -> InvalidContent:
        return InvalidContent([self.content.lines.violation(start, Rule.TOO_LONG, message)])


def _reader(filters: Sequence[Filter]) -> Callable[[object, DataPath], Any]:
    """Return what reads data for these filters."""
    if not filters:
        return show_value
    return read_texts if reads_list(filters) else partial(read_value, input_types(filters))


def format_value(value: Value) -> str:
    """Return the value as a reader sees it: `true`, `3`, `0.5`, `2026-11-20`."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case date():  # or datetime, its subclass
            return str(to_scalar(value))
    decimal = Decimal(str(value))
    return format(decimal.to_integral() if decimal == decimal.to_integral() else decimal, "f")
