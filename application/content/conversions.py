"""The documents of converted templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import ClassVar, Literal

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    UNCHANGED,
    AllowedValues,
    DataType,
    FieldDraft,
    IntegrationId,
    InvalidInput,
    RecipientFieldsError,
    Rule,
    Unchanged,
    Violation,
    Violations,
    require_string,
)
from recipient_fields.domain.content import Surface
from recipient_fields.domain.esp import (
    BUILT_IN,
    PORTABLE,
    Bare,
    Esp,
    MissingProfile,
    NoSafeForm,
    Profiles,
)
from recipient_fields.domain.integrations import (
    Conversion,
    ConversionOptions,
    ConvertedTag,
    FieldCodes,
    IntegrationNotFound,
    IntegrationRequired,
    Outcome,
    UsedField,
    convert,
)

from ..documents.conversion import InvalidDocument, checked, parse_document
from ..documents.schemas import Schema, described, omittable, render_document
from ..documents.value_schemas import ID
from ..fields.fields_as_code import render_draft_document
from .content import Target
from .documents import (
    MAX_CONTENT_LENGTH,
    ContentWarningDocument,
    sent,
    sent_target,
    warning_document,
)

_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}


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
    unused_names: Sequence[str] = field(
        metadata=described("The names in `names` that the template does not have.")
    )
    warnings: Sequence[ContentWarningDocument]


SOURCE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"esp": {"type": "string"}, "integration_id": ID},
    "minProperties": 1,
    "maxProperties": 1,
}
"""The language of a template."""
TARGET: Schema = {"oneOf": [{"const": PORTABLE}, SOURCE]}
"""The language to write."""


@frozen(kw_only=True)
class ContentConversionDocument:
    """A template to convert. Members that were not sent are UNCHANGED: none can be null."""

    schema: ClassVar[Schema] = {
        "required": ["from"],
        "properties": {
            # No attribute can have this name.
            "from": {**SOURCE, "description": "The ESP or the integration of the template."}
        },
    }

    content: str = field(metadata=described("The template.", maxLength=MAX_CONTENT_LENGTH))
    to: object = field(metadata=described("The ESP or the integration to write for.", TARGET))
    names: Mapping[str, object] = field(
        factory=dict,
        metadata=described("The keys that names at the source mean.", _TEXTS),
    )
    values: Mapping[str, object] = field(
        factory=dict,
        metadata=described(
            "A text, or one tag of the other ESP, for each value that it lacks, by names such as"
            " `sender.name`.",
            _TEXTS,
        ),
    )
    surface: Surface | Unchanged = omittable(
        "Where the email shows it. By default, a text with an HTML tag is `html`."
    )
    exact: bool = field(
        default=False,
        metadata=described(
            "Whether tests of values stay by hand if no code is right for each type that the values"
            " can have. The default is `false`."
        ),
    )
    sent_by: str | Unchanged = omittable("How the other ESP sends the message, as in an export.")
    sent_by_source: str | Unchanged = omittable(
        "How the source sends the message, if it has several ways."
    )
    bare: Bare | Unchanged = omittable(
        "What a name means that can be a field or event data. By default, it stays by hand."
    )
    strict: bool = field(
        default=False,
        metadata=described(
            "Whether tags by hand and caveats are rejected. The default is `false`."
        ),
    )


@frozen(kw_only=True)
class _TargetDocument:
    esp: Esp | Unchanged = UNCHANGED
    integration_id: IntegrationId | Unchanged = UNCHANGED


@frozen(kw_only=True)
class ContentConversion:
    """A template to convert."""

    content: str
    read: Target
    write: Target | Literal["portable"]
    options: ConversionOptions

    def convert(self, codes: FieldCodes) -> Conversion:
        """Return the template in the other language, with the names of an organization.

        Raises: InvalidDocument if it has no such integration, or if the target reads a value as
        code; InvalidContent, as `convert` does.
        """
        violations = Violations()
        for name, target in (("from", self.read), ("to", self.write)):
            try:
                if target != PORTABLE:
                    codes.names.resolve_target(target)
            except tuple(_RULES) as error:
                violations.append(
                    Violation(_RULES[type(error)], str(error), (name, "integration_id"))
                )
        if violations:
            raise InvalidDocument(violations)
        try:
            return convert(
                self.content,
                read=self.read,
                write=self.write,
                options=self.options,
                codes=codes,
            )
        except NoSafeForm as error:
            raise InvalidDocument(error.violations) from None


def parse_content_conversion(document: object, profiles: Profiles = BUILT_IN) -> ContentConversion:
    """Return the input of `{"content", "from", "to"}` and the options.

    Raises: InvalidDocument with all violations.
    """
    with checked(document) as violations:
        source: object = _ABSENT
        if isinstance(document, dict):
            source = document.get("from", _ABSENT)
            document = {name: value for name, value in document.items() if name != "from"}
        with violations.collect("from"):
            read = _parse_target(source, profiles)
            if read == PORTABLE:
                raise InvalidInput([Violation(Rule.UNKNOWN_VALUE, _NO_SOURCE)])
        members = parse_document(document, ContentConversionDocument, profiles=profiles)
        with violations.collect("to"):
            write = _parse_target(members.to, profiles)
        with violations.collect("content"):
            if len(members.content) > MAX_CONTENT_LENGTH:
                message = f"Send at most {MAX_CONTENT_LENGTH:,} characters."
                raise InvalidInput([Violation(Rule.TOO_LONG, message)])
        with violations.collect():
            options = ConversionOptions(
                names=_texts("names", members.names),
                values=_texts("values", members.values),
                surface=sent(members.surface),
                exact=members.exact,
                strict=members.strict,
                sent_by=sent(members.sent_by),
                sent_by_source=sent(members.sent_by_source),
                bare=sent(members.bare),
            )
    return ContentConversion(
        content=members.content,
        read=read,
        write=write,
        options=options,
    )


_RULES: Mapping[type[RecipientFieldsError], Rule] = {
    IntegrationNotFound: Rule.UNKNOWN_VALUE,
    IntegrationRequired: Rule.REQUIRED,
    MissingProfile: Rule.NOT_APPLICABLE,
}
"""The rules that targets break, by the errors, as in exports."""
_ABSENT = object()
_NO_SOURCE = "Content is exported, not converted. Send an ESP."
_REQUIRED = 'Add this member, such as {"esp": "braze"}.'


def _parse_target(target: object, profiles: Profiles) -> Target | Literal["portable"]:
    if target is _ABSENT:
        raise InvalidInput([Violation(Rule.REQUIRED, _REQUIRED)])
    if target == PORTABLE:
        return PORTABLE
    members = parse_document(target, _TargetDocument, profiles=profiles)
    return sent_target(members.esp, members.integration_id)


def _texts(name: str, members: Mapping[str, object]) -> Mapping[str, str]:
    violations = Violations()
    texts: dict[str, str] = {}
    for key, value in members.items():
        with violations.collect(name, key):
            texts[key] = require_string(value)
    if violations:
        raise InvalidInput(violations)
    return texts


def render_conversion(conversion: Conversion, *, name: str | None = None) -> dict[str, object]:
    """Return the document of a converted template, with the name of its file if it has one."""
    counted = {outcome.value: count for outcome, count in conversion.counts.items()}
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
        unused_names=conversion.unused_names,
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
    conversions: Iterable[Conversion], integration: Mapping[str, str], *, with_values: bool
) -> dict[str, object]:
    """Return the document of the fields that templates use, with their names at the source.

    `integration` has the name and the ESP of the source.
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
    return {**document, "integrations": [{**integration, "names": names}]} if names else document


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
