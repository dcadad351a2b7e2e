"""The response with the exports of one content for several integrations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import field, frozen

from recipient_fields.application import IntegrationExport, InvalidDocument
from recipient_fields.application.content.documents import (
    MAX_EXPORTS_LENGTH,
    ContentWarningDocument,
    exported_content_document,
)
from recipient_fields.application.documents.schemas import described, render_document
from recipient_fields.domain import FieldKey, IntegrationId, InvalidInput, Rule, Violation
from recipient_fields.domain.content import InvalidContent, Surface
from recipient_fields.domain.esp import IntegrationNotFound

from ..problems import FailureDocument, failure_document


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
        exported = export.exported
        if exported is None:
            yield _failed(export, _located(export.error, index))
        elif len(exported.content) > left:
            message = (
                f"The exports of this request would have more than {MAX_EXPORTS_LENGTH:,}"
                " characters. Export for this integration in another request."
            )
            yield _failed(export, _invalid(Rule.TOO_LARGE, message, index))
        else:
            left -= len(exported.content)
            document = exported_content_document(exported)
            yield IntegrationExportDocument(
                integration_id=export.integration_id,
                content=document.content,
                surface=document.surface,
                warnings=document.warnings,
                fields=document.fields,
            )


def _failed(export: IntegrationExport, error: InvalidInput) -> IntegrationExportDocument:
    return IntegrationExportDocument(
        integration_id=export.integration_id, content=None, error=failure_document(error)
    )


def _located(error: InvalidContent | IntegrationNotFound | None, index: int) -> InvalidInput:
    """Return the error with the place of the integration in the request, unless it has another."""
    if isinstance(error, InvalidContent):
        return error
    return _invalid(Rule.UNKNOWN_VALUE, str(error), index)


def _invalid(rule: Rule, message: str, index: int) -> InvalidDocument:
    return InvalidDocument([Violation(rule, message, ("integration_ids", index))])
