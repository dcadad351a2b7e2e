"""The JSON Schemas (2020-12) of requests and responses."""

from __future__ import annotations

from recipient_fields.application.batch_documents import (
    BatchResultListDocument,
    RecipientFieldBatchDocument,
)
from recipient_fields.application.documents import (
    FieldChangesEnvelopeDocument,
    FieldDraftEnvelopeDocument,
    FieldEnvelopeDocument,
    FieldListDocument,
    FieldReplacementEnvelopeDocument,
    HistoryRecordListDocument,
)
from recipient_fields.application.esp_code_documents import (
    CompiledConditionDocument,
    ConditionCompilationDocument,
    ContentExportDocument,
    ExportedContentDocument,
)
from recipient_fields.application.recipient_documents import (
    RecipientCheckListDocument,
    RecipientListDocument,
)
from recipient_fields.application.schemas import Schema
from recipient_fields.application.value_schemas import (
    ID_PATTERN,
    KEY_PATTERN,
    RFC_3339_PATTERN,
    schema_generator,
)

from ..preconditions import PRECONDITION
from ..problems import ErrorDocument, ProblemDocument
from ..resources import HealthDocument

__all__ = ["ID_PATTERN", "KEY_PATTERN", "RFC_3339_PATTERN", "SCHEMAS", "Schema", "ref"]

_RECEIVED = (
    FieldEnvelopeDocument,
    FieldListDocument,
    HistoryRecordListDocument,
    BatchResultListDocument,
    CompiledConditionDocument,
    ExportedContentDocument,
    RecipientCheckListDocument,
    HealthDocument,
    ErrorDocument,
    ProblemDocument,
    PRECONDITION,
)
_SENT = (
    FieldDraftEnvelopeDocument,
    FieldChangesEnvelopeDocument,
    FieldReplacementEnvelopeDocument,
    RecipientFieldBatchDocument,
    ConditionCompilationDocument,
    ContentExportDocument,
    RecipientListDocument,
)


def _schemas() -> Schema:
    generator = schema_generator("#/components/schemas/")
    for document in _RECEIVED:
        generator.schema(document)
    for sent in _SENT:
        generator.for_requests().schema(sent)
    return generator.definitions


SCHEMAS = _schemas()
"""The schemas by name."""


def ref(name: str, description: str | None = None) -> Schema:
    """Return a reference to the schema with this name."""
    reference = {"$ref": f"#/components/schemas/{name}"}
    return reference if description is None else {**reference, "description": description}
