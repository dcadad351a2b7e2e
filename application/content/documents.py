"""The documents of exported content and compiled conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

from attrs import field, frozen

from recipient_fields.domain import (
    UNCHANGED,
    FieldKey,
    IntegrationId,
    InvalidInput,
    Rule,
    Unchanged,
    Violation,
    Violations,
    require_string,
)
from recipient_fields.domain.conditions import Condition, TextPosition, parse_condition
from recipient_fields.domain.content import (
    DEFAULT_STRICT,
    Content,
    ContentWarning,
    InvalidContent,
    PreviewedContent,
    Strict,
    Surface,
    WarningCode,
    WarningKind,
    read_content,
)
from recipient_fields.domain.esp import (
    BUILT_IN,
    MAX_LITERAL_LENGTH,
    MAX_LITERALS,
    ConditionCode,
    ConditionWarning,
    Esp,
    ExportedContent,
    ExportOptions,
    Profiles,
)

from ..conditions.documents import CONDITION_TREE, parse_condition_document
from ..documents.conversion import checked, parse_document
from ..documents.schemas import Schema, described, omittable, render_document
from ..documents.value_schemas import ID, RECIPIENT
from ..documents.violations import ErrorDetailDocument, violation_document
from .content import Target

__all__ = ["ConditionCompilation", "ContentExport", "ContentPreview"]

T = TypeVar("T")

MAX_CONTENT_LENGTH = 1_000_000
"""The maximum number of characters of content in a document, counted once per integration."""
MAX_EXPORTS = 20
"""The maximum number of integrations for which one document exports content."""
MAX_EXPORTS_LENGTH = 4_194_304
"""The number of characters that are exported for several integrations in all, as for one."""


@frozen
class ConditionCompilation:
    """A condition, the target of its code, and the texts that it selects."""

    condition: Condition
    target: Target
    then: str
    otherwise: str
    strict: Strict


_TARGET_ESP = described("The ESP that the code is for. Required without `integration_id`.")
_TARGET_INTEGRATION = described(
    "The integration that the code is for. Required if the organization has several with the ESP."
)


_STRICT = described(
    "What is rejected: mistakes (`mistakes`, the default), caveats, too (`true`), or neither"
    " (`false`)."
)


@frozen(kw_only=True)
class ConditionCompilationDocument:
    """A condition, and the texts that it selects.

    Members that were not sent are UNCHANGED: none can be null.
    """

    schema: ClassVar[Schema] = {
        "properties": {
            # No attribute can have this name.
            "else": {
                "type": "string",
                "description": "The text for all others. By default, it is empty.",
            }
        }
    }

    condition: object = field(
        metadata=described(
            "The condition, as text or as JSON.",
            {"oneOf": [{"type": "string", "minLength": 1}, CONDITION_TREE]},
        )
    )
    esp: Esp | Unchanged = field(default=UNCHANGED, metadata=_TARGET_ESP)
    integration_id: IntegrationId | Unchanged = field(
        default=UNCHANGED, metadata=_TARGET_INTEGRATION
    )
    then: str = field(metadata=described("The text for recipients who satisfy the condition."))
    strict: Strict = field(default=DEFAULT_STRICT, metadata=_STRICT)


_OTHER_PLACES = described("The other places of a caveat, which is reported once.")


@frozen(kw_only=True)
class ConditionWarningDocument:
    """A known case in which the ESP can read the code differently.

    The place is that of the first comparison.
    """

    kind: WarningKind
    code: WarningCode
    line: int | None = field(metadata=described("Null if the condition was sent as JSON."))
    column: int | None
    message: str
    places: Sequence[TextPosition] = field(metadata=_OTHER_PLACES)


@frozen(kw_only=True)
class CompiledConditionDocument:
    """A condition as code of an ESP."""

    esp: Esp
    code: str = field(metadata=described("The code that selects one of both texts."))
    prelude: str | None = field(
        metadata=described("Code that the content needs before the first use of `code`.")
    )
    caveats: Sequence[str] = field(
        metadata=described("Known cases in which the ESP can read the code differently.")
    )
    warnings: Sequence[ConditionWarningDocument] = field(
        metadata=described("The same cases with their kinds, codes and places.")
    )


_CONTENT = described(
    "Content with references and conditions: docs/content.md.", maxLength=MAX_CONTENT_LENGTH
)
_SURFACE = described(
    "Where the email shows the content. By default, content with an HTML tag is `html`, and other"
    " content `text`."
)
_KEYS = described(
    "The keys of the fields in it, in the order of their first use.",
    {"type": "array", "items": FieldKey},
)


_EVENT_NAMES = described(
    "The names of the event data in it, in the order of their first use, such as `items[0].name`."
)


@frozen
class ContentPreview:
    """Content, and the values of the recipient for whom it is shown, by the keys of fields.

    `event` has the values of event data by name.
    """

    content: Content
    recipient: Mapping[str, object]
    event: Mapping[str, object]
    surface: Surface | None


@frozen
class ContentExport:
    """Content, and the target of its code, or several integrations with one export each."""

    content: Content
    target: Target | tuple[IntegrationId, ...]
    options: ExportOptions


@frozen(kw_only=True)
class ContentExportDocument:
    """Content to export for an ESP.

    Members that were not sent are UNCHANGED: none can be null.
    """

    content: str = field(metadata=_CONTENT)
    esp: Esp | Unchanged = field(default=UNCHANGED, metadata=_TARGET_ESP)
    integration_id: IntegrationId | Unchanged = field(
        default=UNCHANGED, metadata=_TARGET_INTEGRATION
    )
    integration_ids: list[IntegrationId] | Unchanged = omittable(
        "Integrations that get one export each, in place of `esp` and `integration_id`. Their"
        f" number times the length of the content is at most {MAX_CONTENT_LENGTH:,}.",
        {"type": "array", "items": IntegrationId},
        minItems=1,
        maxItems=MAX_EXPORTS,
        uniqueItems=True,
    )
    surface: Surface | Unchanged = field(default=UNCHANGED, metadata=_SURFACE)
    raw: bool = field(
        default=False,
        metadata=described(
            "Whether the ESP shows HTML in values as it does, without escaping or unescaping. The"
            " default is `false`."
        ),
    )
    strict: Strict = field(default=DEFAULT_STRICT, metadata=_STRICT)
    literals: list[str] | Unchanged = omittable(
        "Texts that must stay as they are: there are no warnings about them.",
        {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": MAX_LITERAL_LENGTH},
        },
        maxItems=MAX_LITERALS,
    )
    sent_by: str | Unchanged = omittable(
        "The way in which the message is sent, if content has event data: such as"
        " `api_trigger_properties` for Braze. By default, it is the usual one of the ESP.",
        minLength=1,
        maxLength=100,
    )


@frozen(kw_only=True)
class ContentWarningDocument:
    """A place in the content that its writer should check."""

    kind: WarningKind
    code: WarningCode
    line: int = field(metadata=described(schema=ID))
    column: int = field(metadata=described(schema=ID))
    message: str
    places: Sequence[TextPosition] = field(metadata=_OTHER_PLACES)


@frozen(kw_only=True)
class ExportedContentDocument:
    """Content as code of an ESP."""

    content: str = field(metadata=described("The content with the code of the ESP."))
    surface: Surface
    warnings: Sequence[ContentWarningDocument]
    fields: Sequence[str] = field(metadata=_KEYS)
    event: Sequence[str] = field(metadata=_EVENT_NAMES)


@frozen(kw_only=True)
class ContentPreviewDocument:
    """Content to show for a recipient.

    Members that were not sent are UNCHANGED: none can be null.
    """

    content: str = field(metadata=_CONTENT)
    recipient: Mapping[str, object] = field(metadata=described(schema=RECIPIENT))
    event: Mapping[str, object] | Unchanged = omittable(
        "The event data that content shows.", {"type": "object"}
    )
    surface: Surface | Unchanged = field(default=UNCHANGED, metadata=_SURFACE)


@frozen(kw_only=True)
class PreviewedContentDocument:
    """What the recipient reads."""

    content: str = field(
        metadata=described("The content with the values. In HTML, the values are escaped.")
    )
    surface: Surface
    warnings: Sequence[ContentWarningDocument]
    fields: Sequence[str] = field(metadata=_KEYS)
    event: Sequence[str] = field(metadata=_EVENT_NAMES)
    unlisted_values: Sequence[ErrorDetailDocument] = field(
        metadata=described(
            "The values of the recipient that are not allowed values of their fields. The content"
            " shows them, and its conditions compare them."
        )
    )


def parse_condition_compilation(
    document: object, profiles: Profiles = BUILT_IN
) -> ConditionCompilation:
    """Return the input of `{"condition", "esp" or "integration_id", "then", "else", "strict"}`.

    The condition is text or a tree. Without `else`, that text is empty.

    Raises: InvalidDocument with all violations.
    """
    with checked(document) as violations:
        document, otherwise = _split_else(document, violations)
        members = parse_document(document, ConditionCompilationDocument, profiles=profiles)
        with violations.collect("condition"):
            condition = _parse_condition(members.condition)
        with violations.collect():
            target = sent_target(members.esp, members.integration_id)
    return ConditionCompilation(condition, target, members.then, otherwise, members.strict)


def render_condition_code(esp: Esp, code: ConditionCode) -> dict[str, object]:
    """Return the document of a compiled condition."""
    return render_document(
        CompiledConditionDocument(
            esp=esp,
            code=code.code,
            prelude=code.prelude,
            caveats=code.caveats,
            warnings=tuple(map(_condition_warning, code.warnings)),
        )
    )


def parse_content_export(document: object, profiles: Profiles = BUILT_IN) -> ContentExport:
    """Return the input of `{"content", "strict"}` with one member that is or has the targets.

    This is `esp`, `integration_id` or `integration_ids`.

    Raises: InvalidDocument with all violations.
    """
    with checked(document) as violations:
        members = parse_document(document, ContentExportDocument, profiles=profiles)
        with violations.collect():
            target = _export_target(members)
        with violations.collect():
            options = ExportOptions(
                surface=sent(members.surface),
                raw=members.raw,
                strict=members.strict,
                literals=sent(members.literals) or (),
                sent_by=sent(members.sent_by),
            )
        with violations.collect("content"):
            content = _read_content(members.content)
            if violations:
                violations.extend(each.prefixed("content") for each in content.violations)
    return ContentExport(content, target, options)


def parse_content_preview(document: object) -> ContentPreview:
    """Return the input of `{"content", "recipient", "event", "surface"}`.

    Raises: InvalidDocument with all violations.
    """
    with checked(document) as violations:
        members = parse_document(document, ContentPreviewDocument)
        with violations.collect("content"):
            content = _read_content(members.content)
    event = sent(members.event) or {}
    return ContentPreview(content, members.recipient, event, sent(members.surface))


def render_content_preview(preview: ContentPreview, shown: PreviewedContent) -> dict[str, object]:
    """Return the document of what the recipient reads."""
    return render_document(
        PreviewedContentDocument(
            content=shown.content,
            surface=shown.surface,
            warnings=tuple(map(warning_document, preview.content.warnings)),
            fields=shown.keys,
            event=shown.event,
            unlisted_values=tuple(
                violation_document(each.prefixed("recipient")) for each in shown.unlisted
            ),
        )
    )


def exported_content_document(exported: ExportedContent) -> ExportedContentDocument:
    """Return the document of exported content."""
    return ExportedContentDocument(
        content=exported.content,
        surface=exported.surface,
        warnings=tuple(map(warning_document, exported.warnings)),
        fields=exported.keys,
        event=exported.event,
    )


def warning_document(warning: ContentWarning) -> ContentWarningDocument:
    """Return the document of a warning."""
    return ContentWarningDocument(
        kind=warning.code.kind,
        code=warning.code,
        line=warning.line,
        column=warning.column,
        message=warning.message,
        places=warning.places,
    )


def _condition_warning(warning: ConditionWarning) -> ConditionWarningDocument:
    first = warning.places[0] if warning.places else None
    return ConditionWarningDocument(
        kind=warning.code.kind,
        code=warning.code,
        line=None if first is None else first.line,
        column=None if first is None else first.column,
        message=warning.message,
        places=warning.places[1:],
    )


def parse_target(esp: Esp | None, integration_id: IntegrationId | None) -> Target:
    """Return the argument that is not None. Raises: InvalidInput unless exactly one is not."""
    if esp is None and integration_id is None:
        raise InvalidInput(
            [Violation(Rule.REQUIRED, "Add this member or `integration_id`.", ("esp",))]
        )
    if esp is not None and integration_id is not None:
        message = "Send either `esp` or `integration_id`."
        raise InvalidInput([Violation(Rule.NOT_APPLICABLE, message, ("integration_id",))])
    return integration_id if esp is None else esp  # type: ignore[return-value]


def sent_target(esp: Esp | Unchanged, integration_id: IntegrationId | Unchanged) -> Target:
    """Return the one of both members that was sent. Raises: InvalidInput, as `parse_target`."""
    return parse_target(sent(esp), sent(integration_id))


def sent(value: T | Unchanged) -> T | None:
    """Return the value of a member, or None if it was not sent."""
    return None if isinstance(value, Unchanged) else value


def _export_target(members: ContentExportDocument) -> Target | tuple[IntegrationId, ...]:
    """Return the target or the targets of an export. Raises: InvalidInput with all violations."""
    if isinstance(members.integration_ids, Unchanged):
        return sent_target(members.esp, members.integration_id)
    ids = members.integration_ids
    violations = Violations(
        Violation(Rule.DUPLICATE_ITEM, "Each integration may be listed once.", (index,))
        for index, each in enumerate(ids[:MAX_EXPORTS])
        if each in ids[:index]
    )
    most = min(MAX_EXPORTS, MAX_CONTENT_LENGTH // max(1, len(members.content)))
    if not (members.esp is members.integration_id is UNCHANGED):
        message = "Send either `integration_ids`, `integration_id` or `esp`."
        violations.append(Violation(Rule.NOT_APPLICABLE, message))
    if not ids:
        violations.append(Violation(Rule.EMPTY, "List at least one integration."))
    elif len(ids) > MAX_EXPORTS:
        message = f"List at most {MAX_EXPORTS} integrations."
        violations.append(Violation(Rule.TOO_MANY_ITEMS, message))
    elif len(ids) > most:
        message = f"List at most {most} integrations per request for content of this length."
        violations.append(Violation(Rule.TOO_LARGE, message))
    if violations:
        raise InvalidInput(each.prefixed("integration_ids") for each in violations)
    return tuple(ids)


def _split_else(document: object, violations: Violations) -> tuple[object, str]:
    """Return the document without the member `else`, which can't be an attribute, and its text."""
    otherwise = ""
    if isinstance(document, dict) and "else" in document:
        with violations.collect("else"):
            otherwise = require_string(document["else"])
        document = {name: value for name, value in document.items() if name != "else"}
    return document, otherwise


def _parse_condition(condition: object) -> Condition:
    if isinstance(condition, str):
        return parse_condition(condition)
    return parse_condition_document(condition)


def _read_content(content: str) -> Content:
    """Return the content. The use cases report its violations, with its unknown keys."""
    if len(content) > MAX_CONTENT_LENGTH:
        message = f"Send at most {MAX_CONTENT_LENGTH:,} characters."
        raise InvalidContent([TextPosition(1, 1).locate(Violation(Rule.TOO_LONG, message))])
    return read_content(content)
