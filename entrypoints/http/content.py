"""The resources that return code for ESPs. They store nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from attrs import asdict, field, frozen
from falcon import Request, Response

from recipient_fields.application import ContentService, IntegrationExport, InvalidDocument
from recipient_fields.application.content.code_documents import (
    FieldCodeListDocument,
    MergeTagListDocument,
    render_codes,
    render_merge_tags,
)
from recipient_fields.application.content.conversions import (
    ContentConversionDocument,
    ConversionDocument,
    parse_content_conversion,
    render_conversion,
)
from recipient_fields.application.content.documents import (
    MAX_EXPORTS_LENGTH,
    CompiledConditionDocument,
    ConditionCompilationDocument,
    ContentExportDocument,
    ContentPreviewDocument,
    ContentWarningDocument,
    ExportedContentDocument,
    PreviewedContentDocument,
    exported_content_document,
    parse_condition_compilation,
    parse_content_export,
    parse_content_preview,
    render_condition_code,
    render_content_preview,
)
from recipient_fields.application.documents.schemas import described, render_document
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.texts import parse_reference
from recipient_fields.domain import FieldKey, IntegrationId, InvalidInput, Rule, Violation
from recipient_fields.domain.content import InvalidContent, Surface
from recipient_fields.domain.esp import Esp, ExportedContent, MissingProfile, NotExpressible
from recipient_fields.domain.integrations import IntegrationNotFound, IntegrationRequired

from .fields.resources import ID_OR_KEY
from .heavy_requests import HEAVY_BODY_SIZE, HeavyRequests, LargeBodies
from .problems import FailureDocument, RequestRejected, failure_document
from .requests import (
    credential,
    invalid_value,
    parameters,
    parse_members,
    read_json,
)
from .resource import (
    ID_PARAMETER,
    KIBIBYTE,
    MEBIBYTE,
    Body,
    Parameter,
    PathParameter,
    Resource,
    Result,
    Tag,
    one_of,
    operation,
    parse_integration_id,
)
from .responses import ReadResponse, ResponseCache

FIRST_NAME_CODES: Mapping[str, object] = {
    "codes": [
        {
            "esp": "mailchimp",
            "integration_id": 1,
            "integration_name": "Main list",
            "esp_field_name": "FNAME",
            "name_from": "sync",
            "state": "found",
            "similar_names": [],
            "insertion_code": "*|FNAME|*",
            "insertion_code_with_default": "*|IF:FNAME|**|FNAME|**|ELSE:|*DEFAULT*|END:IF|*",
            "value_expression": "FNAME",
            "prelude": None,
            "refusal": None,
        },
        {
            "esp": "sfmc",
            "integration_id": None,
            "integration_name": None,
            "esp_field_name": "fname",
            "name_from": "convention",
            "state": "unknown",
            "similar_names": [],
            "insertion_code": "%%=v(@fname)=%%",
            "insertion_code_with_default": '%%=IIf(Empty(@fname), "DEFAULT", @fname)=%%',
            "value_expression": "@fname",
            "prelude": '%%[ SET @fname = AttributeValue("fname") ]%%',
            "refusal": None,
        },
    ]
}
"""The first of the codes of the field `first_name`."""


MERGE_TAGS: Mapping[str, object] = {
    "merge_tags": [
        {
            "key": "first_name",
            "name": "First name",
            "reference": "{{recipient.first_name}}",
            "state": "found",
            "insertion_code": "*|FNAME|*",
            "insertion_code_with_default": "*|IF:FNAME|**|FNAME|**|ELSE:|*DEFAULT*|END:IF|*",
            "prelude": None,
            "refusal": None,
        },
        {
            "key": "link.unsubscribe",
            "name": "Unsubscribe",
            "reference": "{{link.unsubscribe}}",
            "state": None,
            "insertion_code": "*|UNSUB|*",
            "insertion_code_with_default": None,
            "prelude": None,
            "refusal": None,
        },
    ]
}
"""A field and a link of Mailchimp."""


@frozen(kw_only=True)
class IntegrationExportDocument:
    """The content for one integration, or the error for which there is none."""

    integration_id: IntegrationId
    content: str | None = field(metadata=described("null if the export failed."))
    surface: Surface | None = field(default=None, metadata=described("null if the export failed."))
    warnings: Sequence[ContentWarningDocument] = ()
    fields: Sequence[str] = field(
        default=(),
        metadata=described(
            "The keys of the fields in it, in the order of their first use.",
            {"type": "array", "items": FieldKey},
        ),
    )
    event: Sequence[str] = field(
        default=(), metadata=described("The names of the event data in it.")
    )
    error: FailureDocument | None = field(
        default=None, metadata=described("null unless the export failed.")
    )


@frozen
class IntegrationExportListDocument:
    """One export per integration, in the order of the request."""

    exports: Sequence[IntegrationExportDocument]


def render_exports(exports: Iterable[IntegrationExport]) -> dict[str, object]:
    """Return the document of the exports, which are consumed one by one.

    An export that would make the result too long is replaced by an error, so the memory for the
    response is limited.
    """
    return render_document(IntegrationExportListDocument(tuple(_documents(exports))))


def _documents(exports: Iterable[IntegrationExport]) -> Iterator[IntegrationExportDocument]:
    left = MAX_EXPORTS_LENGTH
    for index, export in enumerate(exports):
        exported = export.outcome
        if not isinstance(exported, ExportedContent):
            yield _failed(export, _located(exported, index))
        elif len(exported.content) > left:
            message = (
                f"The exports of this request would have more than {MAX_EXPORTS_LENGTH:,}"
                " characters. Export for this integration in another request."
            )
            yield _failed(export, _invalid(Rule.TOO_LARGE, message, index))
        else:
            left -= len(exported.content)
            members = asdict(exported_content_document(exported), recurse=False)
            yield IntegrationExportDocument(integration_id=export.integration_id, **members)


def _failed(export: IntegrationExport, error: InvalidInput) -> IntegrationExportDocument:
    return IntegrationExportDocument(
        integration_id=export.integration_id, content=None, error=failure_document(error)
    )


def _located(
    error: InvalidContent | IntegrationNotFound | MissingProfile, index: int
) -> InvalidInput:
    """Return the error with the place of the integration in the request, unless it has another."""
    if isinstance(error, InvalidContent):
        return error
    return _invalid(error.rule, str(error), index)


def _invalid(rule: Rule, message: str, index: int) -> InvalidDocument:
    return InvalidDocument([Violation(rule, message, ("integration_ids", index))])


_TAG = Tag("Content", "Fields, conditions and content as code for ESPs.")
_FIRST_NAME = ExportedContent(
    content="Dear *|FNAME|*",
    surface=Surface.TEXT,
    warnings=(),
    keys=("first_name",),
    resolved={},
)
"""An export for Mailchimp."""


@frozen
class FieldCodes(Resource):
    """`/api/v1/recipient_fields/{id_or_key}/codes`."""

    path_parameters: ClassVar[Mapping[str, PathParameter]] = {"id_or_key": ID_OR_KEY}

    service: ContentService
    cache: ResponseCache
    heavy: HeavyRequests

    @operation(
        "list_codes_of_recipient_field",
        _TAG,
        Result(
            description="The codes at each integration, by id, and then at each other ESP.",
            document=FieldCodeListDocument,
            examples={"first_name": FIRST_NAME_CODES},
        ),
        is_conditional=True,
    )
    def on_get(self, req: Request, resp: Response, id_or_key: str) -> None:
        """List the codes of a field.

        What the field is called at each integration of the organization, and its codes there. Then
        the same for each ESP with which the organization has no integration. The `ETag` is that of
        the list of fields.
        """

        def render() -> ReadResponse:
            reference = parse_reference(id_or_key)
            listed = self.service.list_codes(credential(req).organization_id, reference)
            return ReadResponse(listed.version_tag, render_json(render_codes(listed)))

        self.cache.send(req, resp, render, self.heavy)


_TARGET_PARAMETERS = {
    "esp": Parameter(
        description="An ESP. The organization has at most one integration with it.",
        schema=Esp,
        parse=lambda text: {"target": Esp(text)},
    ),
    "integration_id": Parameter(
        description="An integration, for an organization that has several with its ESP.",
        schema=ID_PARAMETER,
        parse=lambda text: {"target": parse_integration_id(text)},
        rule="use the id of an integration, such as `1`.",
    ),
}


@frozen
class MergeTags(Resource):
    """`/api/v1/merge_tags`."""

    parameters: ClassVar[Mapping[str, Parameter]] = _TARGET_PARAMETERS

    service: ContentService
    cache: ResponseCache
    heavy: HeavyRequests

    @operation(
        "list_merge_tags",
        _TAG,
        Result(
            description="The insertable fields, by ascending id, and then the links.",
            document=MergeTagListDocument,
            examples={"mailchimp": MERGE_TAGS},
        ),
        is_conditional=True,
    )
    def on_get(self, req: Request, resp: Response) -> None:
        """List the merge tags of an ESP.

        What an editor of emails can insert: the fields as a person sees them, and the links of the
        ESP. Send either `esp` or `integration_id`. The `ETag` is that of the list of fields.
        """
        sent = parameters(req)
        if len(sent) != 1:
            raise RequestRejected("invalid_parameter", "Send either `esp` or `integration_id`.")
        target = parse_members(sent, _TARGET_PARAMETERS)["target"]
        profiles = self.service.profiles
        if "esp" in sent and target not in profiles:
            raise invalid_value("esp", f"use {one_of(profiles.esps)}.")

        def render() -> ReadResponse:
            try:
                tags = self.service.list_merge_tags(credential(req).organization_id, target)
            except (IntegrationNotFound, IntegrationRequired, MissingProfile) as error:
                raise RequestRejected("invalid_parameter", str(error)) from None
            return ReadResponse(tags.version_tag, render_json(render_merge_tags(tags)))

        self.cache.send(req, resp, render, self.heavy)


@frozen
class ConditionCompilations(Resource):
    """`/api/v1/condition_compilations`."""

    max_body_size: ClassVar[int] = 64 * KIBIBYTE
    requires_write: ClassVar[bool] = False

    service: ContentService
    heavy: HeavyRequests

    @operation(
        "compile_condition",
        _TAG,
        Result(
            description="The code of the ESP.",
            document=CompiledConditionDocument,
            examples={
                "gold": {
                    "esp": "braze",
                    "code": (
                        '{% if custom_attribute.${loyalty_tier} == "gold" %}Thank you!'
                        "{% else %}Hello.{% endif %}"
                    ),
                    "prelude": None,
                    "caveats": [],
                    "warnings": [],
                }
            },
        ),
        body=Body(
            document=ConditionCompilationDocument,
            examples={
                "gold": {
                    "condition": 'loyalty_tier = "gold"',
                    "esp": "braze",
                    "then": "Thank you!",
                    "else": "Hello.",
                }
            },
        ),
        errors=(NotExpressible,),
    )
    def on_post(self, req: Request, resp: Response) -> None:
        """Compile a condition.

        The body has at most 64 KiB. If the ESP can't express the condition, or if its code has
        mistakes that `strict` rejects, the response is 422 `not_expressible`. Read-only API keys
        can send this request.
        """
        compilation = parse_condition_compilation(read_json(req, self), self.service.profiles)
        with self.heavy.reading_catalog(credential(req)):
            esp, code = self.service.compile_condition(
                credential(req).organization_id,
                compilation.condition,
                compilation.target,
                then=compilation.then,
                otherwise=compilation.otherwise,
                strict=compilation.strict,
            )
        resp.data = render_json(render_condition_code(esp, code))


@frozen
class ContentExports(LargeBodies):
    """`/api/v1/content_exports`."""

    max_body_size: ClassVar[int] = 4 * MEBIBYTE

    @operation(
        "export_content",
        _TAG,
        Result(
            description="The content with the code of the ESP, or one export per integration.",
            document=ExportedContentDocument | IntegrationExportListDocument,
            examples={
                "tier": {
                    "content": "Your tier: {{custom_attribute.${loyalty_tier}}}.",
                    "surface": "text",
                    "warnings": [],
                    "fields": ["loyalty_tier"],
                    "event": [],
                },
                "each_integration": render_exports(
                    [
                        IntegrationExport(IntegrationId(1), _FIRST_NAME),
                        IntegrationExport(IntegrationId(2), IntegrationNotFound()),
                    ]
                ),
            },
        ),
        body=Body(
            document=ContentExportDocument,
            examples={
                "tier": {
                    "content": "Your tier: {{recipient.loyalty_tier}}.",
                    "esp": "braze",
                },
                "each_integration": {
                    "content": "Dear {{recipient.first_name}}",
                    "integration_ids": [1, 2],
                },
            },
        ),
    )
    def on_post(self, req: Request, resp: Response) -> None:
        """Export content.

        The body has at most 4 MiB. Each violation of the content has a `line` and a `column`. A
        mistake is a violation, unless `strict` is false. With `integration_ids`, the response has
        one export per integration, with the `error` of each that fails. Read-only API keys can send
        this request.
        """
        organization_id = credential(req).organization_id
        with self.reading(req) as (request, body):
            export = parse_content_export(body, self.service.profiles)
            if isinstance(export.target, tuple):
                length = len(export.content.source)
                request.require_slot_above(HEAVY_BODY_SIZE, [length * len(export.target)])
                exports = self.service.export_for_integrations(
                    organization_id, export.content, export.target, export.options
                )
                document = render_exports(exports)
            else:
                exported = self.service.export_content(
                    organization_id, export.content, export.target, export.options
                )
                document = render_document(exported_content_document(exported))
            resp.data = render_json(document)


@frozen
class ContentConversions(LargeBodies):
    """`/api/v1/content_conversions`."""

    max_body_size: ClassVar[int] = 4 * MEBIBYTE

    @operation(
        "convert_content",
        _TAG,
        Result(
            description="The converted template, and the tags that stay as they are.",
            document=ConversionDocument,
            examples={
                "tier": {
                    "content": (
                        "Your tier: {{custom_attribute.${loyalty_tier} | default: 'none'}}."
                        " {{ person.shoe_size }}"
                    ),
                    "tags": {
                        "converted": 1,
                        "caveat": 0,
                        "dropped": 0,
                        "by_hand": 1,
                        "consequence": 0,
                    },
                    "by_hand": [
                        {
                            "line": 1,
                            "column": 63,
                            "tag": "{{ person.shoe_size }}",
                            "reasons": ["There is no field with the key shoe_size."],
                        }
                    ],
                    "caveats": [],
                    "dropped": [],
                    "fields": [
                        {
                            "key": "loyalty_tier",
                            "name": "loyalty_tier",
                            "data_type": "text",
                        }
                    ],
                    "unused_names": [],
                    "warnings": [],
                }
            },
        ),
        body=Body(
            document=ContentConversionDocument,
            examples={
                "tier": {
                    "content": (
                        "Your tier: {{ person|lookup:'loyalty_tier'|default:'none' }}."
                        " {{ person.shoe_size }}"
                    ),
                    "from": {"esp": "klaviyo"},
                    "to": {"esp": "braze"},
                }
            },
        ),
    )
    def on_post(self, req: Request, resp: Response) -> None:
        """Convert a template.

        It becomes a template of another ESP, or content if `to` is `"portable"`. The names are
        those at both integrations. Tags without code that means the same stay as they are:
        `by_hand` lists them. The body has at most 4 MiB. Read-only API keys can send this request.
        """
        with self.reading(req) as (_, body):
            conversion = parse_content_conversion(body, self.service.profiles)
            codes = self.service.read_codes(credential(req).organization_id)
            converted = conversion.convert(codes)
            resp.data = render_json(render_conversion(converted))


@frozen
class ContentPreviews(LargeBodies):
    """`/api/v1/content_previews`."""

    max_body_size: ClassVar[int] = 4 * MEBIBYTE

    @operation(
        "preview_content",
        _TAG,
        Result(
            description="What the recipient reads.",
            document=PreviewedContentDocument,
            examples={
                "tier": {
                    "content": "<p>Your tier: gold.</p>",
                    "surface": "html",
                    "warnings": [],
                    "fields": ["loyalty_tier"],
                    "event": [],
                    "unlisted_values": [],
                }
            },
        ),
        body=Body(
            document=ContentPreviewDocument,
            examples={
                "tier": {
                    "content": "<p>Your tier: {{recipient.loyalty_tier}}.</p>",
                    "recipient": {"loyalty_tier": "gold"},
                }
            },
        ),
    )
    def on_post(self, req: Request, resp: Response) -> None:
        """Preview content.

        The body has at most 4 MiB. Each violation of the content has a `line` and a `column`. A
        value without a field, or of another type than its field, is a violation, too. A value that
        is not one of the allowed values is shown, and listed in `unlisted_values`. Read-only API
        keys can send this request.
        """
        with self.reading(req) as (_, body):
            preview = parse_content_preview(body)
            shown = self.service.preview_content(
                credential(req).organization_id,
                preview.content,
                preview.recipient,
                event=preview.event,
                surface=preview.surface,
            )
            resp.data = render_json(render_content_preview(preview, shown))
