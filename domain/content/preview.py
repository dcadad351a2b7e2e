"""The preview of content: what a recipient reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from html import escape

from attrs import frozen

from ..arguments import require_type
from ..conditions import Value
from ..conditions.evaluation import RecipientValues
from ..errors import Rule, Violation
from ..fields.field import RecipientField
from ..instants import format_instant
from ..recipients.schema import RecipientSchema
from .checks import require_fields
from .errors import InvalidContent
from .filters import apply_filters
from .resolution import EMAIL_KEY, FieldResolver, own_email
from .surfaces import Surface, find_surface
from .system_values import SystemValue
from .tree import Block, Content, Node, Reference, SystemReference, Text

__all__ = ["MAX_PREVIEW_LENGTH", "PreviewedContent", "preview_content"]

MAX_PREVIEW_LENGTH = 4_194_304
"""The number of characters in a preview. Short references can mean long values."""

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
    the address of the recipient. `unlisted` are the violations of values that are not among the
    allowed values of their fields. The content shows them, and its conditions compare them.
    """

    content: str
    surface: Surface
    keys: tuple[str, ...]
    unlisted: tuple[Violation, ...]


def preview_content(
    content: Content,
    fields: Iterable[RecipientField],
    values: Mapping[str, object],
    *,
    surface: Surface | str | None = None,
    resolved: Mapping[str, str] | None = None,
    definitions: Mapping[str, str] | None = None,
    today: date | None = None,
) -> PreviewedContent:
    """Return the content for a recipient with these values, by the keys of the fields.

    In HTML, the values are escaped, so that a reader sees them. Without a `surface`, content with
    an HTML tag is `html`, and other content `text`. Defaults are written as they are, like the rest
    of the content. Expressions stay as they are, because only the ESP can evaluate them. Links, the
    sender and a missing address have stand-ins, such as `https://example.com/unsubscribe`.
    `resolved` is that of the ExportedContent whose preview this is, if any, and `definitions` are
    those of a RecipientSchema. `today` is the day of the year that `{{today.year}}` shows: without
    it, this stays.

    Raises: InvalidContent if a field is unknown, if a filter or a condition does not fit the
    fields, if the content has violations, or if the preview is too long; InvalidRecipient, with all
    violations, if `RecipientSchema.check` rejects values for another reason than that they are not
    allowed values; TypeError if the content is not parsed; ValueError if there is no such surface.
    """
    require_type(Iterable, fields=fields)
    require_type(Mapping, values=values)
    require_type(Mapping | None, resolved=resolved, definitions=definitions)
    require_type(date | None, today=today)
    by_key = {str(field.key): field for field in fields}
    resolver = FieldResolver(by_key, resolved)
    require_fields(content, resolver)
    if resolver.find(EMAIL_KEY) is own_email():
        values = {**values, EMAIL_KEY: values.get(EMAIL_KEY) or _EMAIL}
    schema = RecipientSchema({EMAIL_KEY: own_email(), **by_key}, definitions=definitions or {})
    recipient = RecipientValues.read(schema, values)
    surface = find_surface(content, surface)
    reader = _Reader(
        resolver=resolver,
        recipient=recipient,
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
        unlisted=recipient.unlisted,
    )


@frozen(kw_only=True)
class _Reader:
    """A reader of the content."""

    resolver: FieldResolver
    recipient: RecipientValues
    year: str
    escapes: bool

    def read(self, nodes: Iterable[Node]) -> Iterator[str]:
        """Yield the parts of the content that the recipient reads."""
        for node in nodes:
            match node:
                case Text():
                    yield node.text
                case Reference():
                    yield self._value(node)
                case SystemReference():
                    yield self.year if node.value is SystemValue.YEAR else _STAND_INS[node.value]
                case Block():
                    yield from self.read(self._shown(node))

    def _shown(self, block: Block) -> tuple[Node, ...]:
        """Return the nodes of the first branch whose condition is true."""
        for branch in block.branches:
            condition = branch.condition
            if condition is None or self.recipient.satisfy(self.resolver.resolve(condition)):
                return branch.nodes
        return ()

    def _value(self, reference: Reference) -> str:
        if reference.is_expression:
            return f"{{{{recipient.{reference.key} | expression}}}}"
        value = self.recipient.get(self.resolver.get(reference.key).key)
        if value is None:
            return reference.default or ""
        text = format_value(apply_filters(value, reference.filters))
        return escape(text) if self.escapes else text


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
