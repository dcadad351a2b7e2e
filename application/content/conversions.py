"""The documents of converted templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from attrs import evolve, field, frozen

from recipient_fields.domain import AllowedValues, DataType, FieldDraft
from recipient_fields.domain.esp import Profile
from recipient_fields.domain.integrations import Conversion, ConvertedTag, Outcome, UsedField

from ..documents.schemas import described, render_document
from ..fields.fields_as_code import render_draft_document
from .documents import ContentWarningDocument, warning_document

__all__ = ["ConversionDocument"]


@frozen(kw_only=True)
class ConvertedTagDocument:
    """A tag of the template, and what happened to it. Tolerate additional members."""

    line: int
    column: int
    tag: str
    reasons: Sequence[str] = field(
        metadata=described("Why the tag is by hand, and what to do, or the values that differ.")
    )


@frozen(kw_only=True)
class OutcomesDocument:
    """The number of tags by what happened to them."""

    converted: int
    caveat: int
    dropped: int
    by_hand: int
    consequence: int


@frozen(kw_only=True)
class UsedFieldDocument:
    """A field that the template uses. Tolerate additional members."""

    key: str
    name: str = field(metadata=described("Its name at the source."))
    data_type: DataType


@frozen(kw_only=True)
class ConversionDocument:
    """A converted template. Tolerate additional members."""

    content: str
    tags: OutcomesDocument
    by_hand: Sequence[ConvertedTagDocument] = field(
        metadata=described("The tags that stay as they are, without those in blocks by hand.")
    )
    caveats: Sequence[ConvertedTagDocument]
    dropped: Sequence[ConvertedTagDocument]
    fields: Sequence[UsedFieldDocument]
    warnings: Sequence[ContentWarningDocument]


def render_conversion(conversion: Conversion, *, name: str | None = None) -> dict[str, object]:
    """Return the document of a converted template, with the name of its file if it has one."""
    counted = {outcome.value: count for outcome, count in conversion.count().items()}
    document = ConversionDocument(
        content=conversion.content,
        tags=OutcomesDocument(**counted),
        by_hand=_tags(conversion, Outcome.BY_HAND),
        caveats=_tags(conversion, Outcome.CAVEAT),
        dropped=_tags(conversion, Outcome.DROPPED),
        fields=[
            UsedFieldDocument(key=each.key, name=each.name, data_type=each.data_type)
            for each in conversion.fields
        ],
        warnings=[warning_document(each) for each in conversion.warnings],
    )
    rendered = render_document(document)
    return rendered if name is None else {"name": name, **rendered}


def _tags(conversion: Conversion, outcome: Outcome) -> Sequence[ConvertedTagDocument]:
    return [_tag(each) for each in conversion.tags if each.outcome is outcome]


def _tag(tag: ConvertedTag) -> ConvertedTagDocument:
    return ConvertedTagDocument(
        line=tag.position.line, column=tag.position.column, tag=tag.text, reasons=tag.reasons
    )


def render_used_fields(
    conversions: Iterable[Conversion], source: Profile, *, with_values: bool
) -> dict[str, object]:
    """Return the document of the fields that templates use, with their names at the source.

    If `with_values` is true, the values that the templates compare with are the allowed ones.
    """
    used = merge_used(conversions)
    document = render_draft_document(
        FieldDraft(
            name=each.name,
            key=each.key,
            data_type=each.data_type,
            allowed_values=_allowed(each) if with_values else None,
        )
        for each in used
    )
    names = {each.key: each.name for each in used}
    integration = {"name": source.title, "esp": str(source.esp), "names": names}
    return {**document, "integrations": [integration]} if names else document


def merge_used(conversions: Iterable[Conversion]) -> Sequence[UsedField]:
    """Return the fields of several templates, with all values. The first type applies."""
    merged: dict[str, UsedField] = {}
    for each in chain.from_iterable(conversion.fields for conversion in conversions):
        known = merged.setdefault(each.key, each)
        values = tuple(dict.fromkeys((*known.values, *each.values)))
        merged[each.key] = evolve(known, values=values)
    return tuple(merged.values())


def _allowed(used: UsedField) -> AllowedValues | None:
    if not used.values or used.data_type is DataType.BOOLEAN:
        return None
    return AllowedValues(used.data_type, used.values)
