"""The preview of content: what a recipient reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from html import escape

from attrs import frozen

from ..arguments import require_type
from ..conditions import InvalidRecipient, Value, evaluate, read_value
from ..errors import Rule, Violation
from ..fields.field import RecipientField
from ..instants import format_instant
from ..suggestions import closest_match
from .checks import require_fields
from .errors import InvalidContent
from .filters import apply_filters
from .resolution import EMAIL_KEY, FieldResolver, own_email
from .surfaces import Surface, find_surface
from .system_values import SystemValue
from .tree import Block, Content, Node, Reference, SystemReference, Text

__all__ = ["MAX_PREVIEW_LENGTH", "preview_content", "require_known_keys"]

MAX_PREVIEW_LENGTH = 4_194_304
"""The number of characters in a preview. Short references can mean long values."""
_MAX_SUGGESTIONS = 20
"""Violations of a recipient. The search for a suggestion takes up to 10 ms."""

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


def preview_content(
    content: Content,
    fields: Iterable[RecipientField],
    values: Mapping[str, object],
    *,
    surface: Surface | str | None = None,
    resolved: Mapping[str, str] | None = None,
    today: date | None = None,
) -> str:
    """Return the content for a recipient with these values, by the keys of the fields.

    In HTML, the values are escaped, so that a reader sees them. Without a `surface`, content with
    an HTML tag is `html`, and other content `text`. Defaults are written as they are, like the rest
    of the content. `values` has the form that `evaluate` accepts. Expressions stay as they are,
    because only the ESP can evaluate them. Links, the sender and a missing address have stand-ins,
    such as `https://example.com/unsubscribe`. `resolved` is that of the ExportedContent whose
    preview this is, if any. `today` is the day of the year that `{{today.year}}` shows: without it,
    this stays.

    Raises: InvalidContent if a field is unknown, if a filter or a condition does not fit the
    fields, if the content has violations, or if the preview is too long; InvalidRecipient if a
    value has another type than its field; TypeError if the content is not parsed; ValueError if
    there is no such surface.
    """
    require_type(Iterable, fields=fields)
    require_type(Mapping, values=values)
    require_type(Mapping | None, resolved=resolved)
    require_type(date | None, today=today)
    resolver = FieldResolver({str(field.key): field for field in fields}, resolved)
    require_fields(content, resolver)
    if resolver.find(EMAIL_KEY) is own_email() and values.get(EMAIL_KEY) in (None, ""):
        values = {**values, EMAIL_KEY: _EMAIL}
    recipient = _Recipient(
        resolver=resolver,
        values=values,
        year=str(SystemValue.YEAR) if today is None else f"{today.year:04}",
        escapes=find_surface(content, surface) is Surface.HTML,
    )
    parts: list[str] = []
    length = 0
    for part in recipient.read(content.nodes):
        length += len(part)
        if length > MAX_PREVIEW_LENGTH:
            message = f"The preview would have more than {MAX_PREVIEW_LENGTH:,} characters."
            raise InvalidContent([content.lines.violation(0, Rule.TOO_LONG, message)])
        parts.append(part)
    return "".join(parts)


def require_known_keys(values: Mapping[str, object], fields: Iterable[RecipientField]) -> None:
    """Check that each value belongs to a field, or is the address of the recipient.

    Raises: InvalidRecipient with a violation for each other key.
    """
    require_type(Mapping, values=values)
    require_type(Iterable, fields=fields)
    known = {EMAIL_KEY, *(str(field.key) for field in fields)}
    unknown = [key for key in values if key not in known]
    if unknown:
        message = "There is no recipient field with this key."
        raise InvalidRecipient(
            Violation(
                Rule.UNKNOWN_FIELD,
                message,
                (key,),
                closest_match(key, known) if index < _MAX_SUGGESTIONS else None,
            )
            for index, key in enumerate(unknown)
        )


@frozen(kw_only=True)
class _Recipient:
    """A reader of the content."""

    resolver: FieldResolver
    values: Mapping[str, object]
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
            if condition is None or evaluate(
                self.resolver.resolve(condition), self.resolver.fields_of(condition), self.values
            ):
                return branch.nodes
        return ()

    def _value(self, reference: Reference) -> str:
        if reference.is_expression:
            return f"{{{{recipient.{reference.key} | expression}}}}"
        field = self.resolver.get(reference.key)
        value = read_value(str(field.key), field.data_type, self.values.get(str(field.key)))
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
